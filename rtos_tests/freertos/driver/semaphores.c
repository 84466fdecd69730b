/* Semaphores and mutexes; the caller never blocks. */
#include "board.h"
#include "heap.h"
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
    for (unsigned readying = 0; readying < READYING_STATES; readying++) {
        helpers_start_readying(1, readying);
        helper_take(0, semaphore, portMAX_DELAY);
        MARK_READYING(0, readying);
        MEASURE(SERVICE_XSEMAPHOREGIVE_WAITER, result = xSemaphoreGive(semaphore));
        CHECK(result == pdTRUE && !helper_busy(0) && helper_result(0) == pdTRUE);
        helpers_stop();
    }
}

static void measure_mutex(void)
{
    SemaphoreHandle_t mutex = xSemaphoreCreateMutexStatic(&control);
    BaseType_t result;

    MEASURE(SERVICE_XSEMAPHORETAKE_MUTEX, result = xSemaphoreTake(mutex, 0));
    CHECK(result == pdTRUE && xSemaphoreGetMutexHolder(mutex) == driver_handle);
    MEASURE(SERVICE_XSEMAPHOREGIVE_MUTEX, result = xSemaphoreGive(mutex));
    CHECK(result == pdTRUE && xSemaphoreGetMutexHolder(mutex) == NULL);
}

/* A more urgent task waits, so the caller has inherited its priority: giving the mutex takes it away again,
 * readies the task and lets it run. */
static void measure_mutex_waiter(unsigned readying)
{
    SemaphoreHandle_t mutex = xSemaphoreCreateMutexStatic(&control);
    BaseType_t result;

    CHECK(xSemaphoreTake(mutex, 0) == pdTRUE);
    helpers_start_readying(1, readying);
    helper_take(0, mutex, portMAX_DELAY);
    CHECK(uxTaskPriorityGet(NULL) == PRIORITY_DRIVER + 1);
    CHECK(listCURRENT_LIST_LENGTH(list_of(driver_handle)) == 1);
    MARK_READYING(0, readying);
    MEASURE(SERVICE_XSEMAPHOREGIVE_MUTEX_WAITER, result = xSemaphoreGive(mutex));
    CHECK(result == pdTRUE && !helper_busy(0) && helper_result(0) == pdTRUE);
    CHECK(uxTaskPriorityGet(NULL) == PRIORITY_DRIVER);
    CHECK(xSemaphoreGetMutexHolder(mutex) == helper_handle(0));
    helpers_stop();
}

#if DRIVER_WHOLE

static SemaphoreHandle_t isr_semaphore;

static void from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    MEASURE(SERVICE_XSEMAPHOREGIVEFROMISR,
            result = xSemaphoreGiveFromISR(isr_semaphore, &woken));
    CHECK(result == pdPASS && woken == pdFALSE);
    MEASURE(SERVICE_XSEMAPHORETAKEFROMISR,
            result = xSemaphoreTakeFromISR(isr_semaphore, &woken));
    CHECK(result == pdPASS && woken == pdFALSE);
}

static void measure_from_isr(void)
{
    isr_semaphore = xSemaphoreCreateBinaryStatic(&control);
    in_interrupt(from_isr);
}

static BaseType_t take_recursive(void *mutex)
{
    return xSemaphoreTakeRecursive(mutex, portMAX_DELAY);
}

