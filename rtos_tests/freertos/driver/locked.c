/* Queues that a task has locked: calls from interrupts, which only count then, and the unlocking, which
 * does what they left. A task locks a queue for a few instructions, into which no interrupt can be put
 * from outside; so the two counts are set by hand. */
#include "driver.h"

#if DRIVER_WHOLE

#include <string.h>

#include "board.h"
#include "helpers.h"
#include "semphr.h"
#include "urgency.h"

/* Tasks that wait on each side, and as long as the caller would wait. */
#define ON_EACH_SIDE 5u
#define LIMIT 50u

#define UNLOCKED 0xffu /* -1 */
#define COUNT_RECEIVED control.ucDummy5[0]
#define COUNT_SENT control.ucDummy5[1]
#define ITEMS control.uxDummy4[0]

/* As in queues.c: beside a word boundary. */
#define PLACES 3u
static uint8_t storage[PLACES * ITEM_BYTES_MAX + 8] KERNEL_OBJECT __attribute__((aligned(8)));
static uint8_t sent[ITEM_BYTES_MAX + 8] CALLER_DATA __attribute__((aligned(8)));
static uint8_t received[ITEM_BYTES_MAX + 8] CALLER_DATA __attribute__((aligned(8)));
static uint8_t others_item[ITEM_BYTES_MAX + 8] CALLER_DATA __attribute__((aligned(8)));
static StaticQueue_t control KERNEL_OBJECT;
static QueueHandle_t queue;
static unsigned length;
static unsigned now; /* which of several states is driven */

static BaseType_t peeks(void *unused)
{
    (void)unused;
    return xQueuePeek(queue, others_item + 1, portMAX_DELAY);
}

static void set_locked(unsigned count)
{
    COUNT_RECEIVED = (uint8_t)count;
    COUNT_SENT = (uint8_t)count;
}

static void queue_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    wcet_param(0, length);
    wcet_param(1, now);
    MEASURE(SERVICE_XQUEUESENDFROMISR_LOCKED, result = xQueueSendFromISR(queue, sent + 1, &woken));
    CHECK(result == pdPASS && COUNT_SENT == 1);
    wcet_param(0, length);
    wcet_param(1, now);
    MEASURE(SERVICE_XQUEUERECEIVEFROMISR_LOCKED,
            result = xQueueReceiveFromISR(queue, received + 1, &woken));
    CHECK(result == pdPASS && COUNT_RECEIVED == 1 && woken == pdFALSE);
    CHECK(memcmp(sent + 1, received + 1, length) == 0);
}

static void front_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    wcet_param(0, length);
    wcet_param(1, now);
    MEASURE(SERVICE_XQUEUESENDTOFRONTFROMISR_LOCKED,
            result = xQueueSendToFrontFromISR(queue, sent + 1, &woken));
    CHECK(result == pdPASS && woken == pdFALSE && COUNT_SENT == 1 && COUNT_RECEIVED == 0);
}

static void overwrite_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    wcet_param(0, length);
    wcet_param(1, now);
    MEASURE(SERVICE_XQUEUEOVERWRITEFROMISR_LOCKED,
            result = xQueueOverwriteFromISR(queue, sent + 1, &woken));
    CHECK(result == pdPASS && woken == pdFALSE && COUNT_SENT == 1 && COUNT_RECEIVED == 0);
}

/* The item that was sent is there, and no other. */
static void check_sent(void)
{
    CHECK(uxQueueMessagesWaiting(queue) == 1);
    CHECK(xQueueReceive(queue, received + 1, 0) == pdTRUE);
    CHECK(memcmp(sent + 1, received + 1, length) == 0);
}

static void semaphore_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    MEASURE(SERVICE_XSEMAPHOREGIVEFROMISR_LOCKED, result = xSemaphoreGiveFromISR(queue, &woken));
    CHECK(result == pdPASS && COUNT_SENT == 1 && woken == pdFALSE);
    MEASURE(SERVICE_XSEMAPHORETAKEFROMISR_LOCKED, result = xSemaphoreTakeFromISR(queue, &woken));
    CHECK(result == pdPASS && COUNT_RECEIVED == 1 && woken == pdFALSE);
}

/* Worst: fewer events were counted than there are tasks, so that the count grows. The queue wraps around, or
 * does not, as in queues.c. */
