/* An application without marks: one call of timer_next, with as many timers as it is told. */
#include "kernel.h"

#define TIMERS_MAX 16

/* Nothing in the program writes it: whoever starts the program may choose another value. Without
 * `volatile` the compiler would use the 16. */
const volatile unsigned timer_count = TIMERS_MAX;

static struct timer timers[TIMERS_MAX] __attribute__((section(".kernel_data")));

/* Semihosting, SYS_EXIT_EXTENDED: the run ends, with a status. */
static _Noreturn void end(unsigned status)
{
    const unsigned block[2] = {0x20026, status};
    register unsigned operation __asm("r0") = 0x20;
    register const void *argument __asm("r1") = block;

    for (;;)
        __asm volatile("bkpt 0xab" : "+r"(operation) : "r"(argument) : "memory");
}

static void reset(void)
{
    unsigned count = timer_count;

    if (count == 0 || count > TIMERS_MAX)
        end(2);
    /* Worst: each timer is due before all timers in front of it, so the minimum moves always. */
    for (unsigned i = 0; i < count; i++) {
        timers[i].next = i + 1 < count ? &timers[i + 1] : 0;
        timers[i].due = 1000 - i;
    }
    end(timer_next(timers) == 1000 - (count - 1) ? 0 : 1);
}

static const struct {
    unsigned stack;
    void (*reset)(void);
} vectors __attribute__((section(".vectors"), used)) = {0x20020000, reset};
