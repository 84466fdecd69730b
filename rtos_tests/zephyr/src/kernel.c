/* Locks, yield, context switch and interrupts. */
#include "board.h"
#include "helpers.h"

static K_SEM_DEFINE(semaphore, 0, 1);

/* The inline functions as calls, so that they can be told from their callers. */
__attribute__((noinline)) unsigned wcet_irq_lock(void)
{
    return irq_lock();
}

__attribute__((noinline)) void wcet_irq_unlock(unsigned key)
{
    irq_unlock(key);
}

static int take(void *object, void *argument)
{
    return k_sem_take(object, K_TICKS(1000));
}

/* ---- context switch -------------------------------------------------------------------------- */

#define PARTNER_STACK_BYTES (512 + STACK_EXTRA)

static struct k_thread partner;
static K_THREAD_STACK_DEFINE(partner_stack, PARTNER_STACK_BYTES);
static volatile bool switch_is_measured;

/* On Cortex-M a handler switches, which the next thread has behind it; on RISC-V a function, which
 * returns when the driver goes on. */
#define FUNCTION_SWITCHES IS_ENABLED(CONFIG_RISCV)

/* A thread of the driver's priority that gives the processor back at once. */
static void partner_main(void *unused, void *unused2, void *unused3)
{
    for (;;) {
        if (switch_is_measured) {
            switch_is_measured = false;
            if (!FUNCTION_SWITCHES)
                wcet_end(SERVICE_CONTEXT_SWITCH);
        }
        k_yield();
    }
}

static void measure_yield(void)
{
    FOR_CROWDS(CROWD_YIELD, ready, shape) {
        crowd_start(CROWD_YIELD, ready, shape, NULL);
        wcet_param(0, ready);
        MEASURE(SERVICE_K_YIELD, k_yield());
        crowd_stop();
    }

    k_thread_create(&partner, partner_stack, PARTNER_STACK_BYTES, partner_main, NULL, NULL, NULL, PRIORITY_DRIVER, 0,
                    K_NO_WAIT);
    k_yield();
    switch_is_measured = true;
    driver_invocations++;
    wcet_begin(SERVICE_CONTEXT_SWITCH);
    k_yield();
    if (FUNCTION_SWITCHES)
        wcet_end(SERVICE_CONTEXT_SWITCH);
    CHECK(!switch_is_measured);
    k_thread_abort(&partner);

    /* The caller goes behind R threads of its priority, the first of which runs. */
    for (unsigned others = 1; others <= READY_MAX; others++) {
        for (unsigned shape = 0; shape < crowd_shapes(CROWD_BACK, others + 1); shape++) {
            if (IS_ENABLED(CONFIG_SCHED_SCALABLE)) {
                ready_start(1, PRIORITY_DRIVER);
                crowd_start(CROWD_BACK, others + 1, shape, ready_thread(0));
            } else {
                ready_start(others, PRIORITY_DRIVER);
            }
            wcet_param(0, others);
            MEASURE(SERVICE_K_YIELD_SWITCH, k_yield());
            crowd_stop();
            ready_stop();
        }
    }
}

/* ---- locks ---------------------------------------------------------------------------------- */

static void measure_locks(void)
{
    unsigned key;

    FOR_CROWDS(CROWD_BEST, ready, shape) {
        MEASURE(SERVICE_K_SCHED_LOCK, k_sched_lock());
        crowd_start(CROWD_BEST, ready, shape, NULL);
        wcet_param(0, ready);
        MEASURE(SERVICE_K_SCHED_UNLOCK, k_sched_unlock());
        crowd_stop();

        /* A more urgent thread has become ready meanwhile. */
        helpers_start(1, PRIORITY_ABOVE, 0);
        helpers_wait(1, take, &semaphore, NULL);
        k_sched_lock();
        k_sem_give(&semaphore);
        CHECK(helper_busy(0));
        crowd_start(CROWD_BEST, ready, shape, helper_thread(0));
        wcet_param(0, ready);
        MEASURE(SERVICE_K_SCHED_UNLOCK_SWITCH, k_sched_unlock());
        crowd_stop();
        CHECK(!helper_busy(0));
        helpers_stop();
    }

    MEASURE(SERVICE_IRQ_LOCK, key = wcet_irq_lock());
    MEASURE_AS_MASKED(SERVICE_IRQ_UNLOCK, wcet_irq_unlock(key));
}

/* ---- interrupts ------------------------------------------------------------------------------ */

static void measure_interrupts(void)
{
    board_on_interrupt(NULL);
    MEASURE(SERVICE_INTERRUPT, board_interrupt());
}

void measure_kernel(void)
{
    measure_yield();
    measure_locks();
    measure_interrupts();
}
