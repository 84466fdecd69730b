/* Semaphores; the caller never blocks. */
#include "helpers.h"

static K_SEM_DEFINE(semaphore, 0, 1);

static int take(void *object, void *argument)
{
    return k_sem_take(object, K_TICKS(1000));
}

void measure_semaphores(void)
{
    MEASURE(SERVICE_K_SEM_INIT, CHECK(k_sem_init(&semaphore, 0, 1) == 0));

    MEASURE(SERVICE_K_SEM_GIVE, k_sem_give(&semaphore));
    CHECK(k_sem_count_get(&semaphore) == 1);
    MEASURE(SERVICE_K_SEM_TAKE, CHECK(k_sem_take(&semaphore, K_NO_WAIT) == 0));
    CHECK(k_sem_count_get(&semaphore) == 0);

    /* The woken thread is less urgent: its place is behind all that are ready. */
    for (unsigned others = 0; others <= READY_MAX; others++) {
        helpers_start(1, PRIORITY_BELOW, 0);
        helpers_wait(1, take, &semaphore, NULL);
        ready_start(others);
        wcet_param(0, others + 1);
        MEASURE(SERVICE_K_SEM_GIVE_WAITER, k_sem_give(&semaphore));
        ready_stop();
        helpers_woken(1, 0);
        helpers_stop();
    }

    /* The woken thread is more urgent and runs at once. */
    helpers_start(1, PRIORITY_ABOVE, 0);
    helpers_wait(1, take, &semaphore, NULL);
    MEASURE(SERVICE_K_SEM_GIVE_SWITCH, k_sem_give(&semaphore));
    CHECK(!helper_busy(0) && helper_result(0) == 0);
    helpers_stop();
}
