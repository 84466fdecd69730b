/* Queue sets: what belongs to them, and sends to their members. */
#include "driver.h"

#if configUSE_QUEUE_SETS == 1

#include <string.h>

#include "board.h"
#include "heap.h"
#include "helpers.h"
#include "semphr.h"

/* Items as in queues.c: beside a word boundary. The set has one place, so that it wraps around. */
static uint8_t storage[ITEM_BYTES_MAX + 8] KERNEL_OBJECT __attribute__((aligned(8)));
static uint8_t sent[ITEM_BYTES_MAX + 8] CALLER_DATA __attribute__((aligned(8)));
static uint8_t received[ITEM_BYTES_MAX + 8] CALLER_DATA __attribute__((aligned(8)));
static StaticQueue_t control KERNEL_OBJECT;
static StaticQueue_t set_control KERNEL_OBJECT;
static uint8_t set_storage[sizeof(void *)] KERNEL_OBJECT __attribute__((aligned(8)));
static QueueSetHandle_t set;
static QueueHandle_t queue;
static QueueSetMemberHandle_t selected;
static unsigned length;

static BaseType_t selects(void *unused)
{
    (void)unused;
    selected = xQueueSelectFromSet(set, portMAX_DELAY);
    return pdTRUE;
}

/* An empty set with an empty queue in it. */
static void set_with_queue(unsigned bytes)
{
    static uint8_t other;

    other++;
    length = bytes;
    for (unsigned i = 0; i < bytes; i++)
        sent[1 + i] = (uint8_t)(i + other);
    set = xQueueCreateSetStatic(1, set_storage, &set_control);
    queue = xQueueCreateStatic(1, bytes, storage + 1, &control);
    CHECK(set != NULL && queue != NULL);
    CHECK(xQueueAddToSet(queue, set) == pdPASS);
    selected = NULL;
}

/* The item is there, and what was selected is the queue. */
static void check_sent(void)
{
    CHECK(selected == queue);
    CHECK(xQueueReceive(queue, received + 1, 0) == pdTRUE);
    CHECK(memcmp(sent + 1, received + 1, length) == 0);
}

static void measure_send(unsigned bytes)
{
    BaseType_t result;

    set_with_queue(bytes);
    wcet_param(0, bytes);
    MEASURE(SERVICE_XQUEUESEND_SET, result = xQueueSend(queue, sent + 1, 0));
    CHECK(result == pdTRUE);
    selected = xQueueSelectFromSet(set, 0);
    check_sent();

    helper_call(0, selects, NULL);
    wcet_param(0, bytes);
    MEASURE(SERVICE_XQUEUESEND_SET_WAITER, result = xQueueSend(queue, sent + 1, 0));
    CHECK(result == pdTRUE && !helper_busy(0));
    check_sent();
}

static void send_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    wcet_param(0, length);
    MEASURE(SERVICE_XQUEUESENDFROMISR_SET_WAITER,
            result = xQueueSendFromISR(queue, sent + 1, &woken));
    CHECK(result == pdPASS && woken == pdTRUE);
    BOARD_YIELD_FROM_ISR(woken);
}

static void select_from_isr(void)
{
    MEASURE(SERVICE_XQUEUESELECTFROMSETFROMISR, selected = xQueueSelectFromSetFromISR(set));
}

static void measure_send_from_isr(unsigned bytes)
{
    set_with_queue(bytes);
    helper_call(0, selects, NULL);
    driver_on_interrupt = send_from_isr;
    board_interrupt();
    driver_on_interrupt = NULL;
    CHECK(!helper_busy(0));
    check_sent();
}

static void measure_select(void)
{
    BaseType_t result;

    set_with_queue(4);
    CHECK(xQueueSend(queue, sent + 1, 0) == pdTRUE);
    MEASURE(SERVICE_XQUEUESELECTFROMSET, selected = xQueueSelectFromSet(set, 0));
    check_sent();
    CHECK(xQueueSend(queue, sent + 1, 0) == pdTRUE);
    driver_on_interrupt = select_from_isr;
    board_interrupt();
    driver_on_interrupt = NULL;
    check_sent();
    MEASURE(SERVICE_XQUEUEREMOVEFROMSET, result = xQueueRemoveFromSet(queue, set));
    CHECK(result == pdPASS);
    MEASURE(SERVICE_XQUEUEADDTOSET, result = xQueueAddToSet(queue, set));
    CHECK(result == pdPASS);
}

static void measure_semaphore(void)
{
    BaseType_t result;

    set = xQueueCreateSetStatic(1, set_storage, &set_control);
    queue = xSemaphoreCreateBinaryStatic(&control);
    CHECK(xQueueAddToSet(queue, set) == pdPASS);
    helper_call(0, selects, NULL);
    MEASURE(SERVICE_XSEMAPHOREGIVE_SET_WAITER, result = xSemaphoreGive(queue));
    CHECK(result == pdTRUE && !helper_busy(0) && selected == queue);
    CHECK(xSemaphoreTake(queue, 0) == pdTRUE);
}

/* Worst: as for pvPortMalloc. */
static void measure_create(void)
{
    MEASURE(SERVICE_XQUEUECREATESETSTATIC,
            set = xQueueCreateSetStatic(1, set_storage, &set_control));
    CHECK(set != NULL);
    for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++) {
        struct holes holes;

        holes_take(&holes, n - 1, 1);
        holes_open(&holes);
        CHECK(heap_free_blocks() == n);
        xPortResetHeapMinimumEverFreeHeapSize();
        wcet_param(0, n);
        MEASURE(SERVICE_XQUEUECREATESET, set = xQueueCreateSet(7));
        CHECK(set != NULL && heap_free_blocks() == n);
        CHECK(n == 1 || (char *)set > (char *)holes.guard[n - 2]);
        vQueueDelete(set);
        holes_close(&holes);
        CHECK(heap_free_blocks() == 1);
    }
}

void measure_sets(void)
{
    measure_create();
    helpers_start(1);
    measure_select();
    for (unsigned bytes = 1; bytes <= ITEM_BYTES_MAX; bytes++) {
        measure_send(bytes);
        measure_send_from_isr(bytes);
    }
    measure_semaphore();
    helpers_stop();
}

#endif
