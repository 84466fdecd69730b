/* Runs every micro-benchmark between marks, twice at each number of turns: first as the caches are, then once
 * more, so that what the first run brought in is there.
 *
 * The list has the order and the numbers of services.yaml; tests compare the two. */
#include "../freertos/wcet_mark.h"

#define VALUES 4096u

volatile unsigned char wcet_mark[WCET_CHANNELS][WCET_VALUES]
    __attribute__((section(".noinit.wcet_mark"), aligned(4096)));
static unsigned char buffer[4096] __attribute__((section(".bss.buffer"), aligned(128)));

typedef void body(unsigned turns, void *memory, unsigned a, unsigned b);

struct benchmark {
    body *run;
    unsigned mark;
    unsigned turns; /* at most; 0: none */
};

extern body mb_empty_call;
extern body mb_alu;
extern body mb_shift;
extern body mb_multiply;
extern body mb_multiply_high;
extern body mb_divide;
extern body mb_shift_use;
extern body mb_multiply_use;
extern body mb_multiply_use_later;
extern body mb_load_use;
extern body mb_load_use_later;
extern body mb_load_address;
extern body mb_load;
extern body mb_load_load;
extern body mb_load_byte;
extern body mb_load_half;
extern body mb_store;
extern body mb_store_store;
extern body mb_store_byte;
extern body mb_store_half;
extern body mb_store_load;
extern body mb_load_stride;
extern body mb_store_stride;
extern body mb_load_constant;
extern body mb_untaken_forward;
extern body mb_taken_forward;
extern body mb_untaken_backward;
extern body mb_taken_backward;
extern body mb_jump;
extern body mb_call;
extern body mb_call_indirect;
extern body mb_read_system;
extern body mb_read_system_use;
extern body mb_write_system;
extern body mb_mask;
extern body mb_fence;
extern body mb_alu_short;
extern body mb_alu_mixed;
extern body mb_load_short;
extern body mb_jump_across;
extern body mb_taken_short;
extern body mb_straight_64;
extern body mb_straight_256;
extern body mb_scattered;

static const struct benchmark benchmarks[] = {
    {mb_empty_call, 1, 0},
    {mb_alu, 2, 16},
    {mb_shift, 3, 16},
    {mb_multiply, 4, 16},
    {mb_multiply_high, 5, 16},
    {mb_divide, 6, 16},
    {mb_shift_use, 7, 16},
    {mb_multiply_use, 8, 16},
    {mb_multiply_use_later, 9, 16},
    {mb_load_use, 10, 16},
    {mb_load_use_later, 11, 16},
    {mb_load_address, 12, 16},
    {mb_load, 13, 16},
    {mb_load_load, 14, 16},
    {mb_load_byte, 15, 16},
    {mb_load_half, 16, 16},
    {mb_store, 17, 16},
    {mb_store_store, 18, 16},
    {mb_store_byte, 19, 16},
    {mb_store_half, 20, 16},
    {mb_store_load, 21, 16},
    {mb_load_stride, 22, 4},
    {mb_store_stride, 23, 4},
    {mb_load_constant, 24, 16},
    {mb_untaken_forward, 25, 16},
    {mb_taken_forward, 26, 16},
    {mb_untaken_backward, 27, 16},
    {mb_taken_backward, 28, 16},
    {mb_jump, 29, 16},
    {mb_call, 30, 16},
    {mb_call_indirect, 31, 16},
    {mb_read_system, 32, 16},
    {mb_read_system_use, 33, 16},
    {mb_write_system, 34, 16},
    {mb_mask, 35, 16},
    {mb_fence, 36, 16},
    {mb_alu_short, 37, 16},
    {mb_alu_mixed, 38, 16},
    {mb_load_short, 39, 16},
    {mb_jump_across, 40, 16},
    {mb_taken_short, 41, 16},
    {mb_straight_64, 42, 0},
    {mb_straight_256, 43, 0},
    {mb_scattered, 44, 0},
};

void wcet_value_out_of_range(unsigned channel, unsigned value)
{
    (void)channel;
    (void)value;
    __builtin_trap();
}

/* The marks stand around one call, always the same one: what measuring takes is the same for all. */
static __attribute__((noinline)) void measure(const struct benchmark *it, unsigned turns)
{
    if (it->turns)
        wcet_param(0, turns);
    wcet_begin(it->mark);
    it->run(turns, buffer, 1, 2);
    wcet_end(it->mark);
}

int driver_main(void)
{
    for (unsigned i = 0; i < sizeof benchmarks / sizeof benchmarks[0]; i++) {
        const struct benchmark *it = &benchmarks[i];
        const unsigned most = it->turns ? it->turns : 1;

        for (unsigned turns = 1; turns <= most; turns++) {
            measure(it, turns);
            measure(it, turns);
        }
    }
    return 0;
}
