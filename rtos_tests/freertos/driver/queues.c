/* Queues over the size of an item, and their creation over the length of the free list. */
#include <string.h>

#include "board.h"
#include "heap.h"
#include "helpers.h"

/* One byte beyond a word boundary, so that memcpy has to go byte by byte. */
#define PLACES 3u
static uint8_t storage[PLACES * ITEM_BYTES_MAX + 8] KERNEL_OBJECT __attribute__((aligned(8)));
static uint8_t sent[ITEM_BYTES_MAX + 8] CALLER_DATA __attribute__((aligned(8)));
static uint8_t received[ITEM_BYTES_MAX + 8] CALLER_DATA __attribute__((aligned(8)));
static uint8_t helpers_item[ITEM_BYTES_MAX + 8] CALLER_DATA __attribute__((aligned(8)));
static StaticQueue_t control KERNEL_OBJECT;

static void set_items(unsigned bytes, unsigned offset)
{
    static uint8_t other;

    /* What was sent before is not what is sent now. */
    other = (uint8_t)(other + 2);
    for (unsigned i = 0; i < bytes; i++) {
        sent[offset + i] = (uint8_t)(i + other);
        helpers_item[offset + i] = (uint8_t)(i + other + 1);
    }
    received[offset + bytes] = 0;
}

/* A queue of one item, so that every send and every receive wraps around its storage; or of three, of which
 * the first was taken already, so that no send to the back does, and no receive behind it. What the core does
 * faster is its own. */
static QueueHandle_t queue_that(int wraps, unsigned bytes, unsigned offset)
{
    QueueHandle_t queue;

    set_items(bytes, offset);
    queue = xQueueCreateStatic(wraps ? 1 : PLACES, bytes, storage + offset, &control);
    if (!wraps) {
        CHECK(xQueueSend(queue, helpers_item + offset, 0) == pdTRUE);
        CHECK(xQueueReceive(queue, received + offset, 0) == pdTRUE);
        received[offset + bytes] = 0;
    }
    return queue;
}

/* Room, nobody waits. */
static void measure_plain(unsigned bytes, unsigned offset, unsigned value, unsigned send_service,
                          unsigned receive_service, unsigned state)
{
    QueueHandle_t queue = queue_that(state == 0, bytes, offset);
    BaseType_t result;

    wcet_param(0, value);
    wcet_param(1, state);
    MEASURE(send_service, result = xQueueSend(queue, sent + offset, 0));
    CHECK(result == pdTRUE && uxQueueMessagesWaiting(queue) == 1);
    wcet_param(0, value);
    wcet_param(1, state);
    MEASURE(receive_service, result = xQueueReceive(queue, received + offset, 0));
    CHECK(result == pdTRUE && uxQueueMessagesWaiting(queue) == 0);
    CHECK(memcmp(sent + offset, received + offset, bytes) == 0);
    CHECK(received[offset + bytes] == 0);
}

static QueueHandle_t full_queue(int wraps, unsigned bytes)
{
    QueueHandle_t queue = queue_that(wraps, bytes, 1);

    for (unsigned i = 0; i < (wraps ? 1 : PLACES); i++)
        CHECK(xQueueSend(queue, sent + 1, 0) == pdTRUE);
    return queue;
}

/* A more urgent task waits on the other side; it is readied and runs before the call returns. */
static void measure_with_waiter(unsigned bytes, unsigned state, unsigned readying)
{
    QueueHandle_t queue = queue_that(state == 0, bytes, 1);
    BaseType_t result;

    helper_receive(0, queue, helpers_item + 1, portMAX_DELAY);
    wcet_param(0, bytes);
    wcet_param(1, state);
    MARK_READYING(2, readying);
    MEASURE(SERVICE_XQUEUESEND_WAITER, result = xQueueSend(queue, sent + 1, 0));
    CHECK(result == pdTRUE && !helper_busy(0) && helper_result(0) == pdTRUE);
    CHECK(memcmp(sent + 1, helpers_item + 1, bytes) == 0);

    queue = full_queue(state == 0, bytes);
    helper_send(0, queue, helpers_item + 1, portMAX_DELAY);
    wcet_param(0, bytes);
    wcet_param(1, state);
    MARK_READYING(2, readying);
    MEASURE(SERVICE_XQUEUERECEIVE_WAITER, result = xQueueReceive(queue, received + 1, 0));
    CHECK(result == pdTRUE && !helper_busy(0) && helper_result(0) == pdTRUE);
    CHECK(memcmp(sent + 1, received + 1, bytes) == 0);
    CHECK(uxQueueMessagesWaiting(queue) == (state == 0 ? 1 : PLACES));
}

