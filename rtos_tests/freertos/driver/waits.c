/* Calls that wait, further to blocking.c: peeks, messages, recursive mutexes, and everything that waits
 * in vain. As there, another task brings what the caller waits for; it is more urgent than the caller. */
#include "driver.h"

#if DRIVER_WHOLE

#include <string.h>

#include "board.h"
#include "helpers.h"
#include "urgency.h"
#include "semphr.h"

#include "event_groups.h"
#include "message_buffer.h"
#include "stream_buffer.h"

/* As long as the caller waits where something comes. Tasks that are delayed wake no later. */
#define LIMIT 50u

/* Largest values, where several parameters act at once. */

/* What the buffers hold, and a byte less than their storage: as a stream, and as messages. */
#define STREAM_BYTES (ITEM_BYTES_MAX + 2)
#define LENGTH_BYTES ((unsigned)sizeof(configMESSAGE_BUFFER_LENGTH_TYPE))
#define LARGE_MESSAGE (ITEM_BYTES_MAX + 2)
#define MESSAGE_BYTES (LARGE_MESSAGE + LENGTH_BYTES)

/* Of a queue; there and of messages. */
#define PLACES 3u
#define STORAGE_BYTES (PLACES * ITEM_BYTES_MAX + MESSAGE_BYTES)
static uint8_t storage[STORAGE_BYTES + 8] KERNEL_OBJECT __attribute__((aligned(8)));
static uint8_t sent[MESSAGE_BYTES + 8] CALLER_DATA __attribute__((aligned(8)));
static uint8_t received[MESSAGE_BYTES + 8] CALLER_DATA __attribute__((aligned(8)));
static uint8_t others_item[MESSAGE_BYTES + 8] CALLER_DATA __attribute__((aligned(8)));
static uint32_t value CALLER_DATA;
static StaticQueue_t control KERNEL_OBJECT;
static StaticEventGroup_t group_control KERNEL_OBJECT;
static StaticStreamBuffer_t stream_control KERNEL_OBJECT;
static QueueHandle_t queue;
static EventGroupHandle_t group;
static StreamBufferHandle_t stream;
static unsigned length;
static unsigned last;

static void set_items(unsigned bytes)
{
    static uint8_t other;

    other++;
    length = bytes;
    for (unsigned i = 1; i < sizeof sent; i++) {
        sent[i] = (uint8_t)(i + other);
        received[i] = 0;
        others_item[i] = 0;
    }
}

/* Helpers 0 to `delayed` - 1 are delayed until the caller gives up, or wake earlier; the first one
 * carries out `brings`, if there is any. */
static void delay_others(helper_function *brings, unsigned delayed, TickType_t ticks)
{
    for (unsigned i = 1; i < delayed; i++)
        helper_delay(i, ticks);
    if (brings != NULL)
        helper_call(0, brings, queue);
    else
        helper_delay(0, ticks);
}

/* The caller has been notified and has not looked at that: a call that waits forgets it first. Or it has not. */
static void notify_driver(unsigned state)
{
    (void)xTaskNotifyStateClear(NULL);
    if (state == 0)
        CHECK(xTaskNotify(driver_handle, 0, eNoAction) == pdPASS);
}

static void mark_two(unsigned first, unsigned second)
{
    wcet_param(0, first);
    wcet_param(1, second);
}

/* ---- queues and semaphores ------------------------------------------------------------------- */

static BaseType_t peeks(void *unused)
{
    (void)unused;
    return xQueuePeek(queue, others_item + 1, portMAX_DELAY);
}

static BaseType_t receives(void *unused)
{
    (void)unused;
    return xQueueReceive(queue, others_item + 1, portMAX_DELAY);
}

static BaseType_t sends(void *unused)
{
    (void)unused;
    return xQueueSend(queue, others_item + 1, portMAX_DELAY);
}

static BaseType_t takes(void *unused)
{
    (void)unused;
    return xSemaphoreTake(queue, portMAX_DELAY);
}

/* The item readies those that wait, one after the other; the task behind the caller is lifted above it
 * before the caller goes on. */
static BaseType_t sends_and_lifts(void *unused)
{
    (void)unused;
    vTaskDelay(1);
    CHECK(xQueueSend(queue, sent + 1, 0) == pdTRUE);
    vTaskPrioritySet(helper_handle(last), helper_priority(last));
    return pdPASS;
}

/* Worst: W more urgent tasks wait already and D tasks wake no later, as for a receive. A less urgent
 * task waits behind the caller and becomes more urgent while it waits: the caller readies it. */
