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

/* Larger sets, and tasks that wait for them. */
#define PLACES 6u
#define LIMIT 50u
#define WAITERS_AT_ONCE 6u
#define IN_VAIN 2u
static uint8_t places_storage[PLACES * sizeof(void *)] KERNEL_OBJECT __attribute__((aligned(8)));
static unsigned times;

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

/* The first state, or the same where the queue holds one item more than what is sent, which the set
 * was asked for before. Position: where what is sent wraps around. */
static void set_with_items(unsigned bytes, unsigned state, BaseType_t position)
{
    static uint8_t two[2 * ITEM_BYTES_MAX + 8] KERNEL_OBJECT __attribute__((aligned(8)));

    set_with_queue(bytes);
    if (state == 0)
        return;
    CHECK(xQueueRemoveFromSet(queue, set) == pdPASS);
    queue = xQueueCreateStatic(2, bytes, two + 1, &control);
    CHECK(xQueueAddToSet(queue, set) == pdPASS);
    CHECK(xQueueGenericSend(queue, sent + 1, 0, position) == pdTRUE);
    CHECK(xQueueSelectFromSet(set, 0) == queue);
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

    for (unsigned state = 0; state < MORE_STATES(2); state++) {
        set_with_items(bytes, state, queueSEND_TO_BACK);
        wcet_param(0, bytes);
        MEASURE(SERVICE_XQUEUESEND_SET, result = xQueueSend(queue, sent + 1, 0));
        CHECK(result == pdTRUE);
        selected = xQueueSelectFromSet(set, 0);
        check_sent();

        set_with_items(bytes, state, queueSEND_TO_BACK);
        helper_call(0, selects, NULL);
        wcet_param(0, bytes);
        MEASURE(SERVICE_XQUEUESEND_SET_WAITER, result = xQueueSend(queue, sent + 1, 0));
        CHECK(result == pdTRUE && !helper_busy(0));
        check_sent();

        set_with_items(bytes, state, queueSEND_TO_FRONT);
        helper_call(0, selects, NULL);
        wcet_param(0, bytes);
        MEASURE(SERVICE_XQUEUESENDTOFRONT_SET_WAITER,
                result = xQueueSendToFront(queue, sent + 1, 0));
        CHECK(result == pdTRUE && !helper_busy(0));
        check_sent();
    }

    /* A queue that holds an item has told the set already. */
    set_with_queue(bytes);
    helper_call(0, selects, NULL);
    wcet_param(0, bytes);
    MEASURE(SERVICE_XQUEUEOVERWRITE_SET_WAITER, result = xQueueOverwrite(queue, sent + 1));
    CHECK(result == pdTRUE && !helper_busy(0));
    check_sent();
}

static void send_plain_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    wcet_param(0, length);
    MEASURE(SERVICE_XQUEUESENDFROMISR_SET, result = xQueueSendFromISR(queue, sent + 1, &woken));
    CHECK(result == pdPASS && woken == pdFALSE);
}

static void send_to_front_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    wcet_param(0, length);
    MEASURE(SERVICE_XQUEUESENDTOFRONTFROMISR_SET_WAITER,
            result = xQueueSendToFrontFromISR(queue, sent + 1, &woken));
    CHECK(result == pdPASS && woken == pdTRUE);
    BOARD_YIELD_FROM_ISR(woken);
}

static void overwrite_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    wcet_param(0, length);
    MEASURE(SERVICE_XQUEUEOVERWRITEFROMISR_SET_WAITER,
            result = xQueueOverwriteFromISR(queue, sent + 1, &woken));
    CHECK(result == pdPASS && woken == pdTRUE);
    BOARD_YIELD_FROM_ISR(woken);
}

static void give_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    MEASURE(SERVICE_XSEMAPHOREGIVEFROMISR_SET_WAITER,
            result = xSemaphoreGiveFromISR(queue, &woken));
    CHECK(result == pdPASS && woken == pdTRUE);
    BOARD_YIELD_FROM_ISR(woken);
}

static void give_plain_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    MEASURE(SERVICE_XSEMAPHOREGIVEFROMISR_SET, result = xSemaphoreGiveFromISR(queue, &woken));
    CHECK(result == pdPASS && woken == pdFALSE);
}