/* A more urgent task waits at the last give, as for xSemaphoreGive_mutex_waiter. */
static void measure_recursive(void)
{
    SemaphoreHandle_t mutex = xSemaphoreCreateRecursiveMutexStatic(&control);
    BaseType_t result;

    MEASURE(SERVICE_XSEMAPHORETAKERECURSIVE, result = xSemaphoreTakeRecursive(mutex, 0));
    CHECK(result == pdTRUE);
    MEASURE(SERVICE_XSEMAPHORETAKERECURSIVE_AGAIN, result = xSemaphoreTakeRecursive(mutex, 0));
    CHECK(result == pdTRUE);
    MEASURE(SERVICE_XSEMAPHOREGIVERECURSIVE_INNER, result = xSemaphoreGiveRecursive(mutex));
    CHECK(result == pdTRUE && xSemaphoreGetMutexHolder(mutex) == driver_handle);
    wcet_param(0, 0);
    MEASURE(SERVICE_XSEMAPHOREGIVERECURSIVE, result = xSemaphoreGiveRecursive(mutex));
    CHECK(result == pdTRUE && xSemaphoreGetMutexHolder(mutex) == NULL);

    CHECK(xSemaphoreTakeRecursive(mutex, 0) == pdTRUE);
    helpers_start(1);
    helper_call(0, take_recursive, mutex);
    CHECK(uxTaskPriorityGet(NULL) == PRIORITY_DRIVER + 1);
    CHECK(listCURRENT_LIST_LENGTH(list_of(driver_handle)) == 1);
    MEASURE(SERVICE_XSEMAPHOREGIVERECURSIVE_WAITER, result = xSemaphoreGiveRecursive(mutex));
    CHECK(result == pdTRUE && !helper_busy(0) && helper_result(0) == pdTRUE);
    CHECK(uxTaskPriorityGet(NULL) == PRIORITY_DRIVER);
    CHECK(xSemaphoreGetMutexHolder(mutex) == helper_handle(0));
    helpers_stop();
}

static BaseType_t waits_a_tick(void *mutex)
{
    return xSemaphoreTakeRecursive(mutex, 1) == pdFALSE;
}

/* The caller holds two mutexes. A more urgent task has waited for one in vain, whose priority the caller
 * keeps as long as it holds both; another task, between the two priorities, is ready. Worst: nobody
 * waits, the caller loses that priority, being the only ready task there, and the other task runs. */
static void measure_inherited(int is_recursive)
{
    static StaticQueue_t other_control KERNEL_OBJECT;
    SemaphoreHandle_t other = xSemaphoreCreateMutexStatic(&other_control);
    SemaphoreHandle_t mutex = is_recursive ? xSemaphoreCreateRecursiveMutexStatic(&control)
                                           : xSemaphoreCreateMutexStatic(&control);
    BaseType_t result;

    CHECK(xSemaphoreTake(other, 0) == pdTRUE);
    CHECK((is_recursive ? xSemaphoreTakeRecursive(mutex, 0) : xSemaphoreTake(mutex, 0)) == pdTRUE);
    helpers_start(2);
    helper_delay(0, 1);
    if (is_recursive)
        helper_call(1, waits_a_tick, mutex);
    else
        helper_take(1, mutex, 1);
    pass_time(1);
    CHECK(!helper_busy(1) && helper_busy(0) && uxTaskPriorityGet(NULL) == PRIORITY_DRIVER + 2);
    CHECK(xSemaphoreGive(other) == pdTRUE);
    CHECK(uxTaskPriorityGet(NULL) == PRIORITY_DRIVER + 2);
    CHECK(listCURRENT_LIST_LENGTH(list_of(driver_handle)) == 1);
    if (is_recursive)
        MEASURE(SERVICE_XSEMAPHOREGIVERECURSIVE_INHERITED,
                result = xSemaphoreGiveRecursive(mutex));
    else
        MEASURE(SERVICE_XSEMAPHOREGIVE_MUTEX_INHERITED, result = xSemaphoreGive(mutex));
    CHECK(result == pdTRUE && !helper_busy(0) && uxTaskPriorityGet(NULL) == PRIORITY_DRIVER);
    helpers_stop();
}

/* ---- the caller goes on ---------------------------------------------------------------------- */

/* Makes the task that waits run. */
static void let_waiter_go_on(void)
{
    CHECK(helper_busy(0) && eTaskGetState(helper_handle(0)) == eReady);
    vTaskPrioritySet(helper_handle(0), helper_priority(0));
    CHECK(!helper_busy(0) && helper_result(0) == pdTRUE);
}

static void give_from_isr_to_less_urgent(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    MEASURE(SERVICE_XSEMAPHOREGIVEFROMISR_WAITER_LESS_URGENT,
            result = xSemaphoreGiveFromISR(isr_semaphore, &woken));
    CHECK(result == pdPASS && woken == pdFALSE);
}

