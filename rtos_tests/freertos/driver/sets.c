/* Queue sets: what belongs to them, and sends to their members. */
#include "driver.h"

#if configUSE_QUEUE_SETS == 1

#include <string.h>

#include "board.h"
#include "heap.h"
#include "helpers.h"
#include "semphr.h"

/* Items as in queues.c: beside a word boundary. */
#define PLACES_OF_QUEUE 10u
static uint8_t storage[PLACES_OF_QUEUE * ITEM_BYTES_MAX + 8] KERNEL_OBJECT __attribute__((aligned(8)));
static uint8_t sent[ITEM_BYTES_MAX + 8] CALLER_DATA __attribute__((aligned(8)));
static uint8_t received[ITEM_BYTES_MAX + 8] CALLER_DATA __attribute__((aligned(8)));
static StaticQueue_t control KERNEL_OBJECT;
static StaticQueue_t set_control KERNEL_OBJECT;
static uint8_t set_storage[3 * sizeof(void *)] KERNEL_OBJECT __attribute__((aligned(8)));
static QueueSetHandle_t set;
static QueueHandle_t queue;
static QueueSetMemberHandle_t selected;
static unsigned length;

/* Larger sets, and tasks that wait for them. */
#define PLACES 6u
#define MORE_PLACES 8u
#define LIMIT 50u
#define WAITERS_AT_ONCE 6u
static uint8_t places_storage[MORE_PLACES * sizeof(void *)] KERNEL_OBJECT __attribute__((aligned(8)));
static unsigned times;
static unsigned now; /* which of several states is driven */
static unsigned urgency; /* of the task that waits (helpers.h) */
static unsigned locked; /* of a locked set: what the number of the state is greater by; else 0 */

static BaseType_t selects(void *unused)
{
    (void)unused;
    selected = xQueueSelectFromSet(set, portMAX_DELAY);
    return pdTRUE;
}

/* Of one place, so that it wraps around; or of three, of which the first was taken already, so that the next
 * does not. A semaphore did that. */
static void create_set(int wraps)
{
    static StaticQueue_t other_control KERNEL_OBJECT;

    set = xQueueCreateSetStatic(wraps ? 1 : 3, set_storage, &set_control);
    CHECK(set != NULL);
    if (!wraps) {
        const QueueHandle_t other = xSemaphoreCreateBinaryStatic(&other_control);

        CHECK(xQueueAddToSet(other, set) == pdPASS && xSemaphoreGive(other) == pdTRUE);
        CHECK(xQueueSelectFromSet(set, 0) == other && xSemaphoreTake(other, 0) == pdTRUE);
        CHECK(xQueueRemoveFromSet(other, set) == pdPASS);
    }
}

static void set_items(unsigned bytes)
{
    static uint8_t other;

    other++;
    length = bytes;
    for (unsigned i = 0; i < bytes; i++)
        sent[1 + i] = (uint8_t)(i + other);
    selected = NULL;
}

/* What the core decides which is dearest of: whether the queue and the set wrap around, and whether the queue
 * holds one item more than what is sent, which the set was asked for before. */
#define HOLDS 1u
#define QUEUE_STAYS 2u
#define SET_STAYS 4u
#define WAYS 8u
static const unsigned states[WAYS] = {
    0, HOLDS, QUEUE_STAYS, SET_STAYS, QUEUE_STAYS | SET_STAYS, HOLDS | QUEUE_STAYS,
    HOLDS | SET_STAYS, HOLDS | QUEUE_STAYS | SET_STAYS,
};

/* An empty set with a queue in it. */
static void set_with_queue(unsigned bytes, unsigned ways, BaseType_t position)
{
    set_items(bytes);
    create_set(!(ways & SET_STAYS));
    queue = xQueueCreateStatic(ways & QUEUE_STAYS ? PLACES_OF_QUEUE : ways & HOLDS ? 2 : 1, bytes,
                               storage + 1, &control);
    CHECK(queue != NULL);
    if (ways & QUEUE_STAYS && position == queueSEND_TO_BACK) {
        CHECK(xQueueSend(queue, sent + 1, 0) == pdTRUE);
        CHECK(xQueueReceive(queue, received + 1, 0) == pdTRUE);
    }
    CHECK(xQueueAddToSet(queue, set) == pdPASS);
    if (ways & HOLDS) {
        /* The set stays as it is. */
        CHECK(xQueueRemoveFromSet(queue, set) == pdPASS);
        CHECK(xQueueGenericSend(queue, sent + 1, 0, position) == pdTRUE);
        control.pvDummy7 = set;
    }
}

