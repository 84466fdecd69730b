/* Calls that block: the caller is switched away inside them and goes on later. Another task, which was
 * delayed for one tick, brings what the caller waits for; it is more urgent than the caller, so the
 * caller is switched away once only. */
#include "driver.h"

#if DRIVER_WHOLE

#include <string.h>

#include "board.h"
#include "helpers.h"
#include "urgency.h"
#include "semphr.h"

#include "event_groups.h"
#include "stream_buffer.h"

#define STACK_WORDS configMINIMAL_STACK_SIZE

/* As long as the caller waits; it is the last of those that are delayed. */
#define LIMIT 50u

/* Largest values, where several parameters act at once. */
#define DELAYED_AT_ONCE 6u
#define WAITERS_AT_ONCE 6u

/* More places than items that come before the caller's: then the queue does not wrap around at it. */
#define PLACES (WAITERS_MAX + 3u)

/* What a stream buffer holds: a byte less than its storage. */
#define STREAM_BYTES (ITEM_BYTES_MAX + 2u)

static uint8_t storage[PLACES * ITEM_BYTES_MAX + 8] KERNEL_OBJECT __attribute__((aligned(8)));
static uint8_t sent[ITEM_BYTES_MAX + 8] CALLER_DATA __attribute__((aligned(8)));
static uint8_t received[ITEM_BYTES_MAX + 8] CALLER_DATA __attribute__((aligned(8)));
static uint8_t others_item[ITEM_BYTES_MAX + 8] CALLER_DATA __attribute__((aligned(8)));
static StaticQueue_t control KERNEL_OBJECT;
static StaticEventGroup_t group_control KERNEL_OBJECT;
static StaticStreamBuffer_t stream_control KERNEL_OBJECT;
static StaticTask_t holder_control KERNEL_OBJECT;
static StackType_t holder_stack[STACK_WORDS] TASK_STACK;
static StaticTask_t waiter_control KERNEL_OBJECT;
static StackType_t waiter_stack[STACK_WORDS] TASK_STACK;
static uint32_t value CALLER_DATA;
static QueueHandle_t queue;
static EventGroupHandle_t group;
static StreamBufferHandle_t stream;
static unsigned times;
static unsigned places;
static unsigned length;

static BaseType_t resumes_the_driver(void *unused)
{
    (void)unused;
    vTaskDelay(1);
    vTaskResume(driver_handle);
    return pdPASS;
}

static BaseType_t notifies_the_driver(void *unused)
{
    (void)unused;
    vTaskDelay(1);
    return xTaskNotify(driver_handle, 1, eSetValueWithOverwrite);
}

/* What waits for the caller when it goes on need not be more urgent than the caller. It is while it brings what
 * the caller waits for. Another task, which is as urgent and therefore runs when that waits, lowers it. */
static unsigned lowering; /* 0: nobody does */

static BaseType_t lowers(void *unused)
{
    (void)unused;
    CHECK(ulTaskNotifyTake(pdTRUE, portMAX_DELAY) == 1);
    vTaskPrioritySet(helper_handle(0), PRIORITY_CREATED);
    return pdPASS;
}

static void be_lowered(void)
{
    if (lowering > 0)
        CHECK(xTaskNotifyGive(helper_handle(lowering)) == pdPASS);
}

/* The last item is for the caller. Then the task fills the queue and waits for room: the caller readies it. */
static BaseType_t sends(void *unused)
{
    (void)unused;
    vTaskDelay(1);
    for (unsigned i = 0; i + 1 < times + places; i++)
        CHECK(xQueueSend(queue, sent + 1, 0) == pdTRUE);
    be_lowered();
    return xQueueSend(queue, others_item + 1, portMAX_DELAY);
}

/* Makes room for the caller, empties the queue, and waits for the caller's item. */
static BaseType_t receives(void *unused)
{
    (void)unused;
    vTaskDelay(1);
    for (unsigned i = 0; i + 1 < times + places; i++)
        CHECK(xQueueReceive(queue, others_item + 1, 0) == pdTRUE);
    be_lowered();
    return xQueueReceive(queue, others_item + 1, portMAX_DELAY);
}

static void lower_first(unsigned helper)
{
    lowering = helper;
    vTaskPrioritySet(helper_handle(helper), helper_priority(0));
    helper_call(helper, lowers, NULL);
}

static void check_first_went_on(int urgent)
{
    CHECK(helper_busy(0) == !urgent);
    CHECK(urgent || eTaskGetState(helper_handle(0)) == eReady);
    vTaskPrioritySet(helper_handle(0), helper_priority(0));
    CHECK(!helper_busy(0));
    lowering = 0;
}