/* The handler is not told that it has to ask for a switch. */
static void give_from_isr_not_told(void)
{
    BaseType_t result;

    MEASURE(SERVICE_XSEMAPHOREGIVEFROMISR_WAITER_NOT_TOLD,
            result = xSemaphoreGiveFromISR(isr_semaphore, NULL));
    CHECK(result == pdPASS && helper_busy(0));
}

/* A less urgent task waits: it is readied. */
static void measure_less_urgent(void)
{
    BaseType_t result;

    isr_semaphore = xSemaphoreCreateBinaryStatic(&control);
    helpers_start(1);
    helper_take(0, isr_semaphore, portMAX_DELAY);
    vTaskPrioritySet(helper_handle(0), PRIORITY_CREATED);
    MEASURE(SERVICE_XSEMAPHOREGIVE_WAITER_LESS_URGENT, result = xSemaphoreGive(isr_semaphore));
    CHECK(result == pdTRUE && uxSemaphoreGetCount(isr_semaphore) == 1);
    let_waiter_go_on();

    helper_take(0, isr_semaphore, portMAX_DELAY);
    vTaskPrioritySet(helper_handle(0), PRIORITY_CREATED);
    in_interrupt(give_from_isr_to_less_urgent);
    let_waiter_go_on();

    helper_take(0, isr_semaphore, portMAX_DELAY);
    in_interrupt(give_from_isr_not_told);
    taskYIELD();
    CHECK(!helper_busy(0) && helper_result(0) == pdTRUE);
    helpers_stop();
}

/* What the caller has inherited from a task that has waited in vain: nothing; a priority that it keeps, for it
 * holds another mutex too; or one that it loses, for it has given the other one. */
enum { NOTHING, KEPT, LOST, INHERITED_STATES };

/* Worst: the caller is the only ready task of the priority that it loses. A less urgent task waits, which began
 * to when it was no more urgent, or nobody does. */
static void measure_mutex_not_urgent(int is_recursive, int waits, unsigned inherited)
{
    static StaticQueue_t other_control KERNEL_OBJECT;
    const UBaseType_t before = PRIORITY_DRIVER + (inherited == NOTHING ? 0 : 2);
    const UBaseType_t after = inherited == KEPT ? before : PRIORITY_DRIVER;
    SemaphoreHandle_t other = xSemaphoreCreateMutexStatic(&other_control);
    SemaphoreHandle_t mutex = is_recursive ? xSemaphoreCreateRecursiveMutexStatic(&control)
                                           : xSemaphoreCreateMutexStatic(&control);
    BaseType_t result;

    CHECK(xSemaphoreTake(other, 0) == pdTRUE);
    CHECK((is_recursive ? xSemaphoreTakeRecursive(mutex, 0) : xSemaphoreTake(mutex, 0)) == pdTRUE);
    helpers_start(2);
    if (waits) {
        vTaskPrioritySet(helper_handle(0), PRIORITY_CREATED);
        if (is_recursive)
            helper_call(0, take_recursive, mutex);
        else
            helper_take(0, mutex, portMAX_DELAY);
        /* It runs until it waits. */
        vTaskDelay(1);
        CHECK(eTaskGetState(helper_handle(0)) == eBlocked);
    }
    if (inherited != NOTHING) {
        if (is_recursive)
            helper_call(1, waits_a_tick, mutex);
        else
            helper_take(1, mutex, 1);
        pass_time(1);
        CHECK(!helper_busy(1));
    }
    if (inherited != KEPT)
        CHECK(xSemaphoreGive(other) == pdTRUE);
    CHECK(uxTaskPriorityGet(NULL) == before && helper_busy(0) == waits);
    CHECK(inherited != LOST || listCURRENT_LIST_LENGTH(list_of(driver_handle)) == 1);

    if (waits || is_recursive)
        wcet_param(0, inherited);
    if (waits && is_recursive)
        MEASURE(SERVICE_XSEMAPHOREGIVERECURSIVE_WAITER_LESS_URGENT,
                result = xSemaphoreGiveRecursive(mutex));
    else if (waits)
        MEASURE(SERVICE_XSEMAPHOREGIVE_MUTEX_WAITER_LESS_URGENT, result = xSemaphoreGive(mutex));
    else if (is_recursive)
        MEASURE(SERVICE_XSEMAPHOREGIVERECURSIVE, result = xSemaphoreGiveRecursive(mutex));
    else
        MEASURE(SERVICE_XSEMAPHOREGIVE_MUTEX_KEPT, result = xSemaphoreGive(mutex));
    CHECK(result == pdTRUE && uxTaskPriorityGet(NULL) == after);
    CHECK(uxTaskBasePriorityGet(NULL) == PRIORITY_DRIVER);
    CHECK(xSemaphoreGetMutexHolder(mutex) == NULL);
    if (inherited == KEPT)
        CHECK(xSemaphoreGive(other) == pdTRUE && uxTaskPriorityGet(NULL) == PRIORITY_DRIVER);
    if (waits) {
        let_waiter_go_on();
        CHECK(xSemaphoreGetMutexHolder(mutex) == helper_handle(0));
    }
    helpers_stop();
}