/* The item is there, and what was selected is the queue. */
static void check_sent(void)
{
    CHECK(selected == queue);
    CHECK(xQueueReceive(queue, received + 1, 0) == pdTRUE);
    CHECK(memcmp(sent + 1, received + 1, length) == 0);
}

/* A task waits for the set, and has it. */
static void wait_for_set(void)
{
    helper_call(0, selects, NULL);
    if (urgency == STAYS)
        vTaskPrioritySet(helper_handle(0), PRIORITY_CREATED);
}

static void has_set(void)
{
    CHECK(helper_busy(0) == (urgency == STAYS));
    if (urgency == STAYS)
        vTaskPrioritySet(helper_handle(0), helper_priority(0));
    CHECK(!helper_busy(0));
}

static void measure_send(unsigned bytes, unsigned ways)
{
    BaseType_t result;

    set_with_queue(bytes, ways, queueSEND_TO_BACK);
    wcet_param(0, bytes);
    wcet_param(1, now);
    MEASURE(SERVICE_XQUEUESEND_SET, result = xQueueSend(queue, sent + 1, 0));
    CHECK(result == pdTRUE);
    selected = xQueueSelectFromSet(set, 0);
    check_sent();

    for (urgency = TOLD; urgency <= STAYS; urgency++) {
        const unsigned service = urgency == STAYS ? SERVICE_XQUEUESEND_SET_WAITER_LESS_URGENT
                                                  : SERVICE_XQUEUESEND_SET_WAITER;

        set_with_queue(bytes, ways, queueSEND_TO_BACK);
        wait_for_set();
        wcet_param(0, bytes);
        wcet_param(1, now);
        MEASURE(service, result = xQueueSend(queue, sent + 1, 0));
        CHECK(result == pdTRUE);
        has_set();
        check_sent();
    }

    set_with_queue(bytes, ways, queueSEND_TO_FRONT);
    wcet_param(0, bytes);
    wcet_param(1, now);
    MEASURE(SERVICE_XQUEUESENDTOFRONT_SET, result = xQueueSendToFront(queue, sent + 1, 0));
    CHECK(result == pdTRUE);
    selected = xQueueSelectFromSet(set, 0);
    check_sent();

    for (urgency = TOLD; urgency <= STAYS; urgency++) {
        const unsigned service = urgency == STAYS ? SERVICE_XQUEUESENDTOFRONT_SET_WAITER_LESS_URGENT
                                                  : SERVICE_XQUEUESENDTOFRONT_SET_WAITER;

        set_with_queue(bytes, ways, queueSEND_TO_FRONT);
        wait_for_set();
        wcet_param(0, bytes);
        wcet_param(1, now);
        MEASURE(service, result = xQueueSendToFront(queue, sent + 1, 0));
        CHECK(result == pdTRUE);
        has_set();
        check_sent();
    }
}

/* A queue that holds an item has told the set already. */
static void measure_overwrite(unsigned bytes, unsigned ways)
{
    BaseType_t result;

    set_with_queue(bytes, ways, queueSEND_TO_BACK);
    wcet_param(0, bytes);
    wcet_param(1, now);
    MEASURE(SERVICE_XQUEUEOVERWRITE_SET, result = xQueueOverwrite(queue, sent + 1));
    CHECK(result == pdTRUE);
    selected = xQueueSelectFromSet(set, 0);
    check_sent();

    for (urgency = TOLD; urgency <= STAYS; urgency++) {
        const unsigned service = urgency == STAYS ? SERVICE_XQUEUEOVERWRITE_SET_WAITER_LESS_URGENT
                                                  : SERVICE_XQUEUEOVERWRITE_SET_WAITER;

        set_with_queue(bytes, ways, queueSEND_TO_BACK);
        wait_for_set();
        wcet_param(0, bytes);
        wcet_param(1, now);
        MEASURE(service, result = xQueueOverwrite(queue, sent + 1));
        CHECK(result == pdTRUE);
        has_set();
        check_sent();
    }
}

