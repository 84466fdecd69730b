/* A queue set with a queue, two semaphores and a mutex of its own, and sets from the heap. Only who has selected a
 * member takes from it; so the set is never told of more than there is. */
#include "random.h"

#define COUNT_MAX 3u
#define LENGTH (2u + 1u + COUNT_MAX + 1u) /* all that the members can have */

static StaticQueue_t set_control KERNEL_OBJECT;
static uint8_t set_storage[LENGTH * sizeof(void *)] KERNEL_OBJECT __attribute__((aligned(8)));
static StaticQueue_t queue_control KERNEL_OBJECT;
static uint8_t queue_storage[2 * ITEM_MAX + 8] KERNEL_OBJECT __attribute__((aligned(8)));
static StaticQueue_t semaphore_control KERNEL_OBJECT;
static StaticQueue_t counting_control KERNEL_OBJECT;
static StaticQueue_t mutex_control KERNEL_OBJECT;
static StaticQueue_t spare_control KERNEL_OBJECT;
static uint8_t spare_storage[LENGTH * sizeof(void *)] KERNEL_OBJECT __attribute__((aligned(8)));
static QueueSetHandle_t set;
static QueueHandle_t queue;
static SemaphoreHandle_t semaphore;
static SemaphoreHandle_t counting;
static SemaphoreHandle_t mutex;
static int selected_by_isr; /* the mutex, which an interrupt cannot take */
static QueueSetHandle_t created;
static uint8_t item[ITEM_MAX + 4] CALLER_DATA __attribute__((aligned(8)));

void prepare_sets(void)
{
    set = xQueueCreateSetStatic(LENGTH, set_storage, &set_control);
    queue = xQueueCreateStatic(2, 1 + chance(ITEM_MAX), queue_storage + chance(4), &queue_control);
    semaphore = xSemaphoreCreateBinaryStatic(&semaphore_control);
    counting = xSemaphoreCreateCountingStatic(COUNT_MAX, 0, &counting_control);
    mutex = xSemaphoreCreateMutexStatic(&mutex_control);
    (void)xQueueAddToSet(queue, set);
    (void)xQueueAddToSet(semaphore, set);
    (void)xQueueAddToSet(counting, set);
    /* A member has nothing when it is added, and the set is told when it gets something. */
    (void)xSemaphoreTake(mutex, 0);
    (void)xQueueAddToSet(mutex, set);
    (void)xSemaphoreGive(mutex);
}

static SemaphoreHandle_t some_member(void)
{
    return chance(2) ? semaphore : counting;
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

static unsigned inside; /* sends and gives that have not returned */

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
    const SemaphoreHandle_t member = some_member();
    const unsigned number = say_call("xSemaphoreGive");
    BaseType_t result;

    say_member(member);
    inside++;
    MEASURED(number, result = xSemaphoreGive(member));
    inside--;
    say_result(number, (unsigned)result);
}

/* Nobody waits for it but for the set; what the caller may have inherited is by another mutex (mutexes.c). */
void give_mutex_of_set(void)
{
    unsigned number;

    if (xSemaphoreGetMutexHolder(mutex) != xTaskGetCurrentTaskHandle())
        return;
    number = say_call("xSemaphoreGive_mutex");
    say("set", set_of(mutex) != NULL);
    say("mutexes", mutexes_of(NULL));
    say("my_base", (unsigned)base_priority_of(NULL));
    say_waiting(receivers_of(set));
    inside++;
    MEASURED(number, (void)xSemaphoreGive(mutex));
    inside--;
}

/* Takes from the member what was selected, so that the set stays right. */
static void take_from(QueueSetMemberHandle_t member)
{
    if (member == queue)
        (void)xQueueReceive(queue, item, 0);
    else if (member != NULL)
        (void)xSemaphoreTake(member, 0);
}

static void take_for_isr(void)
{
    if (selected_by_isr) {
        selected_by_isr = 0;
        take_from(mutex);
    }
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

/* Where it is empty, and nothing was sent that nobody has selected. */
static void add_and_remove(void)
{
    const QueueSetMemberHandle_t members[] = {queue, semaphore, counting, mutex};
    const QueueSetMemberHandle_t member = members[chance(sizeof members / sizeof *members)];
    unsigned number;

    if (inside > 0 || uxQueueMessagesWaitingFromISR(member) > 0 || uxQueueMessagesWaitingFromISR(set) > 0)
        return;
    number = say_call("xQueueRemoveFromSet");
    MEASURED(number, (void)xQueueRemoveFromSet(member, set));
    number = say_call("xQueueAddToSet");
    MEASURED(number, (void)xQueueAddToSet(member, set));
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
    {send, 4},         {send_to_front, 4},  {give, 4},   {give_mutex_of_set, 12}, {select, 12},
    {take_for_isr, 3}, {add_and_remove, 1}, {create, 1}, {NULL, 0},
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
    const SemaphoreHandle_t member = some_member();
    const unsigned number = say_call("xSemaphoreGiveFromISR");
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    say_member(member);
    MEASURED(number, result = xSemaphoreGiveFromISR(member, &woken));
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
    else if (member == mutex)
        selected_by_isr = 1;
    else if (member != NULL)
        (void)xSemaphoreTakeFromISR(member, &woken);
    return pdFALSE;
}
