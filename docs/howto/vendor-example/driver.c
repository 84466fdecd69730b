/* Drives timer_next into its worst state for every length of the list, on QEMU's mps2-an385. */
#include "kernel.h"
#include "wcet_mark.h"

#define SERVICE_TIMER_NEXT 1
#define TIMERS_MAX 16

static struct timer timers[TIMERS_MAX] __attribute__((section(".kernel_data")));
volatile unsigned char wcet_mark[WCET_CHANNELS][WCET_VALUES] __attribute__((section(".marks")));

/* Semihosting, SYS_EXIT_EXTENDED: the run ends, with a status. */
static _Noreturn void end(unsigned status)
{
    const unsigned block[2] = {0x20026, status};
    register unsigned operation __asm("r0") = 0x20;
    register const void *argument __asm("r1") = block;

    for (;;)
        __asm volatile("bkpt 0xab" : "+r"(operation) : "r"(argument) : "memory");
}

void wcet_value_out_of_range(unsigned channel, unsigned value)
{
    (void)channel;
    (void)value;
    end(2);
}

static void reset(void)
{
    for (unsigned n = 1; n <= TIMERS_MAX; n++) {
        /* Worst: each timer is due before all timers in front of it, so the minimum moves always. */
        for (unsigned i = 0; i < n; i++) {
            timers[i].next = i + 1 < n ? &timers[i + 1] : 0;
            timers[i].due = 1000 - i;
        }
        wcet_param(0, n);
        wcet_begin(SERVICE_TIMER_NEXT);
        unsigned due = timer_next(timers);
        wcet_end(SERVICE_TIMER_NEXT);
        if (due != 1000 - (n - 1))
            end(1);
    }
    end(0);
}

static const struct {
    unsigned stack;
    void (*reset)(void);
} vectors __attribute__((section(".vectors"), used)) = {0x20020000, reset};