static BaseType_t gives(void *unused)
{
    (void)unused;
    vTaskDelay(1);
    for (unsigned i = 0; i < times; i++)
        CHECK(xSemaphoreGive(queue) == pdTRUE);
    return pdPASS;
}

static BaseType_t sets_bits(void *unused)
{
    (void)unused;
    vTaskDelay(1);
    (void)xEventGroupSetBits(group, 3);
    return pdPASS;
}

/* What the caller of a stream buffer finds: bytes that were there before it waited, and that stay there. */
static unsigned there;
static unsigned stay;
static unsigned capacity; /* what the buffer holds */
static int moves; /* where it is read and written, to the byte before the end */

static void set_positions(unsigned read, unsigned write)
{
    stream_control.uxDummy1[0] = read;
    stream_control.uxDummy1[1] = write;
}

static BaseType_t sends_bytes(void *unused)
{
    const size_t bytes = length + stay - there;

    (void)unused;
    vTaskDelay(1);
    return xStreamBufferSend(stream, sent + 1 + there, bytes, 0) == bytes;
}

/* More than there is room for, until the caller has received. */
static BaseType_t sends_the_rest(void *unused)
{
    const size_t bytes = STREAM_BYTES - stay;

    (void)unused;
    return xStreamBufferSend(stream, sent + 1, bytes, portMAX_DELAY) == bytes;
}

/* All that the buffer holds, or all but what stays. */
static BaseType_t makes_room(void *unused)
{
    const size_t bytes = capacity - stay;

    (void)unused;
    vTaskDelay(1);
    CHECK(xStreamBufferReceive(stream, others_item + 1, bytes, 0) == bytes);
    if (moves)
        set_positions(capacity, capacity);
    return xStreamBufferBytesAvailable(stream) == stay;
}

/* What has stayed, and what the caller sends. */
static BaseType_t receives_bytes(void *unused)
{
    (void)unused;
    return xStreamBufferReceive(stream, others_item + 1, STREAM_BYTES, portMAX_DELAY) ==
           stay + length;
}

/* `delayed` tasks that wake no later than the caller; the first of them is the one that brings what
 * the caller waits for. */
static void delay_others(helper_function *brings, unsigned delayed)
{
    for (unsigned i = 1; i < delayed; i++)
        helper_delay(i, LIMIT);
    if (brings != NULL)
        helper_call(0, brings, NULL);
}

/* The caller has been notified and has not looked at that: a call that waits forgets it first. Or it has not. */
static void notify_driver(unsigned state)
{
    (void)xTaskNotifyStateClear(NULL);
    if (state == 0)
        CHECK(xTaskNotify(driver_handle, 0, eNoAction) == pdPASS);
}

static void set_items(unsigned bytes)
{
    static uint8_t other;

    other++;
    length = bytes;
    for (unsigned i = 1; i <= bytes + 1; i++) {
        sent[i] = (uint8_t)(i + other);
        received[i] = 0;
    }
}

static void mark_three(unsigned first, unsigned second, unsigned third)
{
    wcet_param(0, first);
    wcet_param(1, second);
    wcet_param(2, third);
}

/* ---- the scheduler -------------------------------------------------------------------------- */

static void resumes_at_once(void *unused)
{
    (void)unused;
    for (;;)
        vTaskResume(driver_handle);
}

/* Worst: the caller is alone at its priority; another task is delayed, so that the next unblock time
 * is set anew, or none is. */
static void measure_suspend(void)
{
    helpers_start(1);
    helper_call(0, resumes_the_driver, NULL);
    CHECK(listCURRENT_LIST_LENGTH(list_of(driver_handle)) == 1);
    MEASURE(SERVICE_VTASKSUSPEND_OWN, vTaskSuspend(NULL));
    CHECK(!helper_busy(0));
    helpers_stop();

    CHECK(xTaskCreateStatic(resumes_at_once, "resumes", STACK_WORDS, NULL, PRIORITY_CREATED,
                            holder_stack, &holder_control) != NULL);
    CHECK(listCURRENT_LIST_LENGTH(list_of(driver_handle)) == 1);
    MEASURE(SERVICE_VTASKSUSPEND_OWN_NONE_DELAYED, vTaskSuspend(NULL));
    vTaskDelete((TaskHandle_t)&holder_control);
}

static void deletes_itself(void *unused)
{
    (void)unused;
    wcet_begin(SERVICE_VTASKDELETE_OWN);
    vTaskDelete(NULL);
    CHECK(!"a task that deleted itself ran on");
}

/* The driver is the thread that runs next, and leaves the end mark. Another task is delayed. */
static void measure_delete_own(void)
{
    helpers_start(1);
    helper_delay(0, LIMIT);
    driver_invocations++;
    CHECK(xTaskCreateStatic(deletes_itself, "victim", STACK_WORDS, NULL, PRIORITY_DRIVER + 2,
                            holder_stack, &holder_control) != NULL);
    wcet_end(SERVICE_VTASKDELETE_OWN);
    helpers_stop();
    /* The idle task takes its memory back. */
    vTaskDelay(1);
    CHECK(uxTaskGetNumberOfTasks() == TASKS_ALWAYS);
}