static void measure_from_isr(void)
{
    for (length = 1; length <= ITEM_BYTES_MAX; length++) {
        for (unsigned i = 1; i <= length; i++)
            sent[i] = (uint8_t)(i + length);
        for (now = 0; now < 2 && few_bytes(length, now); now++) {
            queue = xQueueCreateStatic(now == 0 ? 1 : PLACES, length, storage + 1, &control);
            CHECK(xQueueSend(queue, sent + 1, 0) == pdTRUE);
            CHECK(xQueueReceive(queue, received + 1, 0) == pdTRUE);
            CHECK(COUNT_RECEIVED == UNLOCKED && COUNT_SENT == UNLOCKED);
            set_locked(0);
            in_interrupt(queue_from_isr);

            queue = xQueueCreateStatic(now == 0 ? 1 : PLACES, length, storage + 1, &control);
            set_locked(0);
            in_interrupt(front_from_isr);
            check_sent();

            /* An item is there, or none. */
            queue = xQueueCreateStatic(1, length, storage + 1, &control);
            if (now == 0)
                CHECK(xQueueSend(queue, others_item + 1, 0) == pdTRUE);
            set_locked(0);
            in_interrupt(overwrite_from_isr);
            check_sent();
        }
    }
    queue = xSemaphoreCreateBinaryStatic(&control);
    set_locked(0);
    in_interrupt(semaphore_from_isr);
}

/* Worst: T tasks wait to receive and R to send, all more urgent than the caller, which waits behind
 * those that receive. More was sent and received than there are tasks, the caller among them.
 *
 * For tasks to wait on both sides, the queue was full, and was emptied by one that is more urgent than
 * those that wait to send. Here it is emptied by hand. The first of those that send does so when it
 * goes on, and the others, and the caller, find its item: the caller unlocks the queue once only. */
static void measure_unlock(unsigned receiving, unsigned sending)
{
    BaseType_t result;

    queue = xQueueCreateStatic(1, 4, storage, &control);
    CHECK(xQueueSend(queue, sent, 0) == pdTRUE);
    helpers_start(receiving + sending);
    for (unsigned i = receiving; i < receiving + sending; i++)
        helper_send(i, queue, sent, portMAX_DELAY);
    ITEMS = 0;
    for (unsigned i = 0; i < receiving; i++)
        helper_call(i, peeks, NULL);
    COUNT_SENT = (uint8_t)(receiving + 2);
    COUNT_RECEIVED = (uint8_t)(sending + 1);
    wcet_param(0, receiving);
    wcet_param(1, sending);
    wcet_param(2, 0);
    MEASURE(SERVICE_QUEUE_UNLOCK, result = xQueueReceive(queue, received, LIMIT));
    CHECK(result == pdTRUE && COUNT_SENT == UNLOCKED && COUNT_RECEIVED == UNLOCKED);
    for (unsigned i = 0; i < receiving; i++)
        CHECK(!helper_busy(i) && helper_result(i) == pdTRUE);
    helpers_stop();
}

static unsigned times;

/* Every task that waits sends when there is room, and there is room again. */
static BaseType_t makes_room(void *unused)
{
    (void)unused;
    CHECK(eTaskGetState(driver_handle) == eReady);
    for (unsigned i = 0; i < times; i++)
        CHECK(xQueueReceive(queue, received, 0) == pdTRUE);
    return pdPASS;
}

/* As before, but the caller waits to send, behind the R tasks that do. The queue was empty, and is filled by
 * hand. When the caller was readied, those tasks find the queue full and wait again; then another task, which
 * is ready all the time and as urgent as the caller, makes room for them all. Its turn is before the caller's,
 * for there is a third one that is as urgent, and at which the index of the ready list stands. */
static void measure_unlock_of_sender(unsigned receiving, unsigned sending)
{
    const unsigned another = receiving + sending;
    BaseType_t result;

    queue = xQueueCreateStatic(1, 4, storage, &control);
    helpers_start(another + 2);
    for (unsigned i = 0; i < receiving; i++)
        helper_call(i, peeks, NULL);
    ITEMS = 1;
    for (unsigned i = receiving; i < another; i++)
        helper_send(i, queue, sent, portMAX_DELAY);
    times = sending + 1;
    vTaskPrioritySet(helper_handle(another), PRIORITY_DRIVER);
    helper_call(another, makes_room, NULL);
    urgency_stand(another + 1, PRIORITY_DRIVER);
    COUNT_SENT = (uint8_t)(receiving + 1);
    COUNT_RECEIVED = (uint8_t)(sending + 2);
    wcet_param(0, receiving);
    wcet_param(1, sending);
    wcet_param(2, 1);
    MEASURE(SERVICE_QUEUE_UNLOCK, result = xQueueSend(queue, sent, LIMIT));
    CHECK(result == pdTRUE && COUNT_SENT == UNLOCKED && COUNT_RECEIVED == UNLOCKED && ITEMS == 1);
    for (unsigned i = 0; i <= another; i++)
        CHECK(!helper_busy(i) && helper_result(i) == pdTRUE);
    helpers_stop();
}

void measure_locked(void)
{
    measure_from_isr();
    for (unsigned receiving = 0; receiving <= ON_EACH_SIDE; receiving++)
        for (unsigned sending = 1; sending <= ON_EACH_SIDE; sending++) {
            measure_unlock(receiving, sending);
            measure_unlock_of_sender(receiving, sending);
        }
}

#endif