/* Worst: as for pvPortMalloc. */
static void measure_create(void)
{
    SemaphoreHandle_t semaphore;
    TaskHandle_t holder;
    UBaseType_t count;

    for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++) {
        struct holes holes;

        holes_take(&holes, n - 1, 1);
        holes_open(&holes);
        CHECK(heap_free_blocks() == n);
        for (unsigned kept = 0; kept < HEAP_MINIMA; kept++) {
            heap_minimum(kept);
            wcet_param(0, n);
            wcet_param(1, kept);
            MEASURE(SERVICE_XSEMAPHORECREATEBINARY, semaphore = xSemaphoreCreateBinary());
            CHECK(semaphore != NULL && heap_free_blocks() == n);
            vSemaphoreDelete(semaphore);

            heap_minimum(kept);
            wcet_param(0, n);
            wcet_param(1, kept);
            MEASURE(SERVICE_XSEMAPHORECREATECOUNTING, semaphore = xSemaphoreCreateCounting(5, 2));
            CHECK(semaphore != NULL && heap_free_blocks() == n);
            vSemaphoreDelete(semaphore);

            heap_minimum(kept);
            wcet_param(0, n);
            wcet_param(1, kept);
            MEASURE(SERVICE_XSEMAPHORECREATEMUTEX, semaphore = xSemaphoreCreateMutex());
            CHECK(semaphore != NULL && heap_free_blocks() == n);
            CHECK(n == 1 || (char *)semaphore > (char *)holes.guard[n - 2]);
            vSemaphoreDelete(semaphore);
        }
        holes_close(&holes);
        CHECK(heap_free_blocks() == 1);
    }
    MEASURE(SERVICE_XSEMAPHORECREATEBINARYSTATIC,
            semaphore = xSemaphoreCreateBinaryStatic(&control));
    CHECK(semaphore != NULL);
    MEASURE(SERVICE_XSEMAPHORECREATECOUNTINGSTATIC,
            semaphore = xSemaphoreCreateCountingStatic(5, 2, &control));
    MEASURE(SERVICE_UXSEMAPHOREGETCOUNT, count = uxSemaphoreGetCount(semaphore));
    CHECK(count == 2);
    MEASURE(SERVICE_XSEMAPHORECREATEMUTEXSTATIC,
            semaphore = xSemaphoreCreateMutexStatic(&control));
    CHECK(xSemaphoreTake(semaphore, 0) == pdTRUE);
    MEASURE(SERVICE_XSEMAPHOREGETMUTEXHOLDER, holder = xSemaphoreGetMutexHolder(semaphore));
    CHECK(holder == driver_handle);
    CHECK(xSemaphoreGive(semaphore) == pdTRUE);
}

#endif

void measure_semaphores(void)
{
#if DRIVER_WHOLE
    measure_create();
    measure_from_isr();
    measure_recursive();
    measure_inherited(0);
    measure_inherited(1);
    measure_less_urgent();
    for (int is_recursive = 0; is_recursive <= 1; is_recursive++) {
        measure_mutex_not_urgent(is_recursive, 0, KEPT);
        for (unsigned inherited = 0; inherited < INHERITED_STATES; inherited++)
            measure_mutex_not_urgent(is_recursive, 1, inherited);
    }
#endif
    measure_semaphore();
    measure_mutex();
    for (unsigned readying = 0; readying < READYING_STATES; readying++)
        measure_mutex_waiter(readying);
}