static void measure_peek(unsigned bytes, unsigned delayed, unsigned waiting, unsigned state)
{
    BaseType_t result;

    set_items(bytes);
    /* As in queues.c, it wraps around or does not. */
    queue = xQueueCreateStatic(state == 0 ? 1 : PLACES, bytes, storage + 1, &control);
    CHECK(xQueueSend(queue, sent + 1, 0) == pdTRUE);
    CHECK(xQueueReceive(queue, others_item + 1, 0) == pdTRUE);
    last = delayed + waiting;
    helpers_start(last + 1);
    helper_call(last, peeks, NULL);
    vTaskPrioritySet(helper_handle(last), PRIORITY_CREATED);
    for (unsigned i = delayed; i < last; i++)
        helper_call(i, peeks, NULL);
    delay_others(sends_and_lifts, delayed, LIMIT);
    mark_two(bytes, delayed);
    wcet_param(2, waiting);
    wcet_param(3, state);
    MEASURE(SERVICE_XQUEUEPEEK_BLOCKS, result = xQueuePeek(queue, received + 1, LIMIT));
    CHECK(result == pdTRUE && memcmp(sent + 1, received + 1, bytes) == 0);
    CHECK(uxQueueMessagesWaiting(queue) == 1);
    for (unsigned i = 0; i <= last; i++)
        CHECK(helper_busy(i) == (i > 0 && i < delayed));
    helpers_stop();
}

static int recursive;

static BaseType_t take(TickType_t limit)
{
    return recursive ? xSemaphoreTakeRecursive(queue, limit) : xSemaphoreTake(queue, limit);
}

/* Nobody comes; the others are delayed for as long as the caller, or wait before it. */
static void wait_in_vain(QueueHandle_t what, helper_function *waits, unsigned delayed,
                         unsigned waiting)
{
    queue = what;
    clock_wraps_in(IN_VAIN + 2);
    helpers_start(delayed + waiting);
    for (unsigned i = delayed; i < delayed + waiting; i++)
        helper_call(i, waits, NULL);
    delay_others(ends_wait, delayed, IN_VAIN);
    mark_two(delayed, waiting);
}

/* Where the wait was aborted, the others are delayed still. */
static int still_waits(unsigned helper, unsigned delayed)
{
    return helper >= delayed || (wait_ending == WAIT_IS_ABORTED && helper > 0);
}

static void waited_in_vain(unsigned delayed, unsigned waiting)
{
    CHECK(helper_result(0) == pdPASS);
    for (unsigned i = 0; i < delayed + waiting; i++)
        CHECK(helper_busy(i) == still_waits(i, delayed));
    helpers_stop();
    clock_far_from_wrap();
}

static void measure_in_vain(unsigned delayed, unsigned waiting, enum wait_ending ending)
{
    BaseType_t result;

    wait_ending = ending;
    set_items(4);
    wait_in_vain(xQueueCreateStatic(1, 4, storage, &control), receives, delayed, waiting);
    MEASURE_IN_VAIN(SERVICE_XQUEUERECEIVE, , result = xQueueReceive(queue, received, IN_VAIN));
    CHECK(result == pdFALSE);
    waited_in_vain(delayed, waiting);

    wait_in_vain(xQueueCreateStatic(1, 4, storage, &control), receives, delayed, waiting);
    MEASURE_IN_VAIN(SERVICE_XQUEUEPEEK, , result = xQueuePeek(queue, received, IN_VAIN));
    CHECK(result == pdFALSE);
    waited_in_vain(delayed, waiting);

    queue = xQueueCreateStatic(1, 4, storage, &control);
    CHECK(xQueueSend(queue, sent, 0) == pdTRUE);
    wait_in_vain(queue, sends, delayed, waiting);
    MEASURE_IN_VAIN(SERVICE_XQUEUESEND, , result = xQueueSend(queue, sent, IN_VAIN));
    CHECK(result == errQUEUE_FULL);
    waited_in_vain(delayed, waiting);

    wait_in_vain(xSemaphoreCreateBinaryStatic(&control), takes, delayed, waiting);
    MEASURE_IN_VAIN(SERVICE_XSEMAPHORETAKE, , result = xSemaphoreTake(queue, IN_VAIN));
    CHECK(result == pdFALSE);
    waited_in_vain(delayed, waiting);
}

#if INCLUDE_xTaskAbortDelay == 1
static BaseType_t holds_mutex(void *unused)
{
    (void)unused;
    CHECK(take(0) == pdTRUE);
    return ulTaskNotifyTake(pdTRUE, portMAX_DELAY) == 0;
}

static void measure_mutex_gives_up(void)
{
    BaseType_t result;

    queue = recursive ? xSemaphoreCreateRecursiveMutexStatic(&control)
                      : xSemaphoreCreateMutexStatic(&control);
    leave_wait_aborted();
    helpers_start(1);
    helper_call(0, holds_mutex, NULL);
    if (recursive)
        MEASURE(SERVICE_XSEMAPHORETAKERECURSIVE_GIVES_UP, result = xSemaphoreTakeRecursive(queue, LIMIT));
    else
        MEASURE(SERVICE_XSEMAPHORETAKE_MUTEX_GIVES_UP, result = xSemaphoreTake(queue, LIMIT));
    CHECK(result == pdFALSE && !wait_was_aborted());
    CHECK(xSemaphoreGetMutexHolder(queue) == helper_handle(0));
    helpers_stop();
}

