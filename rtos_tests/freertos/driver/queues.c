/* Queues over the size of an item, and their creation over the length of the free list. */
#include <string.h>

#include "heap.h"
#include "helpers.h"

/* One byte beyond a word boundary, so that memcpy has to go byte by byte. */
static uint8_t storage[ITEM_BYTES_MAX + 8] KERNEL_OBJECT __attribute__((aligned(8)));
static uint8_t sent[ITEM_BYTES_MAX + 8] CALLER_DATA __attribute__((aligned(8)));
static uint8_t received[ITEM_BYTES_MAX + 8] CALLER_DATA __attribute__((aligned(8)));
static uint8_t helpers_item[ITEM_BYTES_MAX + 8] CALLER_DATA __attribute__((aligned(8)));
static StaticQueue_t control KERNEL_OBJECT;

static void set_items(unsigned offset)
{
    for (unsigned i = 0; i < ITEM_BYTES_MAX; i++) {
        sent[offset + i] = (uint8_t)(i + 1);
        helpers_item[offset + i] = (uint8_t)~i;
        received[offset + i] = 0;
    }
}

/* A queue of one item, so that every send and every receive wraps around its storage. */
static QueueHandle_t queue_of(unsigned bytes, unsigned offset)
{
    set_items(offset);
    return xQueueCreateStatic(1, bytes, storage + offset, &control);
}

/* Room, nobody waits. */
static void measure_plain(unsigned bytes, unsigned offset, unsigned value, unsigned send_service,
                          unsigned receive_service)
{
    QueueHandle_t queue = queue_of(bytes, offset);
    BaseType_t result;

    wcet_param(0, value);
    MEASURE(send_service, result = xQueueSend(queue, sent + offset, 0));
    CHECK(result == pdTRUE && uxQueueMessagesWaiting(queue) == 1);
    wcet_param(0, value);
    MEASURE(receive_service, result = xQueueReceive(queue, received + offset, 0));
    CHECK(result == pdTRUE && uxQueueMessagesWaiting(queue) == 0);
    CHECK(memcmp(sent + offset, received + offset, bytes) == 0);
    CHECK(bytes == ITEM_BYTES_MAX || received[offset + bytes] == 0);
}

/* A more urgent task waits on the other side; it is readied and runs before the call returns. */
static void measure_with_waiter(unsigned bytes)
{
    QueueHandle_t queue = queue_of(bytes, 1);
    BaseType_t result;

    helper_receive(0, queue, helpers_item + 1, portMAX_DELAY);
    wcet_param(0, bytes);
    MEASURE(SERVICE_XQUEUESEND_WAITER, result = xQueueSend(queue, sent + 1, 0));
    CHECK(result == pdTRUE && !helper_busy(0) && helper_result(0) == pdTRUE);
    CHECK(memcmp(sent + 1, helpers_item + 1, bytes) == 0);

    queue = queue_of(bytes, 1);
    CHECK(xQueueSend(queue, sent + 1, 0) == pdTRUE);
    helper_send(0, queue, helpers_item + 1, portMAX_DELAY);
    wcet_param(0, bytes);
    MEASURE(SERVICE_XQUEUERECEIVE_WAITER, result = xQueueReceive(queue, received + 1, 0));
    CHECK(result == pdTRUE && !helper_busy(0) && helper_result(0) == pdTRUE);
    CHECK(memcmp(sent + 1, received + 1, bytes) == 0);
    CHECK(uxQueueMessagesWaiting(queue) == 1);
}

/* Worst: as for pvPortMalloc. */
static void measure_create(void)
{
    for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++) {
        struct holes holes;
        QueueHandle_t queue;

        holes_take(&holes, n - 1, 1);
        holes_open(&holes);
        CHECK(heap_free_blocks() == n);
        xPortResetHeapMinimumEverFreeHeapSize();
        wcet_param(0, n);
        MEASURE(SERVICE_XQUEUECREATE, queue = xQueueCreate(3, 7));
        CHECK(queue != NULL && heap_free_blocks() == n);
        CHECK(n == 1 || (char *)queue > (char *)holes.guard[n - 2]);
        CHECK(xPortGetMinimumEverFreeHeapSize() == xPortGetFreeHeapSize());
        vQueueDelete(queue);
        holes_close(&holes);
        CHECK(heap_free_blocks() == 1);
    }
}

void measure_queues(void)
{
    for (unsigned bytes = 1; bytes <= ITEM_BYTES_MAX; bytes++)
        measure_plain(bytes, 1, bytes, SERVICE_XQUEUESEND, SERVICE_XQUEUERECEIVE);
    for (unsigned words = 1; words <= ITEM_BYTES_MAX / 4; words++)
        measure_plain(4 * words, 0, words, SERVICE_XQUEUESEND_ALIGNED,
                      SERVICE_XQUEUERECEIVE_ALIGNED);
    helpers_start(1);
    for (unsigned bytes = 1; bytes <= ITEM_BYTES_MAX; bytes++)
        measure_with_waiter(bytes);
    helpers_stop();
    measure_create();
}