/* How the tick count and the time to wake compare with the time of the last waking: neither has wrapped around
 * since; both have; or the time to wake alone will, so that the caller's place is in the other list. */
enum wrapped { NEITHER, BOTH, WAKE_TIME };

static TickType_t wake CALLER_DATA;

/* Nobody is delayed. The caller has woken the tick before; it is to sleep for two. */
static void set_clock(enum wrapped wrapped)
{
    if (wrapped == NEITHER)
        clock_far_from_wrap();
    else
        xTickCount = wrapped == BOTH ? 0 : portMAX_DELAY;
    wake = xTickCount - 1;
}

/* Worst: as for vTaskDelay. */
static void measure_delay_until(unsigned others, enum wrapped wrapped)
{
    TickType_t before;
    BaseType_t delayed;

    set_clock(wrapped);
    before = xTaskGetTickCount();
    helpers_start(others);
    for (unsigned i = 0; i < others; i++)
        helper_delay(i, 1 + i % 2);
    wcet_param(0, others);
    wcet_param(1, wrapped);
    MEASURE(SERVICE_XTASKDELAYUNTIL, delayed = xTaskDelayUntil(&wake, 3));
    CHECK(delayed == pdTRUE && xTaskGetTickCount() == before + 2 && wake == before + 2);
    for (unsigned i = 0; i < others; i++)
        CHECK(!helper_busy(i));
    helpers_stop();
    clock_far_from_wrap();
}

/* As vTaskDelay_first (time.c). Where the time to wake wraps around, the next unblock time is not looked at. */
static void measure_delay_until_first(enum wrapped wrapped, unsigned state)
{
    const SemaphoreHandle_t semaphore = xSemaphoreCreateBinaryStatic(&control);
    TickType_t before;
    BaseType_t delayed;

    set_clock(wrapped);
    before = xTaskGetTickCount();
    helpers_start(2);
    helper_delay(0, 100);
    if (state == 1) {
        helper_take(1, semaphore, 1);
        CHECK(xSemaphoreGive(semaphore) == pdTRUE);
        CHECK(!helper_busy(1) && helper_result(1) == pdTRUE);
    }
    /* Nobody else is delayed, and the tick at which the other one was to wake has not come. */
    CHECK(listCURRENT_LIST_LENGTH(list_of(helper_handle(0))) == 1);
    CHECK(xTaskGetTickCount() == before);
    wcet_param(0, 2 * wrapped + state);
    MEASURE(SERVICE_XTASKDELAYUNTIL_FIRST, delayed = xTaskDelayUntil(&wake, 3));
    CHECK(delayed == pdTRUE && xTaskGetTickCount() == before + 2 && wake == before + 2);
    CHECK(helper_busy(0));
    helpers_stop();
    clock_far_from_wrap();
}

/* As vTaskDelay_first_last_tick. */
static void measure_delay_until_last_tick(void)
{
    BaseType_t delayed;

    xTickCount = portMAX_DELAY - 2;
    board_tick();
    wake = xTickCount - 1;
    MEASURE(SERVICE_XTASKDELAYUNTIL_FIRST_LAST_TICK, delayed = xTaskDelayUntil(&wake, 2));
    CHECK(delayed == pdTRUE && xTaskGetTickCount() == portMAX_DELAY && wake == portMAX_DELAY);
    clock_far_from_wrap();
}

/* The caller wakes behind the wrap, so that it is put into the other list, behind `others` or as the first. */
static void measure_delay_wrap(unsigned others)
{
    set_clock(WAKE_TIME);
    helpers_start(others + 1);
    for (unsigned i = 0; i < others; i++)
        helper_delay(i, 1 + i % 2);
    if (others > 0) {
        wcet_param(0, others);
        MEASURE(SERVICE_VTASKDELAY_WRAP, vTaskDelay(2));
    } else {
        helper_delay(0, 100);
        MEASURE(SERVICE_VTASKDELAY_FIRST_WRAP, vTaskDelay(2));
        CHECK(helper_busy(0));
    }
    CHECK(xTaskGetTickCount() == 1);
    for (unsigned i = 0; i < others; i++)
        CHECK(!helper_busy(i));
    helpers_stop();
    clock_far_from_wrap();
}