/* Nobody comes, and the caller does not wait. */
static void measure_gives_up(void)
{
    BaseType_t result;

    set_items(4);
    queue = xQueueCreateStatic(1, 4, storage, &control);
    leave_wait_aborted();
    MEASURE(SERVICE_XQUEUERECEIVE_GIVES_UP, result = xQueueReceive(queue, received, LIMIT));
    CHECK(result == pdFALSE && !wait_was_aborted());
    leave_wait_aborted();
    MEASURE(SERVICE_XQUEUEPEEK_GIVES_UP, result = xQueuePeek(queue, received, LIMIT));
    CHECK(result == pdFALSE && !wait_was_aborted());
    CHECK(xQueueSend(queue, sent, 0) == pdTRUE);
    leave_wait_aborted();
    MEASURE(SERVICE_XQUEUESEND_GIVES_UP, result = xQueueSend(queue, sent, LIMIT));
    CHECK(result == errQUEUE_FULL && !wait_was_aborted());
    queue = xSemaphoreCreateBinaryStatic(&control);
    leave_wait_aborted();
    MEASURE(SERVICE_XSEMAPHORETAKE_GIVES_UP, result = xSemaphoreTake(queue, LIMIT));
    CHECK(result == pdFALSE && !wait_was_aborted());
    for (recursive = 0; recursive <= 1; recursive++)
        measure_mutex_gives_up();
}
#endif

static void measure_not_notified(unsigned delayed)
{
    BaseType_t result;

    helpers_start(delayed);
    delay_others(NULL, delayed, IN_VAIN);
    wcet_param(0, delayed);
    MEASURE(SERVICE_ULTASKNOTIFYTAKE_TIMES_OUT, value = ulTaskNotifyTake(pdTRUE, IN_VAIN));
    CHECK(value == 0 && !helper_busy(0));
    delay_others(NULL, delayed, IN_VAIN);
    wcet_param(0, delayed);
    MEASURE(SERVICE_XTASKNOTIFYWAIT_TIMES_OUT,
            result = xTaskNotifyWait(UINT32_MAX, UINT32_MAX, &value, IN_VAIN));
    CHECK(result == pdFALSE && !helper_busy(0));
    helpers_stop();
}

/* ---- mutexes --------------------------------------------------------------------------------- */

static BaseType_t give(void)
{
    return recursive ? xSemaphoreGiveRecursive(queue) : xSemaphoreGive(queue);
}

static BaseType_t holds_for_a_tick(void *unused)
{
    (void)unused;
    CHECK(take(0) == pdTRUE);
    vTaskDelay(1);
    return give();
}

static BaseType_t holds_for_ever(void *unused)
{
    (void)unused;
    CHECK(take(0) == pdTRUE);
    CHECK(ends_wait(NULL) == pdPASS);
    return ulTaskNotifyTake(pdTRUE, portMAX_DELAY) == 0;
}

static BaseType_t takes_and_gives(void *unused)
{
    (void)unused;
    CHECK(take(portMAX_DELAY) == pdTRUE);
    return give();
}

/* Holds the mutex while it waits for something else; then it is ready. */
static void holds_and_lends(void *in_vain)
{
    CHECK(take(0) == pdTRUE);
    CHECK(ulTaskNotifyTake(pdTRUE, portMAX_DELAY) == 1);
    CHECK(uxTaskPriorityGet(NULL) == PRIORITY_DRIVER);
    while (in_vain != NULL)
        board_tick();
    (void)give();
    vTaskSuspend(NULL);
}

/* What the holder of a mutex has inherited from W more urgent tasks that wait already. The caller could give it
 * no more, and the holder waits for something else. Or nothing, because those tasks were less urgent when
 * they began to wait: it is ready, inherits the caller's priority, and when that has waited in vain, the
 * first one's. Or more than the first one has still, whose priority was lowered: the holder, which waits for
 * something else, has to give it back when the caller has waited in vain. Or nothing, and the caller becomes
 * more urgent before it gives up, so that the holder is alone at the priority that it has inherited from the
 * caller. (As in blocking.c, nobody may be switched away until somebody stands there again.) */
enum { INHERITED, NOTHING_INHERITED, MORE_INHERITED, NOTHING_INHERITED_LIFTED, BEHIND };

static int lends(unsigned state)
{
    return state == NOTHING_INHERITED || state == NOTHING_INHERITED_LIFTED;
}

/* The kernel looks at who waits only when somebody begins to wait or gives up. So that they need not be made
 * urgent one by one, the holder's priority is written back by hand; and its list's index on it, as where it
 * ran last. */
static TaskHandle_t mutex_lent(unsigned state, TickType_t ticks, unsigned delayed, unsigned waiting)
{
    static StaticTask_t holder_control KERNEL_OBJECT;
    static StackType_t holder_stack[configMINIMAL_STACK_SIZE] TASK_STACK;
    TaskHandle_t holder;

    holder = xTaskCreateStatic(holds_and_lends, "holder", configMINIMAL_STACK_SIZE,
                               ticks == IN_VAIN ? holds_and_lends : NULL, PRIORITY_DRIVER + 1,
                               holder_stack, &holder_control);
    vTaskPrioritySet(holder, PRIORITY_CREATED);
    delay_others(ticks != IN_VAIN                    ? NULL
                 : state == NOTHING_INHERITED_LIFTED ? ends_wait_and_lifts
                                                     : ends_wait,
                 delayed, ticks);
    for (unsigned i = delayed; i < delayed + waiting; i++)
        helper_call(i, takes_and_gives, NULL);
    CHECK(uxTaskPriorityGet(holder) == uxTaskPriorityGet(helper_handle(delayed + waiting - 1)));
    holder_control.uxDummy5 = PRIORITY_CREATED;
    holder_control.xDummy3[1].xDummy2 = configMAX_PRIORITIES - PRIORITY_CREATED;
    CHECK(xTaskNotifyGive(holder) == pdPASS && eTaskGetState(holder) == eReady);
    put_index_on(holder);
    return holder;
}