static void send_plain_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    wcet_param(0, length);
    wcet_param(1, now + locked);
    MEASURE(SERVICE_XQUEUESENDFROMISR_SET, result = xQueueSendFromISR(queue, sent + 1, &woken));
    CHECK(result == pdPASS && woken == pdFALSE);
}

static void send_plain_to_front_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    wcet_param(0, length);
    wcet_param(1, now + locked);
    MEASURE(SERVICE_XQUEUESENDTOFRONTFROMISR_SET,
            result = xQueueSendToFrontFromISR(queue, sent + 1, &woken));
    CHECK(result == pdPASS && woken == pdFALSE);
}

static void overwrite_plain_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    wcet_param(0, length);
    wcet_param(1, now + locked);
    MEASURE(SERVICE_XQUEUEOVERWRITEFROMISR_SET,
            result = xQueueOverwriteFromISR(queue, sent + 1, &woken));
    CHECK(result == pdPASS && woken == pdFALSE);
}

static void send_to_front_from_isr(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    BaseType_t result;

    wcet_param(0, length);
    wcet_param(1, now);
    wcet_param(2, urgency);
    MEASURE(SERVICE_XQUEUESENDTOFRONTFROMISR_SET_WAITER,
            result = xQueueSendToFrontFromISR(queue, sent + 1, told));
    CHECK(result == pdPASS && woken == (urgency == TOLD));
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

static void overwrite_from_isr(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    BaseType_t result;

    wcet_param(0, length);
    wcet_param(1, now);
    wcet_param(2, urgency);
    MEASURE(SERVICE_XQUEUEOVERWRITEFROMISR_SET_WAITER,
            result = xQueueOverwriteFromISR(queue, sent + 1, told));
    CHECK(result == pdPASS && woken == (urgency == TOLD));
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

static void give_from_isr(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    BaseType_t result;

    wcet_param(0, now);
    wcet_param(1, urgency);
    MEASURE(SERVICE_XSEMAPHOREGIVEFROMISR_SET_WAITER,
            result = xSemaphoreGiveFromISR(queue, told));
    CHECK(result == pdPASS && woken == (urgency == TOLD));
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

static void give_plain_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    wcet_param(0, now + locked);
    MEASURE(SERVICE_XSEMAPHOREGIVEFROMISR_SET, result = xSemaphoreGiveFromISR(queue, &woken));
    CHECK(result == pdPASS && woken == pdFALSE);
}

static void send_from_isr(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    BaseType_t result;

    wcet_param(0, length);
    wcet_param(1, now);
    wcet_param(2, urgency);
    MEASURE(SERVICE_XQUEUESENDFROMISR_SET_WAITER,
            result = xQueueSendFromISR(queue, sent + 1, told));
    CHECK(result == pdPASS && woken == (urgency == TOLD));
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

static void select_from_isr(void)
{
    wcet_param(0, now + locked);
    MEASURE(SERVICE_XQUEUESELECTFROMSETFROMISR, selected = xQueueSelectFromSetFromISR(set));
}

/* A task that is just about to wait for the set has locked it, as in locked.c: what is sent to a member, or
 * selected, is only counted. */
static void locked_in_interrupt(unsigned more, void (*function)(void), unsigned selects, unsigned sends)
{
    locked = more;
    set_control.ucDummy5[0] = 0;
    set_control.ucDummy5[1] = 0;
    in_interrupt(function);
    CHECK(set_control.ucDummy5[0] == selects && set_control.ucDummy5[1] == sends);
    set_control.ucDummy5[0] = 0xff;
    set_control.ucDummy5[1] = 0xff;
    locked = 0;
}

/* Nobody waits for the set, or one is about to; then a task does. */
static void measure_position_from_isr(unsigned bytes, unsigned ways, BaseType_t position,
                                      unsigned states_in_all, void (*plain)(void),
                                      void (*to_waiter)(void))
{
    set_with_queue(bytes, ways, position);
    in_interrupt(plain);
    selected = xQueueSelectFromSet(set, 0);
    check_sent();
    if (few_bytes(bytes, 1)) {
        set_with_queue(bytes, ways, position);
        locked_in_interrupt(states_in_all, plain, 0, 1);
        selected = xQueueSelectFromSet(set, 0);
        check_sent();
    }
    for (urgency = 0; urgency < ISR_STATES && few_bytes(bytes, urgency); urgency++) {
        set_with_queue(bytes, ways, position);
        wait_for_set();
        in_interrupt(to_waiter);
        has_set();
        check_sent();
    }
}

static void measure_send_from_isr(unsigned bytes, unsigned ways)
{
    measure_position_from_isr(bytes, ways, queueSEND_TO_BACK, WAYS, send_plain_from_isr,
                              send_from_isr);
    measure_position_from_isr(bytes, ways, queueSEND_TO_FRONT, WAYS, send_plain_to_front_from_isr,
                              send_to_front_from_isr);
}

static void measure_overwrite_from_isr(unsigned bytes, unsigned ways)
{
    measure_position_from_isr(bytes, ways, queueSEND_TO_BACK, 2, overwrite_plain_from_isr,
                              overwrite_from_isr);
}

static void measure_select(unsigned ways)
{
    BaseType_t result;

    set_with_queue(4, ways, queueSEND_TO_BACK);
    CHECK(xQueueSend(queue, sent + 1, 0) == pdTRUE);
    wcet_param(0, now);
    MEASURE(SERVICE_XQUEUESELECTFROMSET, selected = xQueueSelectFromSet(set, 0));
    check_sent();
    set_with_queue(4, ways, queueSEND_TO_BACK);
    CHECK(xQueueSend(queue, sent + 1, 0) == pdTRUE);
    in_interrupt(select_from_isr);
    check_sent();
    set_with_queue(4, ways, queueSEND_TO_BACK);
    CHECK(xQueueSend(queue, sent + 1, 0) == pdTRUE);
    locked_in_interrupt(2, select_from_isr, 1, 0);
    check_sent();
    if (now > 0)
        return;
    MEASURE(SERVICE_XQUEUEREMOVEFROMSET, result = xQueueRemoveFromSet(queue, set));
    CHECK(result == pdPASS);
    MEASURE(SERVICE_XQUEUEADDTOSET, result = xQueueAddToSet(queue, set));
    CHECK(result == pdPASS);
}

static void set_with_semaphore(unsigned ways)
{
    create_set(!(ways & SET_STAYS));
    queue = xSemaphoreCreateBinaryStatic(&control);
    CHECK(xQueueAddToSet(queue, set) == pdPASS);
    selected = NULL;
}

static void measure_semaphore(unsigned ways)
{
    BaseType_t result;

    for (urgency = TOLD; urgency <= STAYS; urgency++) {
        const unsigned service = urgency == STAYS ? SERVICE_XSEMAPHOREGIVE_SET_WAITER_LESS_URGENT
                                                  : SERVICE_XSEMAPHOREGIVE_SET_WAITER;

        set_with_semaphore(ways);
        wait_for_set();
        wcet_param(0, now);
        MEASURE(service, result = xSemaphoreGive(queue));
        CHECK(result == pdTRUE);
        has_set();
        CHECK(selected == queue && xSemaphoreTake(queue, 0) == pdTRUE);
    }

    for (urgency = 0; urgency < ISR_STATES; urgency++) {
        set_with_semaphore(ways);
        wait_for_set();
        in_interrupt(give_from_isr);
        has_set();
        CHECK(selected == queue && xSemaphoreTake(queue, 0) == pdTRUE);
    }

    set_with_semaphore(ways);
    wcet_param(0, now);
    MEASURE(SERVICE_XSEMAPHOREGIVE_SET, result = xSemaphoreGive(queue));
    CHECK(result == pdTRUE && xQueueSelectFromSet(set, 0) == queue);
    CHECK(xSemaphoreTake(queue, 0) == pdTRUE);

    set_with_semaphore(ways);
    in_interrupt(give_plain_from_isr);
    CHECK(xQueueSelectFromSet(set, 0) == queue && xSemaphoreTake(queue, 0) == pdTRUE);

    set_with_semaphore(ways);
    locked_in_interrupt(2, give_plain_from_isr, 0, 1);
    CHECK(xQueueSelectFromSet(set, 0) == queue && xSemaphoreTake(queue, 0) == pdTRUE);
}

/* ---- a mutex in a set --------------------------------------------------------------------------- */

/* As in semaphores.c: what the caller has inherited from a task that has waited in vain. */
enum { NOTHING, KEPT, LOST, INHERITED_STATES };

/* Nobody waits for the set, or a task that is more urgent than the caller is then, or one that is not. */
enum waits { NOBODY_WAITS, URGENT_WAITS, LESS_URGENT_WAITS };
static const unsigned give_mutex[] = {
    [NOBODY_WAITS] = SERVICE_XSEMAPHOREGIVE_MUTEX_SET,
    [URGENT_WAITS] = SERVICE_XSEMAPHOREGIVE_MUTEX_SET_WAITER,
    [LESS_URGENT_WAITS] = SERVICE_XSEMAPHOREGIVE_MUTEX_SET_WAITER_LESS_URGENT,
};

/* Only a mutex that is taken can be put into a set. Worst: the caller is the only ready task of the priority
 * that it loses. */
static void measure_mutex(enum waits waits, unsigned inherited)
{
    static StaticQueue_t other_control KERNEL_OBJECT;
    const UBaseType_t before = PRIORITY_DRIVER + (inherited == NOTHING ? 0 : 2);
    const UBaseType_t after = inherited == KEPT ? before : PRIORITY_DRIVER;
    const QueueHandle_t other = xSemaphoreCreateMutexStatic(&other_control);
    BaseType_t result;

    create_set(now == 0);
    queue = xSemaphoreCreateMutexStatic(&control);
    selected = NULL;
    CHECK(xSemaphoreTake(other, 0) == pdTRUE && xSemaphoreTake(queue, 0) == pdTRUE);
    CHECK(xQueueAddToSet(queue, set) == pdPASS);
    helpers_start(3);
    if (waits != NOBODY_WAITS)
        helper_call(2, selects, NULL);
    if (waits == LESS_URGENT_WAITS)
        vTaskPrioritySet(helper_handle(2), PRIORITY_CREATED);
    if (inherited != NOTHING) {
        helper_take(1, queue, 1);
        pass_time(1);
        CHECK(!helper_busy(1) && helper_result(1) == pdFALSE);
    }
    if (inherited != KEPT)
        CHECK(xSemaphoreGive(other) == pdTRUE);
    CHECK(uxTaskPriorityGet(NULL) == before && helper_busy(2) == (waits != NOBODY_WAITS));
    CHECK(inherited != LOST || listCURRENT_LIST_LENGTH(list_of(driver_handle)) == 1);
    wcet_param(0, now);
    wcet_param(1, inherited);
    MEASURE(give_mutex[waits], result = xSemaphoreGive(queue));
    CHECK(result == pdTRUE && uxTaskPriorityGet(NULL) == after);
    CHECK(uxTaskBasePriorityGet(NULL) == PRIORITY_DRIVER);
    CHECK(helper_busy(2) == (waits == LESS_URGENT_WAITS));
    if (waits == LESS_URGENT_WAITS)
        vTaskPrioritySet(helper_handle(2), helper_priority(2));
    CHECK(!helper_busy(2));
    if (waits == NOBODY_WAITS)
        selected = xQueueSelectFromSet(set, 0);
    CHECK(selected == queue && xSemaphoreGetMutexHolder(queue) == NULL);
    if (inherited == KEPT)
        CHECK(xSemaphoreGive(other) == pdTRUE && uxTaskPriorityGet(NULL) == PRIORITY_DRIVER);
    CHECK(xSemaphoreTake(queue, 0) == pdTRUE);
    helpers_stop();
    CHECK(xQueueRemoveFromSet(queue, set) == pdPASS && xSemaphoreGive(queue) == pdTRUE);
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
 * tasks that wait before the caller take what comes at once. Or it has more than come, and does not wrap
 * around. */
static void measure_select_blocks(unsigned delayed, unsigned waiting, unsigned state)
{
    QueueSetMemberHandle_t member;

    set = xQueueCreateSetStatic(state == 0 ? 1 : MORE_PLACES, places_storage, &set_control);
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
    wcet_param(2, state);
    MEASURE(SERVICE_XQUEUESELECTFROMSET_BLOCKS, member = xQueueSelectFromSet(set, LIMIT));
    CHECK(member == queue && uxQueueMessagesWaiting(queue) == times);
    for (unsigned i = 0; i < delayed + waiting; i++)
        CHECK(helper_busy(i) == (i > 0 && i < delayed));
    helpers_stop();
}

static void measure_select_in_vain(unsigned delayed, unsigned waiting, enum wait_ending ending)
{
    QueueSetMemberHandle_t member;

    wait_ending = ending;
    set = xQueueCreateSetStatic(1, set_storage, &set_control);
    helpers_start(delayed + waiting);
    for (unsigned i = delayed; i < delayed + waiting; i++)
        helper_call(i, selects, NULL);
    clock_wraps_in(IN_VAIN + 2);
    for (unsigned i = 1; i < delayed; i++)
        helper_delay(i, IN_VAIN);
    helper_call(0, ends_wait, NULL);
    wcet_param(0, delayed);
    wcet_param(1, waiting);
    MEASURE_IN_VAIN(SERVICE_XQUEUESELECTFROMSET, , member = xQueueSelectFromSet(set, IN_VAIN));
    CHECK(member == NULL && !helper_busy(0) && helper_result(0) == pdPASS);
    helpers_stop();
    clock_far_from_wrap();
}

#if INCLUDE_xTaskAbortDelay == 1
static void measure_select_gives_up(void)
{
    QueueSetMemberHandle_t member;

    set = xQueueCreateSetStatic(1, set_storage, &set_control);
    leave_wait_aborted();
    MEASURE(SERVICE_XQUEUESELECTFROMSET_GIVES_UP, member = xQueueSelectFromSet(set, LIMIT));
    CHECK(member == NULL && !wait_was_aborted());
}
#endif

/* ---- waiting to send to a member --------------------------------------------------------------- */

static BaseType_t sends_and_waits(void *unused)
{
    (void)unused;
    return xQueueSend(queue, received + 1, portMAX_DELAY);
}

/* The last place is for the caller, behind those that wait before it. Then the task waits for the set: the
 * caller readies it. */
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

/* Worst: as for xQueueSend that blocks. Where the queue or the set does not wrap around, it has more places;
 * the queue was full before. Of those places more are taken from than there are to the end; those that wait send to the
 * back. */
static void measure_send_blocks(unsigned bytes, unsigned delayed, unsigned waiting, unsigned state, int to_front)
{
    const UBaseType_t places = state & 1 ? PLACES_OF_QUEUE : 1;
    BaseType_t result;

    set_items(bytes);
    set = xQueueCreateSetStatic(state & 2 ? MORE_PLACES : 1, places_storage, &set_control);
    queue = xQueueCreateStatic(places, bytes, storage + 1, &control);
    for (unsigned i = 0; i < places; i++)
        CHECK(xQueueSend(queue, sent + 1, 0) == pdTRUE);
    control.pvDummy7 = set;
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
    wcet_param(3, state);
    if (to_front)
        MEASURE(SERVICE_XQUEUESENDTOFRONT_SET_BLOCKS,
                result = xQueueSendToFront(queue, sent + 1, LIMIT));
    else
        MEASURE(SERVICE_XQUEUESEND_SET_BLOCKS, result = xQueueSend(queue, sent + 1, LIMIT));
    CHECK(result == pdTRUE && !helper_busy(0) && selected == queue);
    CHECK(uxQueueMessagesWaiting(queue) == places);
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
 * R more would cost what they cost in queue_unlock.) Or the set has places enough, and never wraps around. */
static void measure_unlock(unsigned events, unsigned state)
{
    BaseType_t result;

    set = xQueueCreateSetStatic(state == 0 ? PLACES : MORE_PLACES, places_storage, &set_control);
    queue = xQueueCreateStatic(1, 4, storage, &control);
    CHECK(xQueueAddToSet(queue, set) == pdPASS);
    for (unsigned i = 0; i < (state == 0 ? PLACES - 1 : 1); i++) {
        if (i > 0)
            CHECK(xQueueReceive(queue, received, 0) == pdTRUE);
        CHECK(xQueueSend(queue, sent, 0) == pdTRUE);
        CHECK(xQueueSelectFromSet(set, 0) == queue);
    }
    CHECK((uint8_t *)set_control.pvDummy1[1] ==
          places_storage + (state == 0 ? PLACES - 1 : 1) * sizeof(void *));
    helpers_start(events);
    for (unsigned i = 0; i < events; i++)
        helper_call(i, selects_and_receives, NULL);
    control.ucDummy5[0] = 2;
    control.ucDummy5[1] = (uint8_t)events;
    wcet_param(0, events);
    wcet_param(1, state);
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
        for (unsigned both = 0; both < 4 * HEAP_MINIMA; both++) {
            const unsigned state = both / HEAP_MINIMA;

            heap_minimum(both % HEAP_MINIMA);
            CHECK(heap_free_blocks() == n);
            wcet_param(0, n);
            wcet_param(1, state);
            wcet_param(2, both % HEAP_MINIMA);
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
    for (now = 0; now < 2; now++)
        measure_select(now == 0 ? 0 : SET_STAYS);
    for (unsigned bytes = 1; bytes <= ITEM_BYTES_MAX; bytes++) {
        for (now = 0; now < WAYS && few_bytes(bytes, now); now++) {
            measure_send(bytes, states[now]);
            measure_send_from_isr(bytes, states[now]);
        }
        for (now = 0; now < 2 && few_bytes(bytes, now); now++) {
            measure_overwrite(bytes, now == 0 ? 0 : SET_STAYS);
            measure_overwrite_from_isr(bytes, now == 0 ? 0 : SET_STAYS);
        }
    }
    for (now = 0; now < 2; now++)
        measure_semaphore(now == 0 ? 0 : SET_STAYS);
    helpers_stop();
    for (now = 0; now < 2; now++)
        for (unsigned inherited = 0; inherited < INHERITED_STATES; inherited++)
            for (enum waits waits = NOBODY_WAITS; waits <= LESS_URGENT_WAITS; waits++)
                measure_mutex(waits, inherited);
    for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++)
        for (unsigned waiting = 1; waiting <= WAITERS_AT_ONCE; waiting++)
            for (unsigned state = 0;
                 state < 2 && swept_in(state, STREAM_BYTES_MIN, delayed, waiting); state++)
                measure_select_blocks(delayed, waiting, state);
    for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++)
        for (unsigned waiting = 0; waiting <= WAITERS_AT_ONCE; waiting++)
            for (unsigned ending = 0; ending < WAIT_ENDINGS && swept(STREAM_BYTES_MIN, delayed, waiting); ending++)
                measure_select_in_vain(delayed, waiting, ending);
#if INCLUDE_xTaskAbortDelay == 1
    measure_select_gives_up();
#endif
    for (unsigned bytes = 1; bytes <= ITEM_BYTES_MAX; bytes++)
        for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++)
            for (unsigned waiting = 1; waiting <= WAITERS_MAX; waiting++)
                for (unsigned state = 0; state < 4 && swept_in(state, bytes, delayed, waiting); state++)
                    for (int to_front = 0; to_front <= 1; to_front++)
                        measure_send_blocks(bytes, delayed, waiting, state, to_front);
    for (unsigned events = 1; events <= PLACES; events++)
        for (unsigned state = 0; state < 2; state++)
            measure_unlock(events, state);
}

#endif