static void in_interrupt(void (*function)(void))
{
    driver_on_interrupt = function;
    board_interrupt();
    driver_on_interrupt = NULL;
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
    for (unsigned state = 0; state < MORE_STATES(2); state++) {
        set_with_items(bytes, state, queueSEND_TO_BACK);
        in_interrupt(send_plain_from_isr);
        selected = xQueueSelectFromSet(set, 0);
        check_sent();
        set_with_items(bytes, state, queueSEND_TO_BACK);
        helper_call(0, selects, NULL);
        in_interrupt(send_from_isr);
        CHECK(!helper_busy(0));
        check_sent();
        set_with_items(bytes, state, queueSEND_TO_FRONT);
        helper_call(0, selects, NULL);
        in_interrupt(send_to_front_from_isr);
        CHECK(!helper_busy(0));
        check_sent();
    }
    set_with_queue(bytes);
    helper_call(0, selects, NULL);
    in_interrupt(overwrite_from_isr);
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
    in_interrupt(select_from_isr);
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

    selected = NULL;
    helper_call(0, selects, NULL);
    in_interrupt(give_from_isr);
    CHECK(!helper_busy(0) && selected == queue && xSemaphoreTake(queue, 0) == pdTRUE);

    MEASURE(SERVICE_XSEMAPHOREGIVE_SET, result = xSemaphoreGive(queue));
    CHECK(result == pdTRUE && xQueueSelectFromSet(set, 0) == queue);
    CHECK(xSemaphoreTake(queue, 0) == pdTRUE);

    in_interrupt(give_plain_from_isr);
    CHECK(xQueueSelectFromSet(set, 0) == queue && xSemaphoreTake(queue, 0) == pdTRUE);
}

/* ---- waiting for a set ------------------------------------------------------------------------ */

static BaseType_t sends(void *unused)
{
    (void)unused;
    vTaskDelay(1);
    for (unsigned i = 0; i < times; i++)
        CHECK(xQueueSend(queue, sent, 0) == pdTRUE);
    return pdPASS;
}

/* Worst: as for xQueueReceive that blocks. Nobody can wait to send to a set. The set has one place: the
 * tasks that wait before the caller take what comes at once. */
static void measure_select_blocks(unsigned delayed, unsigned waiting)
{
    QueueSetMemberHandle_t member;

    set = xQueueCreateSetStatic(1, set_storage, &set_control);
    queue = xQueueCreateStatic(WAITERS_AT_ONCE + 1, 4, storage, &control);
    CHECK(xQueueAddToSet(queue, set) == pdPASS);
    times = waiting + 1;
    helpers_start(delayed + waiting);
    for (unsigned i = delayed; i < delayed + waiting; i++)
        helper_call(i, selects, NULL);
    for (unsigned i = 1; i < delayed; i++)
        helper_delay(i, LIMIT);
    helper_call(0, sends, NULL);
    wcet_param(0, delayed);
    wcet_param(1, waiting);
    MEASURE(SERVICE_XQUEUESELECTFROMSET_BLOCKS, member = xQueueSelectFromSet(set, LIMIT));
    CHECK(member == queue && uxQueueMessagesWaiting(queue) == times);
    for (unsigned i = 0; i < delayed + waiting; i++)
        CHECK(helper_busy(i) == (i > 0 && i < delayed));
    helpers_stop();
}

/* When the caller's time is over, but before it goes on, the tick count wraps around. */
static BaseType_t lets_clock_wrap(void *unused)
{
    (void)unused;
    vTaskDelay(IN_VAIN);
    let_clock_wrap();
    return pdPASS;
}

static void measure_select_in_vain(unsigned delayed, unsigned waiting)
{
    QueueSetMemberHandle_t member;

    set = xQueueCreateSetStatic(1, set_storage, &set_control);
    helpers_start(delayed + waiting);
    for (unsigned i = delayed; i < delayed + waiting; i++)
        helper_call(i, selects, NULL);
    clock_wraps_in(IN_VAIN + 2);
    for (unsigned i = 1; i < delayed; i++)
        helper_delay(i, IN_VAIN);
    helper_call(0, lets_clock_wrap, NULL);
    wcet_param(0, delayed);
    wcet_param(1, waiting);
    MEASURE(SERVICE_XQUEUESELECTFROMSET_TIMES_OUT, member = xQueueSelectFromSet(set, IN_VAIN));
    CHECK(member == NULL);
    helpers_stop();
    clock_far_from_wrap();
}

/* ---- waiting to send to a member --------------------------------------------------------------- */

static BaseType_t sends_and_waits(void *unused)
{
    (void)unused;
    return xQueueSend(queue, received + 1, portMAX_DELAY);
}

/* The last place is for the caller. Then the task waits for the set: the caller readies it. */
static BaseType_t makes_room(void *unused)
{
    (void)unused;
    vTaskDelay(1);
    for (unsigned i = 0; i < times; i++) {
        CHECK(xQueueReceive(queue, received + 1, 0) == pdTRUE);
        if (i + 1 < times)
            CHECK(xQueueSelectFromSet(set, 0) == queue);
    }
    selected = xQueueSelectFromSet(set, portMAX_DELAY);
    return pdPASS;
}