/* D tasks, a holder that waits for something else among them, wake no later than the caller. */
static TaskHandle_t mutex_behind(unsigned state, TickType_t ticks, unsigned delayed, unsigned waiting)
{
    const unsigned first = delayed + waiting - 1;
    UBaseType_t inherited;
    TaskHandle_t holder;

    queue = recursive ? xSemaphoreCreateRecursiveMutexStatic(&control)
                      : xSemaphoreCreateMutexStatic(&control);
    if (ticks == IN_VAIN)
        clock_wraps_in(IN_VAIN + 2);
    helpers_start(delayed + waiting);
    mark_two(delayed, waiting);
    wcet_param(2, state);
    if (lends(state))
        return mutex_lent(state, ticks, delayed, waiting);
    delay_others(ticks == IN_VAIN ? holds_for_ever : holds_for_a_tick, delayed, ticks);
    holder = helper_handle(0);
    vTaskPrioritySet(holder, PRIORITY_CREATED);
    inherited = state == MORE_INHERITED ? configMAX_PRIORITIES - 1 : helper_priority(first);
    vTaskPrioritySet(helper_handle(first), inherited);
    for (unsigned i = delayed; i <= first; i++)
        helper_call(i, takes_and_gives, NULL);
    CHECK(uxTaskPriorityGet(holder) == inherited);
    vTaskPrioritySet(helper_handle(first), helper_priority(first));
    return holder;
}

static void measure_mutex(unsigned state, unsigned delayed, unsigned waiting)
{
    TaskHandle_t holder = mutex_behind(state, LIMIT, delayed, waiting);
    BaseType_t result;

    if (recursive)
        MEASURE(SERVICE_XSEMAPHORETAKERECURSIVE_BLOCKS_BEHIND,
                result = xSemaphoreTakeRecursive(queue, LIMIT));
    else
        MEASURE(SERVICE_XSEMAPHORETAKE_MUTEX_BLOCKS_BEHIND, result = xSemaphoreTake(queue, LIMIT));
    CHECK(result == pdTRUE && xSemaphoreGetMutexHolder(queue) == driver_handle);
    CHECK(uxTaskPriorityGet(holder) == PRIORITY_CREATED);
    if (state == INHERITED)
        vTaskPrioritySet(holder, PRIORITY_DRIVER + 1);
    else
        vTaskDelete(holder);
    for (unsigned i = 0; i < delayed + waiting; i++)
        CHECK(helper_busy(i) == (i >= (state == INHERITED) && i < delayed));
    CHECK(give() == pdTRUE);
    helpers_stop();
}

static void measure_mutex_in_vain(unsigned state, unsigned delayed, unsigned waiting,
                                  enum wait_ending ending)
{
    TaskHandle_t holder;
    BaseType_t result;

    wait_ending = ending;
    holder = mutex_behind(state, IN_VAIN, delayed, waiting);
    if (recursive)
        MEASURE_IN_VAIN(SERVICE_XSEMAPHORETAKERECURSIVE, _BEHIND,
                        result = xSemaphoreTakeRecursive(queue, IN_VAIN));
    else
        MEASURE_IN_VAIN(SERVICE_XSEMAPHORETAKE_MUTEX, _BEHIND,
                        result = xSemaphoreTake(queue, IN_VAIN));
    CHECK(result == pdFALSE && xSemaphoreGetMutexHolder(queue) == holder);
    CHECK(uxTaskPriorityGet(holder) == helper_priority(delayed + waiting - 1));
    for (unsigned i = 0; i < delayed + waiting; i++)
        CHECK(helper_busy(i) == ((i == 0 && !lends(state)) || still_waits(i, delayed)));
    if (lends(state))
        vTaskDelete(holder);
    if (state == NOTHING_INHERITED_LIFTED) {
        CHECK(uxTaskPriorityGet(NULL) == PRIORITY_DRIVER + 1);
        vTaskPrioritySet(NULL, PRIORITY_DRIVER);
    }
    helpers_stop();
    clock_far_from_wrap();
}

/* ---- event groups ---------------------------------------------------------------------------- */

/* Too late for the caller, whose time is over at the same tick, but before it goes on. */
static BaseType_t sets_bits_late(void *unused)
{
    (void)unused;
    vTaskDelay(IN_VAIN);
    (void)xEventGroupSetBits(group, 3);
    return pdPASS;
}

static BaseType_t sets_nothing(void *unused)
{
    (void)unused;
    vTaskDelay(IN_VAIN);
    return pdPASS;
}

/* Worst: the bits are there when the caller looks for the last time, and are cleared, or are not; or they are
 * not there. */