#if DRIVER_WHOLE

static QueueHandle_t queue_of(unsigned bytes, unsigned offset)
{
    return queue_that(1, bytes, offset);
}

/* As queue_that, for a send to the front: of two places the last comes first. */
static QueueHandle_t queue_whose_front(int wraps, unsigned bytes)
{
    set_items(bytes, 1);
    return xQueueCreateStatic(wraps ? 1 : 2, bytes, storage + 1, &control);
}

static BaseType_t receive(void *queue)
{
    return xQueueReceive(queue, helpers_item + 1, portMAX_DELAY);
}

static BaseType_t peek(void *queue)
{
    return xQueuePeek(queue, helpers_item + 1, portMAX_DELAY);
}

/* Sends to the front and overwrites go to the place before the read position, which wraps around. What is
 * overwritten is there, or is not. */
static void measure_front(unsigned bytes, unsigned state)
{
    QueueHandle_t queue = queue_whose_front(state == 0, bytes);
    BaseType_t result;

    wcet_param(0, bytes);
    wcet_param(1, state);
    MEASURE(SERVICE_XQUEUESENDTOFRONT, result = xQueueSendToFront(queue, sent + 1, 0));
    CHECK(result == pdTRUE && uxQueueMessagesWaiting(queue) == 1);
    /* Of three items the second does not wrap around. */
    queue = full_queue(state == 0, bytes);
    wcet_param(0, bytes);
    wcet_param(1, state);
    MEASURE(SERVICE_XQUEUEPEEK, result = xQueuePeek(queue, received + 1, 0));
    CHECK(result == pdTRUE && uxQueueMessagesWaiting(queue) == (state == 0 ? 1 : PLACES));
    CHECK(memcmp(sent + 1, received + 1, bytes) == 0);
    /* There is an item, or none. */
    queue = queue_of(bytes, 1);
    if (state == 0)
        CHECK(xQueueSend(queue, sent + 1, 0) == pdTRUE);
    wcet_param(0, bytes);
    wcet_param(1, state);
    MEASURE(SERVICE_XQUEUEOVERWRITE, result = xQueueOverwrite(queue, helpers_item + 1));
    CHECK(result == pdTRUE && uxQueueMessagesWaiting(queue) == 1);
    CHECK(xQueueReceive(queue, received + 1, 0) == pdTRUE);
    CHECK(memcmp(helpers_item + 1, received + 1, bytes) == 0);

    queue = queue_whose_front(state == 0, bytes);
    helper_call(0, receive, queue);
    wcet_param(0, bytes);
    wcet_param(1, state);
    MEASURE(SERVICE_XQUEUESENDTOFRONT_WAITER, result = xQueueSendToFront(queue, sent + 1, 0));
    CHECK(result == pdTRUE && !helper_busy(0) && helper_result(0) == pdTRUE);
    CHECK(memcmp(sent + 1, helpers_item + 1, bytes) == 0);
}

static QueueHandle_t isr_queue;
static unsigned isr_bytes;
static unsigned isr_state;
static unsigned urgency; /* of the task that waits, for the caller too (helpers.h) */

static void lower_waiter(void)
{
    if (urgency == STAYS)
        vTaskPrioritySet(helper_handle(0), PRIORITY_CREATED);
}

/* It was readied; where it is less urgent, it has not run yet. */
static void check_went_on(void)
{
    CHECK(helper_busy(0) == (urgency == STAYS));
    if (urgency == STAYS) {
        CHECK(eTaskGetState(helper_handle(0)) == eReady);
        vTaskPrioritySet(helper_handle(0), helper_priority(0));
    }
    CHECK(!helper_busy(0) && helper_result(0) == pdTRUE);
}