static void measure_delays(void)
{
    for (unsigned others = 1; others <= DELAYED_MAX; others++)
        for (enum wrapped wrapped = NEITHER; wrapped <= WAKE_TIME; wrapped++)
            measure_delay_until(others, wrapped);
    for (unsigned state = 0; state < 2; state++) {
        measure_delay_until_first(NEITHER, state);
        measure_delay_until_first(BOTH, state);
    }
    measure_delay_until_first(WAKE_TIME, 0);
    measure_delay_until_last_tick();
    for (unsigned others = 0; others <= DELAYED_MAX; others++)
        measure_delay_wrap(others);
}

static void measure_notifications_of_driver(void)
{
    for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++) {
        BaseType_t result;

        helpers_start(delayed);
        delay_others(notifies_the_driver, delayed);
        for (unsigned state = 0; state < 2; state++) {
            if (state > 0)
                helper_call(0, notifies_the_driver, NULL);
            wcet_param(0, delayed);
            wcet_param(1, state);
            MEASURE(SERVICE_ULTASKNOTIFYTAKE_BLOCKS,
                    value = ulTaskNotifyTake(state == 0 ? pdFALSE : pdTRUE, LIMIT));
            CHECK(value == 1 && !helper_busy(0));
        }
        helper_call(0, notifies_the_driver, NULL);
        wcet_param(0, delayed);
        MEASURE(SERVICE_XTASKNOTIFYWAIT_BLOCKS,
                result = xTaskNotifyWait(UINT32_MAX, UINT32_MAX, &value, LIMIT));
        CHECK(result == pdTRUE && value == 1 && !helper_busy(0));
        helpers_stop();
    }
}

/* ---- queues and semaphores ------------------------------------------------------------------ */

/* Of one place, which wraps around at every item, or of more, of which the first was taken. */
static void create_queue(unsigned bytes, unsigned state)
{
    set_items(bytes);
    places = state == 0 ? 1 : PLACES;
    queue = xQueueCreateStatic(places, bytes, storage + 1, &control);
    CHECK(xQueueSend(queue, others_item + 1, 0) == pdTRUE);
    CHECK(xQueueReceive(queue, others_item + 1, 0) == pdTRUE);
}

/* Worst: W more urgent tasks wait already, and D tasks wake no later than the caller's time limit:
 * its place in both lists is behind them. When it goes on it finds a task that waits on the other side by
 * now, more urgent than the caller or not. */
static void measure_receive(unsigned bytes, unsigned delayed, unsigned waiting, unsigned state, int urgent)
{
    BaseType_t result;

    create_queue(bytes, state);
    times = waiting + 1;
    helpers_start(delayed + waiting + !urgent);
    for (unsigned i = delayed; i < delayed + waiting; i++)
        helper_receive(i, queue, others_item + 1, portMAX_DELAY);
    if (!urgent)
        lower_first(delayed + waiting);
    delay_others(sends, delayed);
    mark_three(bytes, delayed, waiting);
    wcet_param(3, state);
    if (urgent)
        MEASURE(SERVICE_XQUEUERECEIVE_BLOCKS, result = xQueueReceive(queue, received + 1, LIMIT));
    else
        MEASURE(SERVICE_XQUEUERECEIVE_BLOCKS_LESS_URGENT,
                result = xQueueReceive(queue, received + 1, LIMIT));
    CHECK(result == pdTRUE && memcmp(sent + 1, received + 1, bytes) == 0);
    check_first_went_on(urgent);
    CHECK(uxQueueMessagesWaiting(queue) == places);
    for (unsigned i = 1; i < delayed + waiting; i++)
        CHECK(helper_busy(i) == (i < delayed));
    helpers_stop();
}

static void measure_send(unsigned bytes, unsigned delayed, unsigned waiting, int to_front,
                         unsigned state, int urgent)
{
    BaseType_t result;

    create_queue(bytes, state);
    for (unsigned i = 0; i < places; i++)
        CHECK(xQueueSend(queue, others_item + 1, 0) == pdTRUE);
    times = waiting + 1;
    helpers_start(delayed + waiting + !urgent);
    for (unsigned i = delayed; i < delayed + waiting; i++)
        helper_send(i, queue, others_item + 1, portMAX_DELAY);
    if (!urgent)
        lower_first(delayed + waiting);
    delay_others(receives, delayed);
    mark_three(bytes, delayed, waiting);
    wcet_param(3, state);
    if (to_front && urgent)
        MEASURE(SERVICE_XQUEUESENDTOFRONT_BLOCKS,
                result = xQueueSendToFront(queue, sent + 1, LIMIT));
    else if (to_front)
        MEASURE(SERVICE_XQUEUESENDTOFRONT_BLOCKS_LESS_URGENT,
                result = xQueueSendToFront(queue, sent + 1, LIMIT));
    else if (urgent)
        MEASURE(SERVICE_XQUEUESEND_BLOCKS, result = xQueueSend(queue, sent + 1, LIMIT));
    else
        MEASURE(SERVICE_XQUEUESEND_BLOCKS_LESS_URGENT,
                result = xQueueSend(queue, sent + 1, LIMIT));
    CHECK(result == pdTRUE);
    check_first_went_on(urgent);
    CHECK(uxQueueMessagesWaiting(queue) == 0);
    CHECK(memcmp(sent + 1, others_item + 1, bytes) == 0);
    for (unsigned i = 1; i < delayed + waiting; i++)
        CHECK(helper_busy(i) == (i < delayed));
    helpers_stop();
}

