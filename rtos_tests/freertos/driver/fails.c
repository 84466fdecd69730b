/* Calls on queues, semaphores and buffers that fail at once: the caller would not wait, or waiting would
 * not help. */
#include "driver.h"

#if DRIVER_WHOLE

#include "board.h"
#include "helpers.h"
#include "semphr.h"

#include "message_buffer.h"
#include "stream_buffer.h"

#define ITEM_BYTES 4u
#define LENGTH_BYTES ((unsigned)sizeof(configMESSAGE_BUFFER_LENGTH_TYPE))
#define STREAM_BYTES 16u

static uint8_t storage[STREAM_BYTES + 8] KERNEL_OBJECT __attribute__((aligned(8)));
static uint8_t item[STREAM_BYTES + 8] CALLER_DATA __attribute__((aligned(8)));
static StaticQueue_t control KERNEL_OBJECT;
static StaticStreamBuffer_t stream_control KERNEL_OBJECT;
static QueueHandle_t queue;
static StreamBufferHandle_t stream;

/* ---- queues ------------------------------------------------------------------------------------- */

static void empty_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    MEASURE(SERVICE_XQUEUERECEIVEFROMISR_FAILS,
            result = xQueueReceiveFromISR(queue, item, &woken));
    CHECK(result == pdFAIL);
    MEASURE(SERVICE_XQUEUEPEEKFROMISR_FAILS, result = xQueuePeekFromISR(queue, item));
    CHECK(result == pdFAIL && woken == pdFALSE);
}

static void full_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    MEASURE(SERVICE_XQUEUESENDFROMISR_FAILS, result = xQueueSendFromISR(queue, item, &woken));
    CHECK(result == errQUEUE_FULL && woken == pdFALSE);
}

static void measure_queue(void)
{
    BaseType_t result;

    queue = xQueueCreateStatic(1, ITEM_BYTES, storage, &control);
    MEASURE(SERVICE_XQUEUERECEIVE_FAILS, result = xQueueReceive(queue, item, 0));
    CHECK(result == errQUEUE_EMPTY);
    MEASURE(SERVICE_XQUEUEPEEK_FAILS, result = xQueuePeek(queue, item, 0));
    CHECK(result == errQUEUE_EMPTY);
    in_interrupt(empty_from_isr);
    CHECK(xQueueSend(queue, item, 0) == pdPASS);
    MEASURE(SERVICE_XQUEUESEND_FAILS, result = xQueueSend(queue, item, 0));
    CHECK(result == errQUEUE_FULL);
    in_interrupt(full_from_isr);
}

/* ---- semaphores and mutexes --------------------------------------------------------------------- */

static void take_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    MEASURE(SERVICE_XSEMAPHORETAKEFROMISR_FAILS,
            result = xSemaphoreTakeFromISR(queue, &woken));
    CHECK(result == pdFAIL && woken == pdFALSE);
}

static void give_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    MEASURE(SERVICE_XSEMAPHOREGIVEFROMISR_FAILS,
            result = xSemaphoreGiveFromISR(queue, &woken));
    CHECK(result == errQUEUE_FULL && woken == pdFALSE);
}

static void measure_semaphore(void)
{
    BaseType_t result;

    queue = xSemaphoreCreateBinaryStatic(&control);
    MEASURE(SERVICE_XSEMAPHORETAKE_FAILS, result = xSemaphoreTake(queue, 0));
    CHECK(result == pdFALSE);
    in_interrupt(take_from_isr);
    CHECK(xSemaphoreGive(queue) == pdTRUE);
    MEASURE(SERVICE_XSEMAPHOREGIVE_FAILS, result = xSemaphoreGive(queue));
    CHECK(result == pdFALSE);
    in_interrupt(give_from_isr);
}

/* Another task takes the mutex, and holds it while it waits for a notification. */
static BaseType_t holds(void *unused)
{
    (void)unused;
    CHECK(xSemaphoreTake(queue, 0) == pdTRUE);
    (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    return xSemaphoreGive(queue);
}

static BaseType_t holds_recursive(void *unused)
{
    (void)unused;
    CHECK(xSemaphoreTakeRecursive(queue, 0) == pdTRUE);
    (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    return xSemaphoreGiveRecursive(queue);
}

static void measure_mutex(void)
{
    BaseType_t result;

    helpers_start(1);
    queue = xSemaphoreCreateMutexStatic(&control);
    helper_call(0, holds, NULL);
    MEASURE(SERVICE_XSEMAPHORETAKE_MUTEX_FAILS, result = xSemaphoreTake(queue, 0));
    CHECK(result == pdFALSE && xSemaphoreGetMutexHolder(queue) == helper_handle(0));
    (void)xTaskNotifyGive(helper_handle(0));
    CHECK(!helper_busy(0));
    queue = xSemaphoreCreateRecursiveMutexStatic(&control);
    helper_call(0, holds_recursive, NULL);
    MEASURE(SERVICE_XSEMAPHORETAKERECURSIVE_FAILS, result = xSemaphoreTakeRecursive(queue, 0));
    CHECK(result == pdFALSE && xSemaphoreGetMutexHolder(queue) == helper_handle(0));
    (void)xTaskNotifyGive(helper_handle(0));
    CHECK(!helper_busy(0));
    helpers_stop();
}

/* ---- queue sets --------------------------------------------------------------------------------- */

#if configUSE_QUEUE_SETS == 1

static QueueSetHandle_t set;

static void select_from_isr(void)
{
    QueueSetMemberHandle_t member;

    MEASURE(SERVICE_XQUEUESELECTFROMSETFROMISR_FAILS, member = xQueueSelectFromSetFromISR(set));
    CHECK(member == NULL);
}

static void measure_set(void)
{
    QueueSetMemberHandle_t member;

    set = xQueueCreateSetStatic(1, storage, &control);
    MEASURE(SERVICE_XQUEUESELECTFROMSET_FAILS, member = xQueueSelectFromSet(set, 0));
    CHECK(member == NULL);
    in_interrupt(select_from_isr);
}

#else

static void measure_set(void)
{
}

#endif

/* ---- stream and message buffers ----------------------------------------------------------------- */

static void set_positions(unsigned at)
{
    stream_control.uxDummy1[0] = at;
    stream_control.uxDummy1[1] = at;
}

static unsigned straight; /* what is in the buffer has not wrapped around */

static void receive_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    size_t done;

    MEASURE(SERVICE_XSTREAMBUFFERRECEIVEFROMISR_FAILS,
            done = xStreamBufferReceiveFromISR(stream, item, ITEM_BYTES, &woken));
    CHECK(done == 0 && woken == pdFALSE);
}

static void send_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    size_t done;

    wcet_param(0, straight);
    MEASURE(SERVICE_XSTREAMBUFFERSENDFROMISR_FAILS,
            done = xStreamBufferSendFromISR(stream, item, ITEM_BYTES, &woken));
    CHECK(done == 0 && woken == pdFALSE);
}

