/* Runs every micro-benchmark between marks, twice at each number of turns: first as the caches are, then once
 * more, so that what the first run brought in is there.
 *
 * The list has the order and the numbers of services.yaml; tests compare the two. */
#include "../freertos/wcet_mark.h"

#define VALUES 4096u

volatile unsigned char wcet_mark[WCET_CHANNELS][WCET_VALUES]
    __attribute__((section(".noinit.wcet_mark"), aligned(4096)));
static unsigned char buffer[4096] __attribute__((section(".bss.buffer"), aligned(128)));

/* Two threads take turns at each supervisor call (mb_trap): the one that is measured, and mb_other. */
struct thread {
    unsigned *stack; /* where its registers are saved */
    struct thread *other;
};
static struct thread threads[2] __attribute__((section(".noinit.threads"), used));
struct thread *mb_current __attribute__((section(".noinit.threads")));
static unsigned other_stack[64] __attribute__((section(".noinit.threads"), aligned(16)));
extern void mb_other(void);

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
extern body mb_divide_use;
extern body mb_load_use_behind_access;
extern body mb_load_system;
extern body mb_load_branch;
extern body mb_load_store;
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
extern body mb_load_device;
extern body mb_store_device;
extern body mb_untaken_forward;
extern body mb_taken_forward;
extern body mb_untaken_backward;
extern body mb_taken_backward;
extern body mb_jump;
extern body mb_call;
extern body mb_call_indirect;
extern body mb_jump_indirect;
extern body mb_read_system;
extern body mb_read_system_use;
extern body mb_write_system;
extern body mb_mask;
extern body mb_behind_system;
extern body mb_behind_system_use;
extern body mb_taken_system;
extern body mb_jump_system;
extern body mb_store_system;
extern body mb_fence;
extern body mb_alu_short;
extern body mb_alu_mixed;
extern body mb_load_short;
extern body mb_jump_across;
extern body mb_jump_system_across;
extern body mb_taken_short;
extern body mb_fall_across;
extern body mb_save_restore;
extern body mb_copy;
extern body mb_straight_64;
extern body mb_straight_256;
extern body mb_scattered;
extern body mb_yield;
extern body mb_yield_load;
extern body mb_yield_store;
extern body mb_yield_multiply;
extern body mb_yield_divide;
extern body mb_yield_jump;
extern body mb_yield_taken;
extern body mb_yield_indirect;
extern body mb_yield_short;
extern body mb_yield_indirect_short;

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
    {mb_divide_use, 13, 16},
    {mb_load_use_behind_access, 14, 16},
    {mb_load_system, 15, 16},
    {mb_load_branch, 16, 16},
    {mb_load_store, 17, 16},
    {mb_load, 18, 16},
    {mb_load_load, 19, 16},
    {mb_load_byte, 20, 16},
    {mb_load_half, 21, 16},
    {mb_store, 22, 16},
    {mb_store_store, 23, 16},
    {mb_store_byte, 24, 16},
    {mb_store_half, 25, 16},
    {mb_store_load, 26, 16},
    {mb_load_stride, 27, 4},
    {mb_store_stride, 28, 4},
    {mb_load_constant, 29, 16},
    {mb_load_device, 30, 16},
    {mb_store_device, 31, 16},
    {mb_untaken_forward, 32, 16},
    {mb_taken_forward, 33, 16},
    {mb_untaken_backward, 34, 16},
    {mb_taken_backward, 35, 16},
    {mb_jump, 36, 16},
    {mb_call, 37, 16},
    {mb_call_indirect, 38, 16},
    {mb_jump_indirect, 39, 16},
    {mb_read_system, 40, 16},
    {mb_read_system_use, 41, 16},
    {mb_write_system, 42, 16},
    {mb_mask, 43, 16},
    {mb_behind_system, 44, 16},
    {mb_behind_system_use, 45, 16},
    {mb_taken_system, 46, 16},
    {mb_jump_system, 69, 16},
    {mb_store_system, 47, 16},
    {mb_fence, 48, 16},
    {mb_alu_short, 49, 16},
    {mb_alu_mixed, 50, 16},
    {mb_load_short, 51, 16},
    {mb_jump_across, 52, 16},
    {mb_jump_system_across, 70, 16},
    {mb_taken_short, 53, 16},
    {mb_fall_across, 54, 16},
    {mb_save_restore, 55, 16},
    {mb_copy, 56, 16},
    {mb_straight_64, 57, 0},
    {mb_straight_256, 58, 0},
    {mb_scattered, 59, 0},
    {mb_yield, 60, 0},
    {mb_yield_load, 61, 0},
    {mb_yield_store, 62, 0},
    {mb_yield_multiply, 63, 0},
    {mb_yield_divide, 64, 0},
    {mb_yield_jump, 65, 0},
    {mb_yield_taken, 66, 0},
};

/* Cases of the two handlers: what stands before a supervisor call, and what is interrupted, each with up to three
 * instructions before it. */
#define SWITCH 67
#define INTERRUPT 68
#define INTERRUPTED 21u
static body *const calls[] = {
    mb_yield,
    mb_yield_load,
    mb_yield_store,
    mb_yield_multiply,
    mb_yield_divide,
    mb_yield_jump,
    mb_yield_taken,
    mb_yield_indirect,
    mb_yield_short,
    mb_yield_indirect_short,
};
extern body *const mb_interrupted[INTERRUPTED][4];

void wcet_value_out_of_range(unsigned channel, unsigned value)
{
    (void)channel;
    (void)value;
    __builtin_trap();
}

#define MEASURE __attribute__((noinline, section(".text.measure")))

/* The marks stand around one call, always the same one: what measuring takes is the same for all. Nothing but this
 * and measure_twice runs between the two (link.ld). */
static MEASURE void measure(unsigned mark, body *run, unsigned turns)
{
    wcet_begin(mark);
    run(turns, buffer, 1, 2);
    wcet_end(mark);
}

/* As the caches are, and then with what the first run brought in. The first `count` of the values are parameters. */
static MEASURE void measure_twice(unsigned mark, body *run, unsigned turns, unsigned count, unsigned n, unsigned m)
{
    for (unsigned i = 0; i < 2; i++) {
        if (count > 0)
            wcet_param(0, n);
        if (count > 1)
            wcet_param(1, m);
        measure(mark, run, turns);
    }
}

/* What mb_trap takes from a stack: t0, t1, mepc, mstatus. Machine mode, interrupts off. */
static void start_threads(void)
{
    unsigned *const frame = &other_stack[sizeof other_stack / sizeof other_stack[0] - 4];

    frame[2] = (unsigned)&mb_other;
    frame[3] = 0x1800;
    threads[0].other = &threads[1];
    threads[1].other = &threads[0];
    threads[1].stack = frame;
    mb_current = &threads[0];
}

int driver_main(void)
{
    start_threads();
    for (unsigned i = 0; i < sizeof benchmarks / sizeof benchmarks[0]; i++) {
        const struct benchmark *it = &benchmarks[i];

        if (it->turns == 0)
            measure_twice(it->mark, it->run, 1, 0, 0, 0);
        for (unsigned turns = 1; turns <= it->turns; turns++)
            measure_twice(it->mark, it->run, turns, 1, turns, 0);
    }
    for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++)
        measure_twice(SWITCH, calls[i], 1, 1, i, 0);
    for (unsigned i = 0; i < INTERRUPTED; i++)
        for (unsigned later = 0; later < 4; later++)
            measure_twice(INTERRUPT, mb_interrupted[i][later], 1, 2, i, later);
    return 0;
}
