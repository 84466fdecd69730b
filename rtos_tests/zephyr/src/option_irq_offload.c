/* irq_offload: a function is called in an exception (overlay-irq-offload.conf). */
#include <zephyr/irq_offload.h>

#include "helpers.h"

static K_SEM_DEFINE(semaphore, 0, 1);
static volatile unsigned calls;

static void count(const void *unused)
{
    calls++;
}

static void give(const void *unused)
{
    k_sem_give(&semaphore);
}

static int take(void *object, void *argument)
{
    return k_sem_take(object, K_FOREVER);
}

void measure_option(void)
{
    unsigned expected = 0;

    MEASURE(SERVICE_OFFLOADED, irq_offload(count, NULL));
    CHECK(calls == ++expected);
    FOR_CROWDS(CROWD_BEST, ready, shape) {
        crowd_start(CROWD_BEST, ready, shape, NULL);
        wcet_param(0, ready);
        MEASURE(SERVICE_IRQ_OFFLOAD, irq_offload(count, NULL));
        crowd_stop();
        CHECK(calls == ++expected);

        /* A more urgent thread becomes ready in the exception; the scheduler is locked until it is over. */
        helpers_start(1, PRIORITY_ABOVE, 0);
        helpers_wait(1, take, &semaphore, NULL);
        crowd_start(CROWD_BEST, ready, shape, helper_thread(0));
        wcet_param(0, ready);
        MEASURE(SERVICE_IRQ_OFFLOAD_SWITCH, irq_offload(give, NULL));
        crowd_stop();
        CHECK(!helper_busy(0) && helper_result(0) == 0);
        helpers_stop();
    }
}