/* Worst: a batching buffer, which is looked at longest; empty, then full, the data wrapping around or not. */
static void measure_stream(void)
{
    size_t done;

    stream = xStreamBatchingBufferCreateStatic(STREAM_BYTES + 1, 1, storage, &stream_control);
    set_positions(STREAM_BYTES / 2);
    MEASURE(SERVICE_XSTREAMBUFFERRECEIVE_FAILS,
            done = xStreamBufferReceive(stream, item, ITEM_BYTES, 0));
    CHECK(done == 0);
    in_interrupt(receive_from_isr);
    for (straight = 0; straight <= 1; straight++) {
        CHECK(xStreamBufferReset(stream) == pdPASS);
        set_positions(straight ? 0 : STREAM_BYTES / 2);
        CHECK(xStreamBufferSend(stream, item, STREAM_BYTES, 0) == STREAM_BYTES);
        wcet_param(0, straight);
        MEASURE(SERVICE_XSTREAMBUFFERSEND_FAILS,
                done = xStreamBufferSend(stream, item, ITEM_BYTES, 0));
        CHECK(done == 0);
        /* More than would go into the empty buffer. */
        wcet_param(0, 2 + straight);
        MEASURE(SERVICE_XSTREAMBUFFERSEND_FAILS,
                done = xStreamBufferSend(stream, item, STREAM_BYTES + 1, 0));
        CHECK(done == 0);
        in_interrupt(send_from_isr);
    }
}

static void receive_message_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    size_t done;

    MEASURE(SERVICE_XMESSAGEBUFFERRECEIVEFROMISR_FAILS,
            done = xMessageBufferReceiveFromISR(stream, item, ITEM_BYTES, &woken));
    CHECK(done == 0 && woken == pdFALSE);
}

static void send_message_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    size_t done;

    wcet_param(0, straight);
    MEASURE(SERVICE_XMESSAGEBUFFERSENDFROMISR_FAILS,
            done = xMessageBufferSendFromISR(stream, item, ITEM_BYTES, &woken));
    CHECK(done == 0 && woken == pdFALSE);
}

/* Worst: a message is there, but it is longer than what the caller has room for, who would wait; its length
 * wraps around behind the first byte. Then there is too little room for another one, the data wrapping around
 * or not. */
static void measure_message(void)
{
    const unsigned bytes = STREAM_BYTES - LENGTH_BYTES;
    size_t done;

    stream = xMessageBufferCreateStatic(STREAM_BYTES + 1, storage, &stream_control);
    set_positions(STREAM_BYTES);
    CHECK(xMessageBufferSend(stream, item, bytes, 0) == bytes);
    MEASURE(SERVICE_XMESSAGEBUFFERRECEIVE_FAILS,
            done = xMessageBufferReceive(stream, item, ITEM_BYTES, portMAX_DELAY));
    CHECK(done == 0);
    in_interrupt(receive_message_from_isr);
    for (straight = 0; straight <= 1; straight++) {
        CHECK(xMessageBufferReset(stream) == pdPASS);
        set_positions(straight ? 0 : STREAM_BYTES);
        CHECK(xMessageBufferSend(stream, item, bytes, 0) == bytes);
        wcet_param(0, straight);
        MEASURE(SERVICE_XMESSAGEBUFFERSEND_FAILS,
                done = xMessageBufferSend(stream, item, STREAM_BYTES, portMAX_DELAY));
        CHECK(done == 0);
        /* It would go into the empty buffer. */
        wcet_param(0, 2 + straight);
        MEASURE(SERVICE_XMESSAGEBUFFERSEND_FAILS, done = xMessageBufferSend(stream, item, bytes, 0));
        CHECK(done == 0);
        in_interrupt(send_message_from_isr);
    }
}

void measure_fails(void)
{
    measure_queue();
    measure_semaphore();
    measure_mutex();
    measure_set();
    measure_stream();
    measure_message();
}

#endif