/* Two tasks wait. The item that is sent readies the more urgent one, which does not run, because the
 * caller is more urgent still; then the other one is lifted above the caller, or is not. So the call finds an
 * item and a task that waits for it. */
static QueueHandle_t full_queue_with_waiter(int wraps, unsigned bytes)
{
    QueueHandle_t queue = queue_that(wraps, bytes, 1);

    helper_call(0, peek, queue);
    helper_call(1, peek, queue);
    vTaskPrioritySet(NULL, configMAX_PRIORITIES - 2);
    CHECK(xQueueSend(queue, sent + 1, 0) == pdTRUE);
    if (urgency != STAYS)
        vTaskPrioritySet(helper_handle(0), configMAX_PRIORITIES - 1);
    CHECK(helper_busy(0) && helper_busy(1) && eTaskGetState(helper_handle(0)) == eBlocked);
    return queue;
}

static void check_waiter(void)
{
    CHECK(helper_busy(0) == (urgency == STAYS) && helper_busy(1));
    CHECK(urgency != STAYS || eTaskGetState(helper_handle(0)) == eReady);
    vTaskPrioritySet(helper_handle(0), PRIORITY_DRIVER + 1);
    vTaskPrioritySet(NULL, PRIORITY_DRIVER);
    CHECK(!helper_busy(0) && !helper_busy(1) && helper_result(1) == pdTRUE);
}

static void overwrite_from_isr_with_waiter(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    BaseType_t result;

    wcet_param(0, isr_bytes);
    wcet_param(1, isr_state);
    wcet_param(2, urgency);
    MEASURE(SERVICE_XQUEUEOVERWRITEFROMISR_WAITER,
            result = xQueueOverwriteFromISR(isr_queue, sent + 1, told));
    CHECK(result == pdPASS && woken == (urgency == TOLD));
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

/* A task waits for an item that is there, or is not. */
static void measure_full_with_waiter(unsigned bytes, unsigned state)
{
    const unsigned peek_service = urgency ? SERVICE_XQUEUEPEEK_WAITER_LESS_URGENT
                                          : SERVICE_XQUEUEPEEK_WAITER;
    const unsigned overwrite_service = urgency ? SERVICE_XQUEUEOVERWRITE_WAITER_LESS_URGENT
                                               : SERVICE_XQUEUEOVERWRITE_WAITER;
    QueueHandle_t queue = full_queue_with_waiter(state == 0, bytes);
    BaseType_t result;

    wcet_param(0, bytes);
    wcet_param(1, state);
    MEASURE(peek_service, result = xQueuePeek(queue, received + 1, 0));
    CHECK(result == pdTRUE && memcmp(sent + 1, received + 1, bytes) == 0);
    check_waiter();

    if (state == 0) {
        queue = full_queue_with_waiter(1, bytes);
        wcet_param(0, bytes);
        wcet_param(1, state);
        MEASURE(overwrite_service, result = xQueueOverwrite(queue, sent + 1));
        CHECK(result == pdTRUE && uxQueueMessagesWaiting(queue) == 1);
        check_waiter();
    } else {
        queue = queue_of(bytes, 1);
        helper_call(0, receive, queue);
        lower_waiter();
        wcet_param(0, bytes);
        wcet_param(1, state);
        MEASURE(overwrite_service, result = xQueueOverwrite(queue, sent + 1));
        CHECK(result == pdTRUE);
        check_went_on();
    }
}

static void measure_overwrite_from_isr(unsigned bytes, unsigned state)
{
    isr_bytes = bytes;
    isr_state = state;
    if (state == 0) {
        isr_queue = full_queue_with_waiter(1, bytes);
        in_interrupt(overwrite_from_isr_with_waiter);
        CHECK(uxQueueMessagesWaiting(isr_queue) == 1);
        check_waiter();
    } else {
        isr_queue = queue_of(bytes, 1);
        helper_call(0, receive, isr_queue);
        lower_waiter();
        in_interrupt(overwrite_from_isr_with_waiter);
        check_went_on();
    }
}

/* Room, then an item; nobody waits. */
static void plain_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    wcet_param(0, isr_bytes);
    wcet_param(1, isr_state);
    MEASURE(SERVICE_XQUEUESENDFROMISR, result = xQueueSendFromISR(isr_queue, sent + 1, &woken));
    CHECK(result == pdPASS);
    wcet_param(0, isr_bytes);
    wcet_param(1, isr_state);
    MEASURE(SERVICE_XQUEUEPEEKFROMISR, result = xQueuePeekFromISR(isr_queue, received + 1));
    CHECK(result == pdPASS && memcmp(sent + 1, received + 1, isr_bytes) == 0);
    received[1] = (uint8_t)~sent[1];
    wcet_param(0, isr_bytes);
    wcet_param(1, isr_state);
    MEASURE(SERVICE_XQUEUERECEIVEFROMISR,
            result = xQueueReceiveFromISR(isr_queue, received + 1, &woken));
    CHECK(result == pdPASS && memcmp(sent + 1, received + 1, isr_bytes) == 0);
    CHECK(woken == pdFALSE && uxQueueMessagesWaitingFromISR(isr_queue) == 0);
}