static void measure_late_events(unsigned delayed, unsigned state)
{
    EventBits_t bits;

    group = xEventGroupCreateStatic(&group_control);
    helpers_start(delayed);
    delay_others(state < 2 ? sets_bits_late : sets_nothing, delayed, IN_VAIN);
    wcet_param(0, delayed);
    wcet_param(1, state);
    MEASURE(SERVICE_XEVENTGROUPWAITBITS_TIMES_OUT,
            bits = xEventGroupWaitBits(group, 3, state == 1 ? pdFALSE : pdTRUE, pdTRUE, IN_VAIN));
    CHECK(bits == (state < 2 ? 3 : 0) && !helper_busy(0));
    CHECK(xEventGroupGetBits(group) == (state == 1 ? 3 : 0));
    helpers_stop();
}

/* ---- stream buffers -------------------------------------------------------------------------- */

static void set_positions(size_t at)
{
    stream_control.uxDummy1[0] = at;
    stream_control.uxDummy1[1] = at;
}

/* By a byte, so that what is written next wraps around behind its first byte and not its second. */
static void move_behind(void)
{
    CHECK(stream_control.uxDummy1[1] == STREAM_BYTES - 1);
    stream_control.uxDummy1[0] = (stream_control.uxDummy1[0] + 1) % stream_control.uxDummy1[2];
    stream_control.uxDummy1[1] = STREAM_BYTES;
}

/* As if the buffer were full: where it is read, and a byte before that, where it is written. */
static void set_full(size_t at)
{
    stream_control.uxDummy1[0] = at;
    stream_control.uxDummy1[1] = at == 0 ? stream_control.uxDummy1[2] - 1 : at - 1;
    CHECK(xStreamBufferSpacesAvailable(stream) == 0);
}

/* When the caller's time is over, but before it goes on, it is notified of something else, and the tick
 * count wraps around. */
static BaseType_t notifies_late(void *unused)
{
    (void)unused;
    vTaskDelay(IN_VAIN);
    let_clock_wrap();
    return xTaskNotify(driver_handle, 0, eNoAction);
}

static unsigned stay; /* bytes that the caller does not receive, or that are not received for it */
static int moves; /* what is in the buffer, while the caller waits */

/* Fewer bytes than wake the caller, and a notification of something else. */
static BaseType_t sends_too_little(void *unused)
{
    (void)unused;
    vTaskDelay(IN_VAIN);
    CHECK(xStreamBufferSend(stream, sent + 1, length + stay, 0) == length + stay);
    return xTaskNotify(driver_handle, 0, eNoAction);
}

/* More than there is room for, until the caller has received. */
static BaseType_t sends_the_rest(void *unused)
{
    const size_t bytes = STREAM_BYTES - stay;

    (void)unused;
    return xStreamBufferSend(stream, sent + 1, bytes, portMAX_DELAY) == bytes;
}

static unsigned taken; /* bytes that are received for the caller, too late */

/* Makes room when the caller's time is over, which it is told of; and the tick count wraps around. */
static BaseType_t receives_late(void *unused)
{
    const unsigned before = xStreamBufferBytesAvailable(stream);

    (void)unused;
    vTaskDelay(IN_VAIN);
    let_clock_wrap();
    CHECK(xStreamBufferReceive(stream, others_item + 1, taken, 0) == taken);
    if (moves)
        move_behind();
    stay = before - taken;
    return xStreamBufferBytesAvailable(stream) == stay;
}

static BaseType_t receives_all(void *unused)
{
    (void)unused;
    return xStreamBufferReceive(stream, others_item + 1, STREAM_BYTES, portMAX_DELAY) ==
           STREAM_BYTES;
}

static BaseType_t receives_rest(void *unused)
{
    (void)unused;
    return xStreamBufferReceive(stream, others_item + 1, STREAM_BYTES, portMAX_DELAY) ==
           length + stay;
}

/* Worst: fewer bytes have come than the trigger level, and a task waits for room; the caller takes the bytes, all
 * or all but one, and readies it. The positions are set as in streams.c. */
static void measure_stream_receive(unsigned bytes, unsigned delayed, unsigned state, int urgent)
{
    size_t done;

    set_items(bytes);
    stay = state >= 2;
    stream = xStreamBufferCreateStatic(STREAM_BYTES + 1, STREAM_BYTES, storage, &stream_control);
    set_full(0);
    urgency_wait_for_caller(sends_the_rest, delayed, urgent);
    set_positions(STREAM_BYTES);
    delay_others(sends_too_little, delayed, IN_VAIN);
    notify_driver(state & 1);
    mark_two(bytes, delayed);
    wcet_param(2, state);
    if (urgent)
        MEASURE(SERVICE_XSTREAMBUFFERRECEIVE_TIMES_OUT,
                done = xStreamBufferReceive(stream, received + 1, bytes, IN_VAIN));
    else
        MEASURE(SERVICE_XSTREAMBUFFERRECEIVE_TIMES_OUT_LESS_URGENT,
                done = xStreamBufferReceive(stream, received + 1, bytes, IN_VAIN));
    CHECK(done == bytes && memcmp(sent + 1, received + 1, bytes) == 0);
    CHECK(xStreamBufferBytesAvailable(stream) == (urgent ? STREAM_BYTES : stay));
    urgency_check_went_on(delayed, urgent);
}

