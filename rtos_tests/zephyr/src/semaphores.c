/* Semaphores; the caller never blocks. */
#include "helpers.h"

static K_SEM_DEFINE(semaphore, 0, 1);

static int take(void *object, void *argument)
{
    return k_sem_take(object, K_TICKS(1000));
}

void measure_semaphores(void)
{
    int result;

    MEASURE(SERVICE_K_SEM_INIT, result = k_sem_init(&semaphore, 0, 1));
    CHECK(result == 0);
    MEASURE(SERVICE_K_SEM_GIVE, k_sem_give(&semaphore));
    CHECK(k_sem_count_get(&semaphore) == 1);
    MEASURE(SERVICE_K_SEM_TAKE, result = k_sem_take(&semaphore, K_NO_WAIT));
    CHECK(result == 0 && k_sem_count_get(&semaphore) == 0);
    MEASURE(SERVICE_K_SEM_TAKE_FAIL, result = k_sem_take(&semaphore, K_NO_WAIT));
    CHECK(result == -EBUSY);

    MEASURE_WAKE(SERVICE_K_SEM_GIVE_WAITER, SERVICE_K_SEM_GIVE_SWITCH, take, &semaphore, NULL,
                 k_sem_give(&semaphore), 0);
    MEASURE_WAKE_ALL(SERVICE_K_SEM_RESET, SERVICE_K_SEM_RESET_SWITCH, PRIORITY_STEP, take, &semaphore,
                     NULL, (void)0, k_sem_reset(&semaphore), -EAGAIN);
}
