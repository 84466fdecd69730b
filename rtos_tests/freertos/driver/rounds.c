/* Calls that wait more than once: the caller is woken, but a more urgent task takes what it waited for before
 * it goes on, so that it waits again. Then its time is over. What matters is the part between the two
 * switches: each further round of such a call adds it once. */
#include "driver.h"

#if DRIVER_WHOLE

#include "board.h"
#include "helpers.h"
#include "semphr.h"

#include "stream_buffer.h"

/* Of the caller, in ticks; the first one is over when it is woken in vain. */
#define LIMIT 3u
#define ITEM_BYTES 4u
#define PLACES (WAITERS_MAX + 2u)
#define STREAM_BYTES 8u

static uint8_t storage[PLACES * ITEM_BYTES] KERNEL_OBJECT __attribute__((aligned(8)));
static uint8_t item[STREAM_BYTES] CALLER_DATA __attribute__((aligned(8)));
static StaticQueue_t control KERNEL_OBJECT;
static StaticStreamBuffer_t stream_control KERNEL_OBJECT;
static QueueHandle_t queue;
static StreamBufferHandle_t stream;
static unsigned first_waiter;
static unsigned waiters;

/* A call that waits, and one that brings what it waits for. */
static const struct kind {
    BaseType_t (*wait)(TickType_t limit);
    BaseType_t (*bring)(void);
} *kind;

static BaseType_t receive(TickType_t limit)
{
    return xQueueReceive(queue, item, limit);
}

static BaseType_t send(TickType_t limit)
{
    return xQueueSend(queue, item, limit);
}

static BaseType_t send_now(void)
{
    return send(0);
}

static BaseType_t receive_now(void)
{
    return receive(0);
}

static BaseType_t take(TickType_t limit)
{
    return xSemaphoreTake(queue, limit);
}

static BaseType_t give(void)
{
    return xSemaphoreGive(queue);
}

static const struct kind receives = {receive, send_now};
static const struct kind sends = {send, receive_now};
static const struct kind takes = {take, give};