/* Worst: there is room for a part of the data, which the caller sends in the end, and with that part
 * there are as many bytes as another task waits for, which is readied. What is in the buffer has wrapped
 * around and what is sent does not, or the reverse. The data would go into the empty buffer, or are longer.
 * Or a byte is received when the caller's time is over, the last before the wrap: of that the caller sees
 * nothing, but what is in the buffer does not wrap around any more. */
enum { BY_DATA, BY_BUFFER, TAKEN_AT_END };

static unsigned part_of_room(unsigned bytes, unsigned delayed, unsigned where, unsigned more, int urgent)
{
    const unsigned before = STREAM_BYTES - bytes;

    stream = xStreamBufferCreateStatic(STREAM_BYTES + 1, STREAM_BYTES - (where == TAKEN_AT_END), storage,
                                       &stream_control);
    set_positions(where == BY_DATA ? bytes : STREAM_BYTES);
    urgency_wait_for_caller(where == TAKEN_AT_END ? receives_rest : receives_all, delayed, urgent);
    CHECK(xStreamBufferSend(stream, sent + 1, before, 0) == before && helper_busy(delayed));
    CHECK(stream_control.uxDummy1[1] == (where == BY_DATA ? STREAM_BYTES : before - 1));
    stay = before;
    taken = 1;
    moves = 0;
    delay_others(where == TAKEN_AT_END ? receives_late : notifies_late, delayed, IN_VAIN);
    return STREAM_BYTES + more;
}

/* Or there is none, until the caller's time is over: it looks once more, and sends them all. They wrap around
 * behind their first byte; or what is in the buffer has wrapped around first, and they do not, or do as well (see
 * blocking.c); or all that is received stands before the wrap, and they end there. Or there is room for a part of
 * them then, and they are no longer than the empty buffer, or are. */
enum { DATA_WRAP, BUFFER_WRAPS, BOTH_WRAP, NEITHER_WRAPS };

static unsigned late_room(unsigned bytes, unsigned delayed, unsigned where, unsigned part, int urgent)
{
    stream = xStreamBatchingBufferCreateStatic(STREAM_BYTES + 1, 1, storage, &stream_control);
    taken = part > 0 || where == NEITHER_WRAPS ? bytes : STREAM_BYTES - (where == BUFFER_WRAPS);
    moves = where == BOTH_WRAP;
    urgency_wait_for_caller(receives_rest, delayed, urgent);
    set_full(where == DATA_WRAP       ? 0
             : where == BUFFER_WRAPS  ? 1
             : where == BOTH_WRAP     ? STREAM_BYTES
                                      : STREAM_BYTES + 1 - bytes);
    delay_others(receives_late, delayed, IN_VAIN);
    return part == 0 ? bytes : part == 1 ? bytes + 1 : STREAM_BYTES + 1;
}

/* Which of the two, and what these are told. */
static const struct {
    unsigned char late, where, more;
} send_states[] = {
    {0, BY_DATA, 0},       {0, BY_BUFFER, 0},      {0, BY_DATA, 1},         {0, BY_BUFFER, 1},
    {1, DATA_WRAP, 0},     {1, BUFFER_WRAPS, 0},   {1, BOTH_WRAP, 0},       {1, NEITHER_WRAPS, 0},
    {1, DATA_WRAP, 1},     {1, BUFFER_WRAPS, 1},   {1, BOTH_WRAP, 1},       {1, NEITHER_WRAPS, 1},
    {1, DATA_WRAP, 2},     {1, BUFFER_WRAPS, 2},   {1, BOTH_WRAP, 2},       {1, NEITHER_WRAPS, 2},
    {0, TAKEN_AT_END, 0},  {0, TAKEN_AT_END, 1},
};

#define SEND_STATES (2 * sizeof send_states / sizeof send_states[0])

static void measure_stream_send(unsigned bytes, unsigned delayed, unsigned state, int urgent)
{
    const int late = send_states[state / 2].late;
    unsigned wanted;
    size_t done;

    set_items(bytes);
    clock_wraps_in(IN_VAIN + 2);
    wanted = (late ? late_room : part_of_room)(bytes, delayed, send_states[state / 2].where,
                                               send_states[state / 2].more, urgent);
    notify_driver(state & 1);
    mark_two(bytes, delayed);
    wcet_param(2, state);
    if (urgent)
        MEASURE(SERVICE_XSTREAMBUFFERSEND_TIMES_OUT,
                done = xStreamBufferSend(stream, sent + 1, wanted, IN_VAIN));
    else
        MEASURE(SERVICE_XSTREAMBUFFERSEND_TIMES_OUT_LESS_URGENT,
                done = xStreamBufferSend(stream, sent + 1, wanted, IN_VAIN));
    CHECK(done == bytes && xStreamBufferBytesAvailable(stream) == (urgent ? 0 : stay + bytes));
    urgency_check_went_on(delayed, urgent);
    CHECK(xStreamBufferIsEmpty(stream));
    CHECK(memcmp(sent + 1, others_item + 1 + stay, bytes) == 0);
    clock_far_from_wrap();
}

/* ---- message buffers ------------------------------------------------------------------------- */

/* A message for the caller, and one of a byte behind it, or none. */
static BaseType_t sends_messages(void *unused)
{
    (void)unused;
    vTaskDelay(1);
    CHECK(xMessageBufferSend(stream, sent + 1, length, 0) == length);
    return stay == 0 || xMessageBufferSend(stream, sent + 1, 1, 0) == 1;
}

