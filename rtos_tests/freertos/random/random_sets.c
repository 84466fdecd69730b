/* A queue set with a queue and a semaphore of its own, and sets from the heap. */
#include "random.h"

#define LENGTH 3u

static StaticQueue_t set_control KERNEL_OBJECT;
static uint8_t set_storage[LENGTH * sizeof(void *)] KERNEL_OBJECT __attribute__((aligned(8)));
static StaticQueue_t queue_control KERNEL_OBJECT;
static uint8_t queue_storage[2 * ITEM_MAX + 8] KERNEL_OBJECT __attribute__((aligned(8)));
static StaticQueue_t semaphore_control KERNEL_OBJECT;
static StaticQueue_t spare_control KERNEL_OBJECT;
static uint8_t spare_storage[LENGTH * sizeof(void *)] KERNEL_OBJECT __attribute__((aligned(8)));
static QueueSetHandle_t set;
static QueueHandle_t queue;
static SemaphoreHandle_t semaphore;
static QueueSetHandle_t created;
static uint8_t item[ITEM_MAX + 4] CALLER_DATA __attribute__((aligned(8)));

void prepare_sets(void)
{
    set = xQueueCreateSetStatic(LENGTH, set_storage, &set_control);
    queue = xQueueCreateStatic(2, 1 + chance(ITEM_MAX), queue_storage + chance(4), &queue_control);
    semaphore = xSemaphoreCreateBinaryStatic(&semaphore_control);
    (void)xQueueAddToSet(queue, set);
    (void)xQueueAddToSet(semaphore, set);
}

static void say_member(QueueHandle_t member)
{
    say("filled", (unsigned)uxQueueMessagesWaitingFromISR(member));
    say("length", length_of(member));
    say("set", set_of(member) != NULL);
    say("qlocked", (unsigned)(is_locked(member) || is_locked(set)));
    say("S", item_size_of(member));
    say("unaligned", (unsigned)((uintptr_t)next_write(member) & 3u));
    say_waiting(set_of(member) != NULL ? receivers_of(set) : receivers_of(member));
}

static unsigned inside; /* sends that have not returned */

static void send_to(BaseType_t position, const char *name)
{
    const TickType_t limit = some_limit();
    const unsigned number = say_call(name);
    BaseType_t result;

    say_member(queue);
    say_limit(limit, senders_of(queue));
    inside++;
    MEASURED(number, result = xQueueGenericSend(queue, item, limit, position));
    inside--;
    say_result(number, (unsigned)result);
}

static void send(void)
{
    send_to(queueSEND_TO_BACK, "xQueueSend");
}

static void send_to_front(void)
{
    send_to(queueSEND_TO_FRONT, "xQueueSendToFront");
}

static void give(void)
{
    const unsigned number = say_call("xSemaphoreGive");
    BaseType_t result;

    say_member(semaphore);
    MEASURED(number, result = xSemaphoreGive(semaphore));
    say_result(number, (unsigned)result);
}

/* Takes from the member what was selected, so that the set stays right. */
static void take_from(QueueSetMemberHandle_t member)
{
    if (member == queue)
        (void)xQueueReceive(queue, item, 0);
    else if (member == semaphore)
        (void)xSemaphoreTake(semaphore, 0);
}

static void select(void)
{
    const TickType_t limit = some_limit();
    const unsigned number = say_call("xQueueSelectFromSet");
    QueueSetMemberHandle_t member;

    say("filled", (unsigned)uxQueueMessagesWaitingFromISR(set));
    say_waiting(senders_of(set));
    say_limit(limit, receivers_of(set));
    MEASURED(number, member = xQueueSelectFromSet(set, limit));
    say_result(number, member != NULL);
    take_from(member);
}

/* Where both are empty, and nothing was sent that nobody has selected. */
static void add_and_remove(void)
{
    unsigned number;

    if (inside > 0 || uxQueueMessagesWaitingFromISR(queue) > 0 || uxQueueMessagesWaitingFromISR(set) > 0)
        return;
    number = say_call("xQueueRemoveFromSet");
    MEASURED(number, (void)xQueueRemoveFromSet(queue, set));
    number = say_call("xQueueAddToSet");
    MEASURED(number, (void)xQueueAddToSet(queue, set));
}

static void create(void)
{
    unsigned number;

    if (created != NULL) {
        number = say_call("vQueueDelete");
        say("below", free_blocks_below(created));
        MEASURED(number, vQueueDelete(created));
        created = NULL;
        return;
    }
    number = say_call("xQueueCreateSet");
    say("N", free_blocks());
    MEASURED(number, created = xQueueCreateSet(1 + chance(8)));
    say_result(number, created != NULL);
    number = say_call("xQueueCreateSetStatic");
    MEASURED(number, (void)xQueueCreateSetStatic(LENGTH, spare_storage, &spare_control));
}

const struct choice set_choices[] = {
    {send, 4}, {send_to_front, 4}, {give, 3}, {select, 7}, {add_and_remove, 1}, {create, 1}, {NULL, 0},
};

BaseType_t isr_set_send(void)
{
    const unsigned number = say_call("xQueueSendFromISR");
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    say_member(queue);
    MEASURED(number, result = xQueueSendFromISR(queue, item, &woken));
    say_result(number, (unsigned)result);
    return woken;
}

BaseType_t isr_set_give(void)
{
    const unsigned number = say_call("xSemaphoreGiveFromISR");
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    say_member(semaphore);
    MEASURED(number, result = xSemaphoreGiveFromISR(semaphore, &woken));
    say_result(number, (unsigned)result);
    return woken;
}

BaseType_t isr_select(void)
{
    const unsigned number = say_call("xQueueSelectFromSetFromISR");
    QueueSetMemberHandle_t member;
    BaseType_t woken;

    say("filled", (unsigned)uxQueueMessagesWaitingFromISR(set));
    say_waiting(senders_of(set));
    MEASURED(number, member = xQueueSelectFromSetFromISR(set));
    say_result(number, member != NULL);
    if (member == queue)
        (void)xQueueReceiveFromISR(queue, item, &woken);
    else if (member == semaphore)
        (void)xSemaphoreTakeFromISR(semaphore, &woken);
    return pdFALSE;
}