static void measure_take(unsigned delayed, unsigned waiting)
{
    BaseType_t result;

    queue = xSemaphoreCreateBinaryStatic(&control);
    times = waiting + 1;
    helpers_start(delayed + waiting);
    for (unsigned i = delayed; i < delayed + waiting; i++)
        helper_take(i, queue, portMAX_DELAY);
    delay_others(gives, delayed);
    wcet_param(0, delayed);
    wcet_param(1, waiting);
    MEASURE(SERVICE_XSEMAPHORETAKE_BLOCKS, result = xSemaphoreTake(queue, LIMIT));
    CHECK(result == pdTRUE && !helper_busy(0));
    for (unsigned i = 1; i < delayed + waiting; i++)
        CHECK(helper_busy(i) == (i < delayed));
    helpers_stop();
}

/* ---- mutexes -------------------------------------------------------------------------------- */

/* Less urgent than the driver, more urgent than the holder was. */
#define PRIORITY_WAITER (PRIORITY_CREATED + 1)

static int recursive;
static int holder_sleeps;

static BaseType_t take(TickType_t limit)
{
    return recursive ? xSemaphoreTakeRecursive(queue, limit) : xSemaphoreTake(queue, limit);
}

static BaseType_t give(void)
{
    return recursive ? xSemaphoreGiveRecursive(queue) : xSemaphoreGive(queue);
}

/* Takes the mutex while it is more urgent than the driver, and goes on when the driver waits. */
static void holds_and_gives(void *unused)
{
    (void)unused;
    CHECK(take(0) == pdTRUE);
    vTaskPrioritySet(NULL, PRIORITY_CREATED);
    CHECK(uxTaskPriorityGet(NULL) == PRIORITY_DRIVER);
    (void)give();
    CHECK(!"the holder of the mutex ran on");
}