static BaseType_t sends_large(void *unused)
{
    (void)unused;
    return xMessageBufferSend(stream, sent + 1, LARGE_MESSAGE, portMAX_DELAY) == LARGE_MESSAGE;
}

/* The only message: soon, or when the caller's time is over, and then the tick count wraps around. */
static BaseType_t receives_message(void *unused)
{
    (void)unused;
    vTaskDelay(1);
    return xMessageBufferReceive(stream, others_item + 1, LARGE_MESSAGE, 0) == LARGE_MESSAGE;
}

static BaseType_t receives_message_late(void *unused)
{
    (void)unused;
    vTaskDelay(IN_VAIN);
    let_clock_wrap();
    return xMessageBufferReceive(stream, others_item + 1, LARGE_MESSAGE, 0) == LARGE_MESSAGE;
}

/* That of the caller. */
static BaseType_t receives_callers(void *unused)
{
    (void)unused;
    return xMessageBufferReceive(stream, others_item + 1, LARGE_MESSAGE, portMAX_DELAY) == length;
}

/* The length stands before the wrap, with the first byte of the message; `more` bytes larger than for the largest
 * message. */
static void empty_messages(unsigned more)
{
    stream = xMessageBufferCreateStatic(MESSAGE_BYTES + more + 1, storage, &stream_control);
    set_positions(MESSAGE_BYTES + more - LENGTH_BYTES);
    CHECK(xMessageBufferIsEmpty(stream) == pdTRUE);
}

/* The next message is written as above; or what is in the buffer has not wrapped around. */
static void full_messages(int straight)
{
    stream = xMessageBufferCreateStatic(MESSAGE_BYTES + 1, storage, &stream_control);
    set_positions(straight ? 0 : MESSAGE_BYTES - LENGTH_BYTES + 1);
    CHECK(xMessageBufferSend(stream, sent + 1, LARGE_MESSAGE, 0) == LARGE_MESSAGE);
    CHECK(xMessageBufferSpacesAvailable(stream) == 0);
    CHECK(stream_control.uxDummy1[1] == (straight ? MESSAGE_BYTES : MESSAGE_BYTES - LENGTH_BYTES));
}

/* Worst: as for streams, the caller goes on and readies a task that waits for it. There is one message, or
 * another behind it. */
static void measure_message_receive(unsigned bytes, unsigned delayed, unsigned state, int urgent)
{
    size_t at, done;

    set_items(bytes);
    stay = state >= 2;
    empty_messages(LENGTH_BYTES + 1);
    at = stream_control.uxDummy1[0];
    set_full(at);
    urgency_wait_for_caller(sends_large, delayed, urgent);
    set_positions(at);
    delay_others(sends_messages, delayed, LIMIT);
    notify_driver(state & 1);
    mark_two(bytes, delayed);
    wcet_param(2, state);
    if (urgent)
        MEASURE(SERVICE_XMESSAGEBUFFERRECEIVE_BLOCKS,
                done = xMessageBufferReceive(stream, received + 1, LARGE_MESSAGE, LIMIT));
    else
        MEASURE(SERVICE_XMESSAGEBUFFERRECEIVE_BLOCKS_LESS_URGENT,
                done = xMessageBufferReceive(stream, received + 1, LARGE_MESSAGE, LIMIT));
    CHECK(done == bytes && memcmp(sent + 1, received + 1, bytes) == 0);
    urgency_check_went_on(delayed, urgent);
    CHECK(xMessageBufferReceive(stream, received + 1, 1, 0) == stay);
    CHECK(xMessageBufferReceive(stream, received + 1, LARGE_MESSAGE, 0) == LARGE_MESSAGE);
}

/* Room is made soon; or so late that the caller looks for it when its time is over, and finds it. The tick
 * count wraps around before the caller looks at the time that is left, or does not; where room is made late, it
 * does. */
#define MESSAGE_SEND_STATES 12u

static void measure_message_send(unsigned bytes, unsigned delayed, unsigned state, int urgent)
{
    const unsigned when = state / 4;
    const TickType_t limit = when == 2 ? IN_VAIN : LIMIT, before = xTaskGetTickCount();
    size_t read, write, done;

    set_items(bytes);
    full_messages(state & 2);
    read = stream_control.uxDummy1[0];
    write = stream_control.uxDummy1[1];
    if (when > 0)
        clock_wraps_in(when == 2 ? IN_VAIN + 2 : 1);
    set_positions(0);
    urgency_wait_for_caller(receives_callers, delayed, urgent);
    stream_control.uxDummy1[0] = read;
    stream_control.uxDummy1[1] = write;
    delay_others(when == 2 ? receives_message_late : receives_message, delayed, limit);
    notify_driver(state & 1);
    mark_two(bytes, delayed);
    wcet_param(2, state);
    if (urgent)
        MEASURE(SERVICE_XMESSAGEBUFFERSEND_BLOCKS,
                done = xMessageBufferSend(stream, sent + 1, bytes, limit));
    else
        MEASURE(SERVICE_XMESSAGEBUFFERSEND_BLOCKS_LESS_URGENT,
                done = xMessageBufferSend(stream, sent + 1, bytes, limit));
    CHECK(done == bytes && (xTaskGetTickCount() < before) == (when > 0));
    urgency_check_went_on(delayed, urgent);
    CHECK(xMessageBufferIsEmpty(stream) && memcmp(sent + 1, others_item + 1, bytes) == 0);
    if (when > 0)
        clock_far_from_wrap();
}