/* Worst: as for xQueueSend that blocks. */
static void measure_send_blocks(unsigned bytes, unsigned delayed, unsigned waiting)
{
    BaseType_t result;

    set_with_queue(bytes);
    CHECK(xQueueSend(queue, sent + 1, 0) == pdTRUE && xQueueSelectFromSet(set, 0) == queue);
    times = waiting + 1;
    helpers_start(delayed + waiting);
    for (unsigned i = delayed; i < delayed + waiting; i++)
        helper_call(i, sends_and_waits, NULL);
    for (unsigned i = 1; i < delayed; i++)
        helper_delay(i, LIMIT);
    helper_call(0, makes_room, NULL);
    wcet_param(0, bytes);
    wcet_param(1, delayed);
    wcet_param(2, waiting);
    MEASURE(SERVICE_XQUEUESEND_SET_BLOCKS, result = xQueueSend(queue, sent + 1, LIMIT));
    CHECK(result == pdTRUE && !helper_busy(0));
    check_sent();
    for (unsigned i = 1; i < delayed + waiting; i++)
        CHECK(helper_busy(i) == (i < delayed));
    helpers_stop();
}

/* ---- a locked member, as in locked.c ------------------------------------------------------------ */

static BaseType_t selects_and_receives(void *unused)
{
    uint32_t item;

    (void)unused;
    CHECK(xQueueSelectFromSet(set, portMAX_DELAY) == queue);
    /* The first one gets it. */
    (void)xQueueReceive(queue, &item, 0);
    return pdTRUE;
}

/* Worst: K more urgent tasks wait for the set, which is told K times and wraps around at the first. The
 * caller waits to send and is readied too; more was received than there are tasks that send. (Of those,
 * R more would cost what they cost in queue_unlock.) */
static void measure_unlock(unsigned events)
{
    BaseType_t result;

    set = xQueueCreateSetStatic(PLACES, places_storage, &set_control);
    queue = xQueueCreateStatic(1, 4, storage, &control);
    CHECK(xQueueAddToSet(queue, set) == pdPASS);
    for (unsigned i = 0; i < PLACES - 1; i++) {
        if (i > 0)
            CHECK(xQueueReceive(queue, received, 0) == pdTRUE);
        CHECK(xQueueSend(queue, sent, 0) == pdTRUE);
        CHECK(xQueueSelectFromSet(set, 0) == queue);
    }
    CHECK((uint8_t *)set_control.pvDummy1[1] == places_storage + (PLACES - 1) * sizeof(void *));
    helpers_start(events);
    for (unsigned i = 0; i < events; i++)
        helper_call(i, selects_and_receives, NULL);
    control.ucDummy5[0] = 2;
    control.ucDummy5[1] = (uint8_t)events;
    wcet_param(0, events);
    MEASURE(SERVICE_QUEUE_UNLOCK_SET, result = xQueueSend(queue, sent, LIMIT));
    CHECK(result == pdTRUE && control.ucDummy5[0] == 0xff && control.ucDummy5[1] == 0xff);
    for (unsigned i = 0; i < events; i++)
        CHECK(!helper_busy(i));
    helpers_stop();
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
        /* One of the sizes is a whole number of the heap's units. */
        for (unsigned state = 0; state < STATES(4); state++) {
            CHECK(heap_free_blocks() == n);
            xPortResetHeapMinimumEverFreeHeapSize();
            wcet_param(0, n);
            MEASURE(SERVICE_XQUEUECREATESET, set = xQueueCreateSet(8 + state));
            CHECK(set != NULL && heap_free_blocks() == n);
            CHECK(n == 1 || (char *)set > (char *)holes.guard[n - 2]);
            vQueueDelete(set);
        }
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
    for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++)
        for (unsigned waiting = 1; waiting <= WAITERS_AT_ONCE; waiting++)
            if (swept(STREAM_BYTES_MIN, delayed, waiting))
                measure_select_blocks(delayed, waiting);
    for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++)
        for (unsigned waiting = 0; waiting <= WAITERS_AT_ONCE; waiting++)
            if (swept(STREAM_BYTES_MIN, delayed, waiting))
                measure_select_in_vain(delayed, waiting);
    for (unsigned bytes = 1; bytes <= ITEM_BYTES_MAX; bytes++)
        for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++)
            for (unsigned waiting = 1; waiting <= WAITERS_MAX; waiting++)
                if (swept(bytes, delayed, waiting))
                    measure_send_blocks(bytes, delayed, waiting);
    for (unsigned events = 1; events <= PLACES; events++)
        measure_unlock(events);
}

#endif
