/* Semaphores and mutexes; the caller never blocks. */
#include "helpers.h"
#include "semphr.h"

static StaticQueue_t control KERNEL_OBJECT;

static void measure_semaphore(void)
{
    SemaphoreHandle_t semaphore = xSemaphoreCreateBinaryStatic(&control);
    BaseType_t result;

    MEASURE(SERVICE_XSEMAPHOREGIVE, result = xSemaphoreGive(semaphore));
    CHECK(result == pdTRUE);
    MEASURE(SERVICE_XSEMAPHORETAKE, result = xSemaphoreTake(semaphore, 0));
    CHECK(result == pdTRUE && uxSemaphoreGetCount(semaphore) == 0);

    /* A more urgent task waits: it is readied and runs before the call returns. */
    helpers_start(1);
    helper_take(0, semaphore, portMAX_DELAY);
    MEASURE(SERVICE_XSEMAPHOREGIVE_WAITER, result = xSemaphoreGive(semaphore));
    CHECK(result == pdTRUE && !helper_busy(0) && helper_result(0) == pdTRUE);
    helpers_stop();
}

static void measure_mutex(void)
{
    SemaphoreHandle_t mutex = xSemaphoreCreateMutexStatic(&control);
    BaseType_t result;

    MEASURE(SERVICE_XSEMAPHORETAKE_MUTEX, result = xSemaphoreTake(mutex, 0));
    CHECK(result == pdTRUE && xSemaphoreGetMutexHolder(mutex) == driver_handle);
    MEASURE(SERVICE_XSEMAPHOREGIVE_MUTEX, result = xSemaphoreGive(mutex));
    CHECK(result == pdTRUE && xSemaphoreGetMutexHolder(mutex) == NULL);

    /* A more urgent task waits, so the caller has inherited its priority: giving the mutex takes
     * it away again, readies the task and lets it run. */
    CHECK(xSemaphoreTake(mutex, 0) == pdTRUE);
    helpers_start(1);
    helper_take(0, mutex, portMAX_DELAY);
    CHECK(uxTaskPriorityGet(NULL) == PRIORITY_DRIVER + 1);
    MEASURE(SERVICE_XSEMAPHOREGIVE_MUTEX_WAITER, result = xSemaphoreGive(mutex));
    CHECK(result == pdTRUE && !helper_busy(0) && helper_result(0) == pdTRUE);
    CHECK(uxTaskPriorityGet(NULL) == PRIORITY_DRIVER);
    CHECK(xSemaphoreGetMutexHolder(mutex) == helper_handle(0));
    helpers_stop();
}

void measure_semaphores(void)
{
    measure_semaphore();
    measure_mutex();
}