static void send_from_isr_to_waiter(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    BaseType_t result;

    wcet_param(0, isr_bytes);
    wcet_param(1, isr_state);
    wcet_param(2, urgency);
    MEASURE(SERVICE_XQUEUESENDFROMISR_WAITER,
            result = xQueueSendFromISR(isr_queue, sent + 1, told));
    CHECK(result == pdPASS && woken == (urgency == TOLD));
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

static void receive_from_isr_with_waiter(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    BaseType_t result;

    wcet_param(0, isr_bytes);
    wcet_param(1, isr_state);
    wcet_param(2, urgency);
    MEASURE(SERVICE_XQUEUERECEIVEFROMISR_WAITER,
            result = xQueueReceiveFromISR(isr_queue, received + 1, told));
    CHECK(result == pdPASS && woken == (urgency == TOLD));
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

static void front_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    wcet_param(0, isr_bytes);
    wcet_param(1, isr_state);
    MEASURE(SERVICE_XQUEUESENDTOFRONTFROMISR,
            result = xQueueSendToFrontFromISR(isr_queue, helpers_item + 1, &woken));
    CHECK(result == pdPASS && woken == pdFALSE);
}

/* An item is there, or none. */
static void overwrite_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    if (isr_state == 0)
        CHECK(xQueueSendToFrontFromISR(isr_queue, helpers_item + 1, &woken) == pdPASS);
    wcet_param(0, isr_bytes);
    wcet_param(1, isr_state);
    MEASURE(SERVICE_XQUEUEOVERWRITEFROMISR,
            result = xQueueOverwriteFromISR(isr_queue, sent + 1, &woken));
    CHECK(result == pdPASS && woken == pdFALSE);
}