/* Gets it once, and waits again when the caller's has been taken. */
static BaseType_t waits_twice(void *unused)
{
    (void)unused;
    CHECK(kind->wait(portMAX_DELAY) == pdTRUE);
    (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    return kind->wait(portMAX_DELAY);
}

/* The last one is for the caller, which does not get it. */
static BaseType_t brings_and_takes(void *unused)
{
    (void)unused;
    vTaskDelay(1);
    for (unsigned i = 0; i <= waiters; i++)
        CHECK(kind->bring() == pdTRUE);
    CHECK(kind->wait(0) == pdTRUE);
    for (unsigned i = 0; i < waiters; i++)
        (void)xTaskNotifyGive(helper_handle(first_waiter + i));
    vTaskDelay(LIMIT - 1);
    return pdPASS;
}

/* Worst: both times W more urgent tasks wait before the caller, and D tasks wake no later than it. The tick
 * count wraps around before the caller looks at the time that is left. */
static void prepare(const struct kind *what, unsigned delayed, unsigned waiting)
{
    kind = what;
    first_waiter = delayed;
    clock_wraps_in(1);
    waiters = waiting;
    helpers_start(delayed + waiting);
    for (unsigned i = delayed; i < delayed + waiting; i++)
        helper_call(i, waits_twice, NULL);
    for (unsigned i = 1; i < delayed; i++)
        helper_delay(i, LIMIT);
    helper_call(0, brings_and_takes, NULL);
    wcet_param(0, delayed);
    wcet_param(1, waiting);
}

static void finish(void)
{
    for (unsigned i = 0; i < first_waiter + waiters; i++)
        CHECK(helper_busy(i) == (i >= first_waiter));
    helpers_stop();
    clock_far_from_wrap();
}

static void measure_queue(unsigned delayed, unsigned waiting)
{
    BaseType_t result;

    queue = xQueueCreateStatic(1, ITEM_BYTES, storage, &control);
    prepare(&receives, delayed, waiting);
    MEASURE(SERVICE_XQUEUERECEIVE_BLOCKS_AGAIN, result = xQueueReceive(queue, item, LIMIT));
    CHECK(result == pdFALSE);
    finish();

    queue = xQueueCreateStatic(1, ITEM_BYTES, storage, &control);
    prepare(&receives, delayed, waiting);
    MEASURE(SERVICE_XQUEUEPEEK_BLOCKS_AGAIN, result = xQueuePeek(queue, item, LIMIT));
    CHECK(result == pdFALSE);
    finish();

    queue = xQueueCreateStatic(1, ITEM_BYTES, storage, &control);
    CHECK(xQueueSend(queue, item, 0) == pdTRUE);
    prepare(&sends, delayed, waiting);
    MEASURE(SERVICE_XQUEUESEND_BLOCKS_AGAIN, result = xQueueSend(queue, item, LIMIT));
    CHECK(result == errQUEUE_FULL);
    finish();

    queue = xSemaphoreCreateBinaryStatic(&control);
    prepare(&takes, delayed, waiting);
    MEASURE(SERVICE_XSEMAPHORETAKE_BLOCKS_AGAIN, result = xSemaphoreTake(queue, LIMIT));
    CHECK(result == pdFALSE);
    finish();
}

/* ---- queue sets --------------------------------------------------------------------------------- */

#if configUSE_QUEUE_SETS == 1

static StaticQueue_t set_control KERNEL_OBJECT;
static uint8_t set_storage[sizeof(void *)] KERNEL_OBJECT __attribute__((aligned(8)));
static QueueSetHandle_t set;

static BaseType_t select(TickType_t limit)
{
    return xQueueSelectFromSet(set, limit) != NULL;
}

static const struct kind selects = {select, send_now};

static void measure_set(unsigned delayed, unsigned waiting)
{
    QueueSetMemberHandle_t member;

    set = xQueueCreateSetStatic(1, set_storage, &set_control);
    queue = xQueueCreateStatic(PLACES, ITEM_BYTES, storage, &control);
    CHECK(xQueueAddToSet(queue, set) == pdPASS);
    prepare(&selects, delayed, waiting);
    MEASURE(SERVICE_XQUEUESELECTFROMSET_BLOCKS_AGAIN, member = xQueueSelectFromSet(set, LIMIT));
    CHECK(member == NULL);
    finish();
}

#else

static void measure_set(unsigned delayed, unsigned waiting)
{
    (void)delayed;
    (void)waiting;
}

#endif

/* ---- stream buffers ----------------------------------------------------------------------------- */

/* Room for one byte, which is not enough. */
static BaseType_t receives_a_byte(void *unused)
{
    static uint8_t byte;

    (void)unused;
    vTaskDelay(1);
    CHECK(xStreamBufferReceive(stream, &byte, 1, 0) == 1);
    vTaskDelay(LIMIT - 1);
    return pdPASS;
}

/* The data wrap around, or do not: which takes longer to see is the core's. */
static void measure_stream(unsigned delayed, unsigned state)
{
    size_t done;

    stream = xStreamBufferCreateStatic(STREAM_BYTES + 1, STREAM_BYTES, storage, &stream_control);
    stream_control.uxDummy1[0] = state == 0 ? STREAM_BYTES / 2 : 0;
    stream_control.uxDummy1[1] = state == 0 ? STREAM_BYTES / 2 : 0;
    CHECK(xStreamBufferSend(stream, item, STREAM_BYTES, 0) == STREAM_BYTES);
    clock_wraps_in(1);
    helpers_start(delayed);
    for (unsigned i = 1; i < delayed; i++)
        helper_delay(i, LIMIT);
    helper_call(0, receives_a_byte, NULL);
    wcet_param(0, delayed);
    wcet_param(1, state);
    MEASURE(SERVICE_XSTREAMBUFFERSEND_BLOCKS_AGAIN,
            done = xStreamBufferSend(stream, item, 2, LIMIT));
    CHECK(done == 1 && !helper_busy(0));
    helpers_stop();
    clock_far_from_wrap();
}

void measure_rounds(void)
{
    for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++) {
        for (unsigned waiting = 0; waiting <= WAITERS_MAX; waiting++)
            if (swept(STREAM_BYTES_MIN, delayed, waiting)) {
                measure_queue(delayed, waiting);
                measure_set(delayed, waiting);
            }
        for (unsigned state = 0; state < 2; state++)
            measure_stream(delayed, state);
    }
}

#endif