static BaseType_t sends_too_much(void *unused)
{
    (void)unused;
    vTaskDelay(1);
    return xMessageBufferSend(stream, sent + 1, LARGE_MESSAGE, 0) == LARGE_MESSAGE;
}

/* Worst: the length of the message wraps around, as in fails.c. */
static void measure_message_too_long(unsigned delayed, unsigned state)
{
    size_t done;

    set_items(ITEM_BYTES_MAX);
    helpers_start(delayed);
    empty_messages(0);
    set_positions(MESSAGE_BYTES);
    delay_others(sends_too_much, delayed, LIMIT);
    notify_driver(state);
    wcet_param(0, delayed);
    wcet_param(1, state);
    MEASURE(SERVICE_XMESSAGEBUFFERRECEIVE_BLOCKS_FAILS,
            done = xMessageBufferReceive(stream, received + 1, LARGE_MESSAGE - 1, LIMIT));
    CHECK(done == 0 && !helper_busy(0) && helper_result(0) == pdTRUE);
    CHECK(xStreamBufferNextMessageLengthBytes(stream) == LARGE_MESSAGE && received[1] == 0);
    helpers_stop();
}

static void measure_message_in_vain(unsigned delayed, unsigned state)
{
    size_t done;

    set_items(ITEM_BYTES_MAX);
    helpers_start(delayed);
    if (state < 2) {
        empty_messages(0);
        clock_wraps_in(IN_VAIN + 2);
        delay_others(notifies_late, delayed, IN_VAIN);
        notify_driver(state);
        wcet_param(0, delayed);
        wcet_param(1, state);
        MEASURE(SERVICE_XMESSAGEBUFFERRECEIVE_TIMES_OUT,
                done = xMessageBufferReceive(stream, received + 1, LARGE_MESSAGE, IN_VAIN));
        CHECK(done == 0 && !helper_busy(0));
    }
    full_messages(state >= 2);
    clock_wraps_in(IN_VAIN + 2);
    delay_others(notifies_late, delayed, IN_VAIN);
    notify_driver(state & 1);
    wcet_param(0, delayed);
    wcet_param(1, state);
    MEASURE(SERVICE_XMESSAGEBUFFERSEND_TIMES_OUT,
            done = xMessageBufferSend(stream, sent + 1, ITEM_BYTES_MAX, IN_VAIN));
    CHECK(done == 0 && !helper_busy(0));
    helpers_stop();
    clock_far_from_wrap();
}

void measure_waits(void)
{
#if INCLUDE_xTaskAbortDelay == 1
    measure_gives_up();
#endif
    for (unsigned bytes = 1; bytes <= ITEM_BYTES_MAX; bytes++)
        for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++)
            for (unsigned waiting = 1; waiting <= WAITERS_MAX - 1; waiting++)
                for (unsigned state = 0; state < 2 && swept_in(state, bytes, delayed, waiting); state++)
                    measure_peek(bytes, delayed, waiting, state);
    for (recursive = 0; recursive <= 1; recursive++)
        for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++)
            for (unsigned waiting = 1; waiting <= WAITERS_MAX; waiting++)
                for (unsigned state = 0; state < BEHIND && swept(STREAM_BYTES_MIN, delayed, waiting); state++) {
                    if (state < MORE_INHERITED)
                        measure_mutex(state, delayed, waiting);
                    for (unsigned ending = 0; ending < WAIT_ENDINGS; ending++)
                        measure_mutex_in_vain(state, delayed, waiting, ending);
                }
    for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++) {
        for (unsigned waiting = 0; waiting <= WAITERS_MAX; waiting++)
            for (unsigned ending = 0; ending < WAIT_ENDINGS && swept(STREAM_BYTES_MIN, delayed, waiting); ending++)
                measure_in_vain(delayed, waiting, ending);
        measure_not_notified(delayed);
        for (unsigned state = 0; state < 3; state++)
            measure_late_events(delayed, state);
        for (unsigned state = 0; state < 2; state++)
            measure_message_too_long(delayed, state);
        for (unsigned state = 0; state < 4; state++)
            measure_message_in_vain(delayed, state);
    }
    for (unsigned bytes = STREAM_BYTES_MIN; bytes <= ITEM_BYTES_MAX; bytes++)
        for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++)
            for (int urgent = 0; urgent <= 1; urgent++)
                for (unsigned state = 0; state < SEND_STATES && swept_in(state, bytes, delayed, 1); state++) {
                    if (state < 4) {
                        measure_stream_receive(bytes, delayed, state, urgent);
                        measure_message_receive(bytes, delayed, state, urgent);
                    }
                    measure_stream_send(bytes, delayed, state, urgent);
                    if (state < MESSAGE_SEND_STATES)
                        measure_message_send(bytes, delayed, state, urgent);
                }
}

#endif