static void front_from_isr_to_waiter(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    BaseType_t result;

    wcet_param(0, isr_bytes);
    wcet_param(1, isr_state);
    wcet_param(2, urgency);
    MEASURE(SERVICE_XQUEUESENDTOFRONTFROMISR_WAITER,
            result = xQueueSendToFrontFromISR(isr_queue, sent + 1, told));
    CHECK(result == pdPASS && woken == (urgency == TOLD));
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

static void measure_from_isr(unsigned bytes, unsigned state)
{
    isr_bytes = bytes;
    isr_state = state;
    isr_queue = queue_that(state == 0, bytes, 1);
    in_interrupt(plain_from_isr);

    isr_queue = queue_whose_front(state == 0, bytes);
    in_interrupt(front_from_isr);
    CHECK(xQueueReceive(isr_queue, received + 1, 0) == pdTRUE);
    CHECK(memcmp(helpers_item + 1, received + 1, bytes) == 0);
    isr_queue = queue_of(bytes, 1);
    in_interrupt(overwrite_from_isr);
    CHECK(xQueueReceive(isr_queue, received + 1, 0) == pdTRUE);
    CHECK(memcmp(sent + 1, received + 1, bytes) == 0);
}

static void measure_from_isr_with_waiter(unsigned bytes, unsigned state)
{
    isr_bytes = bytes;
    isr_state = state;
    isr_queue = queue_whose_front(state == 0, bytes);
    helper_call(0, receive, isr_queue);
    lower_waiter();
    in_interrupt(front_from_isr_to_waiter);
    check_went_on();
    CHECK(memcmp(sent + 1, helpers_item + 1, bytes) == 0);

    isr_queue = queue_that(state == 0, bytes, 1);
    helper_call(0, receive, isr_queue);
    lower_waiter();
    in_interrupt(send_from_isr_to_waiter);
    check_went_on();
    CHECK(memcmp(sent + 1, helpers_item + 1, bytes) == 0);

    isr_queue = full_queue(state == 0, bytes);
    helper_send(0, isr_queue, helpers_item + 1, portMAX_DELAY);
    lower_waiter();
    in_interrupt(receive_from_isr_with_waiter);
    check_went_on();
    CHECK(memcmp(sent + 1, received + 1, bytes) == 0);
}

/* As measure_with_waiter and measure_front: the task that waits is readied, but the caller goes on. */
static void measure_with_less_urgent(unsigned bytes, unsigned state)
{
    QueueHandle_t queue = queue_that(state == 0, bytes, 1);
    BaseType_t result;

    helper_call(0, receive, queue);
    lower_waiter();
    wcet_param(0, bytes);
    wcet_param(1, state);
    MEASURE(SERVICE_XQUEUESEND_WAITER_LESS_URGENT, result = xQueueSend(queue, sent + 1, 0));
    CHECK(result == pdTRUE && uxQueueMessagesWaiting(queue) == 1);
    check_went_on();
    CHECK(memcmp(sent + 1, helpers_item + 1, bytes) == 0);

    queue = queue_whose_front(state == 0, bytes);
    helper_call(0, receive, queue);
    lower_waiter();
    wcet_param(0, bytes);
    wcet_param(1, state);
    MEASURE(SERVICE_XQUEUESENDTOFRONT_WAITER_LESS_URGENT,
            result = xQueueSendToFront(queue, sent + 1, 0));
    CHECK(result == pdTRUE && uxQueueMessagesWaiting(queue) == 1);
    check_went_on();
    CHECK(memcmp(sent + 1, helpers_item + 1, bytes) == 0);

    queue = full_queue(state == 0, bytes);
    helper_send(0, queue, helpers_item + 1, portMAX_DELAY);
    lower_waiter();
    wcet_param(0, bytes);
    wcet_param(1, state);
    MEASURE(SERVICE_XQUEUERECEIVE_WAITER_LESS_URGENT,
            result = xQueueReceive(queue, received + 1, 0));
    CHECK(result == pdTRUE && memcmp(sent + 1, received + 1, bytes) == 0);
    CHECK(uxQueueMessagesWaiting(queue) == (state == 0 ? 0 : PLACES - 1));
    check_went_on();
    CHECK(uxQueueMessagesWaiting(queue) == (state == 0 ? 1 : PLACES));
}

static void measure_reset(void)
{
    QueueHandle_t queue;
    BaseType_t result;
    UBaseType_t count;

    set_items(4, 1);
    MEASURE(SERVICE_XQUEUECREATESTATIC, queue = xQueueCreateStatic(1, 4, storage, &control));
    CHECK(queue != NULL);
    CHECK(xQueueSend(queue, sent + 1, 0) == pdTRUE);
    MEASURE(SERVICE_UXQUEUEMESSAGESWAITING, count = uxQueueMessagesWaiting(queue));
    CHECK(count == 1);
    MEASURE(SERVICE_UXQUEUESPACESAVAILABLE, count = uxQueueSpacesAvailable(queue));
    CHECK(count == 0);
    MEASURE(SERVICE_XQUEUERESET, result = xQueueReset(queue));
    CHECK(result == pdPASS && uxQueueMessagesWaiting(queue) == 0);

    helpers_start(1);
    CHECK(xQueueSend(queue, sent + 1, 0) == pdTRUE);
    helper_send(0, queue, helpers_item + 1, portMAX_DELAY);
    MEASURE(SERVICE_XQUEUERESET_WAITER, result = xQueueReset(queue));
    CHECK(result == pdPASS && !helper_busy(0) && uxQueueMessagesWaiting(queue) == 1);
    helper_send(0, queue, helpers_item + 1, portMAX_DELAY);
    vTaskPrioritySet(helper_handle(0), PRIORITY_CREATED);
    MEASURE(SERVICE_XQUEUERESET_WAITER_LESS_URGENT, result = xQueueReset(queue));
    CHECK(result == pdPASS && helper_busy(0));
    vTaskPrioritySet(helper_handle(0), helper_priority(0));
    CHECK(!helper_busy(0) && uxQueueMessagesWaiting(queue) == 1);
    helpers_stop();
}

/* Worst: as for vPortFree. */
static void measure_delete(void)
{
    for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++) {
        struct holes holes;
        QueueHandle_t queue;

        holes_take(&holes, n, 0);
        queue = xQueueCreate(3, 7);
        CHECK((char *)queue > (char *)holes.small[n - 1]);
        holes_open(&holes);
        CHECK(heap_free_blocks() == n + 1);
        wcet_param(0, n);
        MEASURE(SERVICE_VQUEUEDELETE, vQueueDelete(queue));
        CHECK(heap_free_blocks() == n);
        holes_close(&holes);
        CHECK(heap_free_blocks() == 1);
    }
}