/* Holds the mutex for ever, and lets time pass; or waits for something else. */
static void holds_and_waits(void *unused)
{
    (void)unused;
    CHECK(take(0) == pdTRUE);
    vTaskPrioritySet(NULL, PRIORITY_CREATED);
    if (holder_sleeps)
        (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    for (;;)
        board_tick();
}

/* Gives the mutex when the driver waits for it, takes it again before the driver goes on, and gives it when
 * the driver waits once more. */
static void holds_twice(void *unused)
{
    (void)unused;
    CHECK(take(0) == pdTRUE);
    vTaskPrioritySet(NULL, PRIORITY_CREATED);
    CHECK(uxTaskPriorityGet(NULL) == PRIORITY_DRIVER);
    vTaskPrioritySet(NULL, PRIORITY_DRIVER + 1);
    let_clock_wrap();
    (void)give();
    CHECK(take(0) == pdTRUE);
    vTaskPrioritySet(NULL, PRIORITY_CREATED);
    CHECK(uxTaskPriorityGet(NULL) == PRIORITY_DRIVER);
    (void)give();
    CHECK(!"the holder of the mutex ran on");
}

static void waits_for_mutex(void *unused)
{
    (void)unused;
    (void)take(portMAX_DELAY);
    CHECK(!"somebody gave the mutex");
}

static TaskHandle_t mutex_held_by(TaskFunction_t function)
{
    TaskHandle_t holder;

    queue = recursive ? xSemaphoreCreateRecursiveMutexStatic(&control)
                      : xSemaphoreCreateMutexStatic(&control);
    holder = xTaskCreateStatic(function, "holder", STACK_WORDS, NULL, PRIORITY_DRIVER + 1,
                               holder_stack, &holder_control);
    CHECK(xSemaphoreGetMutexHolder(queue) == holder);
    CHECK(uxTaskPriorityGet(holder) == PRIORITY_CREATED);
    CHECK(listCURRENT_LIST_LENGTH(list_of(holder)) == 1);
    /* The index of its ready list stands on it, as where it ran last. */
    put_index_on(holder);
    return holder;
}

/* Worst: the holder is ready, alone at its priority, and inherits that of the caller. Nobody more
 * urgent waits: the holder would have inherited more already (see measure_mutex in waits.c). */
static void measure_mutex(unsigned delayed)
{
    TaskHandle_t holder;
    BaseType_t result;

    helpers_start(delayed);
    for (unsigned i = 0; i < delayed; i++)
        helper_delay(i, LIMIT);
    holder = mutex_held_by(holds_and_gives);
    wcet_param(0, delayed);
    if (recursive)
        MEASURE(SERVICE_XSEMAPHORETAKERECURSIVE_BLOCKS,
                result = xSemaphoreTakeRecursive(queue, LIMIT));
    else
        MEASURE(SERVICE_XSEMAPHORETAKE_MUTEX_BLOCKS, result = xSemaphoreTake(queue, LIMIT));
    CHECK(result == pdTRUE && xSemaphoreGetMutexHolder(queue) == driver_handle);
    CHECK(uxTaskPriorityGet(holder) == PRIORITY_CREATED);
    CHECK(give() == pdTRUE);
    vTaskDelete(holder);
    helpers_stop();
}

/* As before, twice; the holder inherits the caller's priority both times. The tick count wraps around
 * before the caller looks at the time that is left. */
static void measure_mutex_again(unsigned delayed)
{
    TaskHandle_t holder;
    BaseType_t result;

    clock_wraps_in(1);
    helpers_start(delayed);
    for (unsigned i = 0; i < delayed; i++)
        helper_delay(i, LIMIT);
    holder = mutex_held_by(holds_twice);
    wcet_param(0, delayed);
    if (recursive)
        MEASURE(SERVICE_XSEMAPHORETAKERECURSIVE_BLOCKS_AGAIN,
                result = xSemaphoreTakeRecursive(queue, LIMIT));
    else
        MEASURE(SERVICE_XSEMAPHORETAKE_MUTEX_BLOCKS_AGAIN, result = xSemaphoreTake(queue, LIMIT));
    CHECK(result == pdTRUE && xSemaphoreGetMutexHolder(queue) == driver_handle);
    CHECK(give() == pdTRUE);
    vTaskDelete(holder);
    helpers_stop();
    clock_far_from_wrap();
}

/* The caller waits in vain, and the holder, which is ready or is not, loses the priority that it has inherited.
 * It keeps that of a less urgent task which waits too, or nobody else waits. When the caller's time is over, but
 * before it goes on, the tick count wraps around. Or the caller has become more urgent by then, so that a holder
 * that is ready is alone at the priority that it loses. (Ports that mark the priorities with ready tasks keep a
 * mark for that one: nobody may be switched away until somebody stands there again.) */
#define MUTEX_IN_VAIN_STATES 6u

static void measure_mutex_in_vain(unsigned delayed, unsigned state, enum wait_ending ending)
{
    const int another_waits = state < 2 || state == 4;
    const int lifted = state >= 4;
    const UBaseType_t kept = another_waits ? PRIORITY_WAITER : PRIORITY_CREATED;
    TaskHandle_t holder, waiter = NULL;
    BaseType_t result;

    wait_ending = ending;
    holder_sleeps = state < 4 && state & 1;
    holder = mutex_held_by(holds_and_waits);
    if (another_waits)
        waiter = xTaskCreateStatic(waits_for_mutex, "waiter", STACK_WORDS, NULL, PRIORITY_WAITER,
                                   waiter_stack, &waiter_control);
    /* The waiter runs until it waits, then the holder. */
    vTaskDelay(1);
    CHECK(uxTaskPriorityGet(holder) == kept);
    clock_wraps_in(IN_VAIN + 2);
    helpers_start(delayed);
    for (unsigned i = 1; i < delayed; i++)
        helper_delay(i, IN_VAIN);
    helper_call(0, lifted ? ends_wait_and_lifts : ends_wait, queue);
    wcet_param(0, delayed);
    wcet_param(1, state);
    if (recursive)
        MEASURE_IN_VAIN(SERVICE_XSEMAPHORETAKERECURSIVE, ,
                        result = xSemaphoreTakeRecursive(queue, IN_VAIN));
    else
        MEASURE_IN_VAIN(SERVICE_XSEMAPHORETAKE_MUTEX, , result = xSemaphoreTake(queue, IN_VAIN));
    CHECK(result == pdFALSE && xSemaphoreGetMutexHolder(queue) == holder);
    CHECK(!helper_busy(0) && helper_result(0) == pdPASS);
    CHECK(uxTaskPriorityGet(holder) == kept);
    CHECK(uxTaskPriorityGet(NULL) == (UBaseType_t)(PRIORITY_DRIVER + lifted));
    if (lifted)
        vTaskPrioritySet(NULL, PRIORITY_DRIVER);
    if (waiter != NULL)
        vTaskDelete(waiter);
    vTaskDelete(holder);
    helpers_stop();
    clock_far_from_wrap();
}

/* ---- event groups and stream buffers -------------------------------------------------------- */

static void measure_events_of_driver(unsigned delayed, unsigned state)
{
    EventBits_t bits;

    group = xEventGroupCreateStatic(&group_control);
    helpers_start(delayed);
    delay_others(sets_bits, delayed);
    wcet_param(0, delayed);
    wcet_param(1, state);
    MEASURE(SERVICE_XEVENTGROUPWAITBITS_BLOCKS,
            bits = xEventGroupWaitBits(group, 3, state == 0 ? pdTRUE : pdFALSE, pdTRUE, LIMIT));
    CHECK(bits == 3 && !helper_busy(0) && xEventGroupGetBits(group) == (state == 0 ? 0 : 3));
    (void)xEventGroupClearBits(group, 3);
    helper_call(0, sets_bits, NULL);
    wcet_param(0, delayed);
    wcet_param(1, state);
    MEASURE(SERVICE_XEVENTGROUPWAITBITS_ANY_BLOCKS,
            bits = xEventGroupWaitBits(group, 3, state == 0 ? pdFALSE : pdTRUE, pdFALSE, LIMIT));
    CHECK(bits == 3 && !helper_busy(0) && xEventGroupGetBits(group) == (state == 0 ? 3 : 0));
    helpers_stop();
}

/* Of the tasks that wait: all for any of others, or all for several; or the last in the other way. */
static int waits_for_any(unsigned state, unsigned i, unsigned count)
{
    return (state & 1) == (state >> 1 && i + 1 == count);
}

static BaseType_t waits_for_other_bits(void *unused)
{
    (void)unused;
    return xEventGroupWaitBits(group, 0x80, pdTRUE, pdFALSE, portMAX_DELAY) == 0;
}

static BaseType_t waits_for_more_bits(void *unused)
{
    (void)unused;
    return xEventGroupWaitBits(group, 0x84, pdTRUE, pdTRUE, portMAX_DELAY) == 0;
}

/* The bits that the caller sets are looked at for all that wait: as in meetings.c. */
static void measure_sync(unsigned delayed, unsigned waiting, unsigned state)
{
    EventBits_t bits;

    group = xEventGroupCreateStatic(&group_control);
    helpers_start(delayed + waiting);
    for (unsigned i = 0; i < waiting; i++)
        helper_call(delayed + i,
                    waits_for_any(state, i, waiting) ? waits_for_other_bits : waits_for_more_bits,
                    NULL);
    delay_others(sets_bits, delayed);
    wcet_param(0, delayed);
    wcet_param(1, waiting);
    wcet_param(2, state);
    MEASURE(SERVICE_XEVENTGROUPSYNC_BLOCKS, bits = xEventGroupSync(group, 4, 7, LIMIT));
    CHECK(bits == 7 && !helper_busy(0) && xEventGroupGetBits(group) == 0);
    helpers_stop();
}

static void create_stream(unsigned bytes, unsigned holds)
{
    set_items(bytes);
    capacity = holds;
    stream = xStreamBatchingBufferCreateStatic(holds + 1, 1, storage, &stream_control);
}

/* The data wrap around behind the first byte, as in streams.c. All are received, or one stays; and one, too few
 * for a batching buffer, was there before, or none. */
#define RECEIVE_STATES 8u

static void measure_stream_receive(unsigned bytes, unsigned delayed, unsigned state, int urgent)
{
    size_t done;

    create_stream(bytes, STREAM_BYTES);
    stay = state >= 2 && state < 6;
    there = state >= 4;
    set_positions(0, STREAM_BYTES);
    CHECK(xStreamBufferIsFull(stream));
    urgency_wait_for_caller(sends_the_rest, delayed, urgent);
    set_positions(STREAM_BYTES, there ? 0 : STREAM_BYTES);
    storage[STREAM_BYTES] = sent[1];
    CHECK(xStreamBufferBytesAvailable(stream) == there);
    delay_others(sends_bytes, delayed);
    notify_driver(state & 1);
    mark_three(bytes, delayed, state);
    if (urgent)
        MEASURE(SERVICE_XSTREAMBUFFERRECEIVE_BLOCKS,
                done = xStreamBufferReceive(stream, received + 1, bytes, LIMIT));
    else
        MEASURE(SERVICE_XSTREAMBUFFERRECEIVE_BLOCKS_LESS_URGENT,
                done = xStreamBufferReceive(stream, received + 1, bytes, LIMIT));
    CHECK(done == bytes && memcmp(sent + 1, received + 1, bytes) == 0);
    CHECK(xStreamBufferBytesAvailable(stream) == (urgent ? STREAM_BYTES : stay));
    urgency_check_went_on(delayed, urgent);
}

/* Full, and the next byte that is written is the last before the end; or the data have wrapped around, and what is
 * written does not, or does as well. Then it would behind its second byte, which two bytes do not: so that they
 * cost the same, the positions are moved by a byte while the buffer is empty. Or they have, and not all is
 * received, so that what is written stays before what is there. The data are longer than the buffer, which takes
 * what it can hold, or are not. All that with the tick count wrapping around before the caller looks at the time
 * that is left, or not. */
#define SEND_STATES 28u

static const struct {
    unsigned char where, longer, clock_wraps;
} send_states[SEND_STATES / 2] = {
    {0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {0, 0, 1}, {1, 0, 1}, {2, 0, 1}, {0, 1, 0},
    {1, 1, 0}, {2, 1, 0}, {0, 1, 1}, {1, 1, 1}, {2, 1, 1}, {3, 0, 0}, {3, 0, 1},
};

static void measure_stream_send(unsigned bytes, unsigned delayed, unsigned state, int urgent)
{
    const unsigned where = send_states[state / 2].where, longer = send_states[state / 2].longer;
    const unsigned clock_wraps = send_states[state / 2].clock_wraps;
    const TickType_t before = xTaskGetTickCount();
    size_t done;

    create_stream(bytes, longer ? bytes : STREAM_BYTES);
    moves = where == 2;
    stay = where == 3;
    if (clock_wraps)
        clock_wraps_in(1);
    urgency_wait_for_caller(receives_bytes, delayed, urgent);
    set_positions(where == 0 ? 0 : where == 2 ? capacity : 1,
                  where == 0 ? capacity : where == 2 ? capacity - 1 : 0);
    CHECK(xStreamBufferIsFull(stream));
    delay_others(makes_room, delayed);
    notify_driver(state & 1);
    mark_three(bytes, delayed, state);
    if (urgent)
        MEASURE(SERVICE_XSTREAMBUFFERSEND_BLOCKS,
                done = xStreamBufferSend(stream, sent + 1, bytes + longer, LIMIT));
    else
        MEASURE(SERVICE_XSTREAMBUFFERSEND_BLOCKS_LESS_URGENT,
                done = xStreamBufferSend(stream, sent + 1, bytes + longer, LIMIT));
    CHECK(done == bytes && (xTaskGetTickCount() < before) == clock_wraps);
    CHECK(xStreamBufferBytesAvailable(stream) == (urgent ? 0 : stay + bytes));
    urgency_check_went_on(delayed, urgent);
    CHECK(xStreamBufferIsEmpty(stream) && memcmp(sent + 1, others_item + 1 + stay, bytes) == 0);
    if (clock_wraps)
        clock_far_from_wrap();
}

void measure_blocking(void)
{
    measure_suspend();
    measure_delete_own();
    measure_delays();
    measure_notifications_of_driver();
    for (unsigned bytes = 1; bytes <= ITEM_BYTES_MAX; bytes++)
        for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++)
            for (unsigned waiting = 1; waiting <= WAITERS_MAX; waiting++)
                for (unsigned state = 0; state < 2 && swept_in(state, bytes, delayed, waiting); state++)
                    for (int urgent = 0; urgent <= 1; urgent++) {
                        measure_receive(bytes, delayed, waiting, state, urgent);
                        measure_send(bytes, delayed, waiting, 0, state, urgent);
                        measure_send(bytes, delayed, waiting, 1, state, urgent);
                    }
    for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++)
        for (unsigned waiting = 1; waiting <= WAITERS_AT_ONCE; waiting++)
            if (swept(STREAM_BYTES_MIN, delayed, waiting))
                measure_take(delayed, waiting);
    for (unsigned delayed = 1; delayed <= DELAYED_AT_ONCE; delayed++)
        for (unsigned waiting = 0; waiting <= WAITERS_AT_ONCE; waiting++)
            for (unsigned state = 0; state < 4; state++)
                measure_sync(delayed, waiting, state);
    for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++) {
        for (recursive = 0; recursive <= 1; recursive++) {
            measure_mutex(delayed);
            measure_mutex_again(delayed);
            for (unsigned state = 0; state < MUTEX_IN_VAIN_STATES; state++)
                for (unsigned ending = 0; ending < WAIT_ENDINGS; ending++)
                    measure_mutex_in_vain(delayed, state, ending);
        }
        for (unsigned state = 0; state < 2; state++)
            measure_events_of_driver(delayed, state);
    }
    for (unsigned bytes = STREAM_BYTES_MIN; bytes <= ITEM_BYTES_MAX; bytes++)
        for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++)
            for (int urgent = 0; urgent <= 1; urgent++)
                for (unsigned state = 0; state < SEND_STATES && swept_in(state, bytes, delayed, 1); state++) {
                    if (state < RECEIVE_STATES)
                        measure_stream_receive(bytes, delayed, state, urgent);
                    measure_stream_send(bytes, delayed, state, urgent);
                }
}

#endif