#endif

/* Worst: as for pvPortMalloc. */
static void measure_create(void)
{
    for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++) {
        struct holes holes;
        QueueHandle_t queue;

        holes_take(&holes, n - 1, 1);
        holes_open(&holes);
        /* 21 bytes, then such that one is a whole number of the heap's units. */
        for (unsigned both = 0; both < 5 * HEAP_MINIMA; both++) {
            const unsigned state = both / HEAP_MINIMA, kept = both % HEAP_MINIMA;
            const UBaseType_t items = state == 0 ? 3 : 4 + state;

            heap_minimum(kept);
            CHECK(heap_free_blocks() == n);
            wcet_param(0, n);
            wcet_param(1, state);
            wcet_param(2, kept);
            MEASURE(SERVICE_XQUEUECREATE, queue = xQueueCreate(items, state == 0 ? 7 : 4));
            CHECK(queue != NULL && heap_free_blocks() == n);
            CHECK(n == 1 || (char *)queue > (char *)holes.guard[n - 2]);
            CHECK((xPortGetMinimumEverFreeHeapSize() < xPortGetFreeHeapSize()) == kept);
            vQueueDelete(queue);
        }
        holes_close(&holes);
        CHECK(heap_free_blocks() == 1);
    }
}

void measure_queues(void)
{
    for (unsigned state = 0; state < 2; state++) {
        for (unsigned bytes = 1; bytes <= ITEM_BYTES_MAX; bytes++)
            if (few_bytes(bytes, state))
                measure_plain(bytes, 1, bytes, SERVICE_XQUEUESEND, SERVICE_XQUEUERECEIVE, state);
        for (unsigned words = 1; words <= ITEM_BYTES_MAX / 4; words++)
            measure_plain(4 * words, 0, words, SERVICE_XQUEUESEND_ALIGNED,
                          SERVICE_XQUEUERECEIVE_ALIGNED, state);
        for (unsigned readying = 0; readying < READYING_STATES; readying++) {
            helpers_start_readying(1, readying);
            for (unsigned bytes = 1; bytes <= ITEM_BYTES_MAX; bytes++)
                if (few_bytes(bytes, state + readying))
                    measure_with_waiter(bytes, state, readying);
            helpers_stop();
        }
    }
    measure_create();
#if DRIVER_WHOLE
    measure_reset();
    measure_delete();
    helpers_start(2);
    for (unsigned bytes = 1; bytes <= ITEM_BYTES_MAX; bytes++)
        for (unsigned state = 0; state < 2 && few_bytes(bytes, state); state++) {
            measure_front(bytes, state);
            measure_from_isr(bytes, state);
            for (urgency = 0; urgency < ISR_STATES; urgency++) {
                if (urgency < NOT_TOLD)
                    measure_full_with_waiter(bytes, state);
                if (!few_bytes(bytes, urgency))
                    continue;
                measure_from_isr_with_waiter(bytes, state);
                measure_overwrite_from_isr(bytes, state);
            }
            urgency = STAYS;
            measure_with_less_urgent(bytes, state);
        }
    helpers_stop();
#endif
}
