/* Queues of several lengths and sizes of items. */
#include "random.h"

#include <string.h>

#define QUEUES 5u
#define LENGTH_MAX 3u
#define CREATED 3u

static StaticQueue_t controls[QUEUES] KERNEL_OBJECT;
static uint8_t storages[QUEUES][LENGTH_MAX * ITEM_MAX + 8] KERNEL_OBJECT __attribute__((aligned(8)));
static QueueHandle_t queues[QUEUES];
static QueueHandle_t created[CREATED];

static unsigned some_size(void)
{
    return chance(2) ? 4 * (1 + chance(ITEM_MAX / 4)) : 1 + chance(ITEM_MAX);
}

/* Calls that have not returned. A task that was woken waits for nothing any more, and still finds the queue
 * that it waited for. */
static unsigned inside[QUEUES];

static unsigned *inside_of(QueueHandle_t queue)
{
    unsigned which = 0;

    while (queues[which] != queue)
        which++;
    return &inside[which];
}

static QueueHandle_t make(unsigned which)
{
    return xQueueCreateStatic(1 + chance(LENGTH_MAX), some_size(),
                              storages[which] + (chance(2) ? 0 : chance(4)), &controls[which]);
}

void prepare_queues(void)
{
    for (unsigned i = 0; i < QUEUES; i++)
        queues[i] = make(i);
}

QueueHandle_t some_queue(void)
{
    return queues[chance(QUEUES)];
}

static unsigned unaligned(const void *one, const void *other)
{
    return (unsigned)(((uintptr_t)one | (uintptr_t)other) & 3u);
}

/* S, whether the bytes can be copied as words, how full, who waits. */
static void say_queue(QueueHandle_t queue, const void *from, const void *to, List_t *others)
{
    const unsigned filled = (unsigned)uxQueueMessagesWaitingFromISR(queue);
    const QueueHandle_t set = set_of(queue);

    say("S", item_size_of(queue));
    say("unaligned", unaligned(from, to));
    say("filled", filled);
    say("length", length_of(queue));
    say("set", set != NULL);
    say("qlocked", (unsigned)is_locked(queue));
    say_waiting(set != NULL ? receivers_of(set) : others);
}

static void send(void)
{
    const QueueHandle_t queue = some_queue();
    const uint8_t *item = some_buffer();
    const TickType_t limit = may_block() ? some_limit() : 0;
    const unsigned number = say_call("xQueueSend");
    BaseType_t result;

    say_queue(queue, item, next_write(queue), receivers_of(queue));
    say_limit(limit, senders_of(queue));
    ++*inside_of(queue);
    MEASURED(number, result = xQueueSend(queue, item, limit));
    --*inside_of(queue);
    say_result(number, (unsigned)result);
}

static void send_to_front(void)
{
    const QueueHandle_t queue = some_queue();
    const uint8_t *item = some_buffer();
    const TickType_t limit = may_block() ? some_limit() : 0;
    const unsigned number = say_call("xQueueSendToFront");
    BaseType_t result;

    say_queue(queue, item, next_front(queue), receivers_of(queue));
    say_limit(limit, senders_of(queue));
    ++*inside_of(queue);
    MEASURED(number, result = xQueueSendToFront(queue, item, limit));
    --*inside_of(queue);
    say_result(number, (unsigned)result);
}

static void overwrite(void)
{
    const QueueHandle_t queue = some_queue();
    const uint8_t *item = some_buffer();
    unsigned number;

    if (length_of(queue) != 1)
        return;
    number = say_call("xQueueOverwrite");
    say_queue(queue, item, next_front(queue), receivers_of(queue));
    MEASURED(number, (void)xQueueOverwrite(queue, item));
}

static void receive(void)
{
    const QueueHandle_t queue = some_queue();
    uint8_t *item = some_buffer();
    const TickType_t limit = may_block() ? some_limit() : 0;
    const unsigned number = say_call("xQueueReceive");
    BaseType_t result;

    say_queue(queue, next_read(queue), item, senders_of(queue));
    say_limit(limit, receivers_of(queue));
    ++*inside_of(queue);
    MEASURED(number, result = xQueueReceive(queue, item, limit));
    --*inside_of(queue);
    say_result(number, (unsigned)result);
}

static void peek(void)
{
    const QueueHandle_t queue = some_queue();
    uint8_t *item = some_buffer();
    const TickType_t limit = may_block() ? some_limit() : 0;
    const unsigned number = say_call("xQueuePeek");
    BaseType_t result;

    say_queue(queue, next_read(queue), item, receivers_of(queue));
    say_limit(limit, receivers_of(queue));
    ++*inside_of(queue);
    MEASURED(number, result = xQueuePeek(queue, item, limit));
    --*inside_of(queue);
    say_result(number, (unsigned)result);
}

static void count(void)
{
    const QueueHandle_t queue = some_queue();
    unsigned number = say_call("uxQueueMessagesWaiting");

    MEASURED(number, (void)uxQueueMessagesWaiting(queue));
    number = say_call("uxQueueSpacesAvailable");
    MEASURED(number, (void)uxQueueSpacesAvailable(queue));
}

static void reset(void)
{
    const QueueHandle_t queue = some_queue();
    const unsigned number = say_call("xQueueReset");

    say_waiting(senders_of(queue));
    MEASURED(number, (void)xQueueReset(queue));
}

/* A queue that nobody uses is made anew, with another size of items. */
static void make_anew(void)
{
    const unsigned which = chance(QUEUES);
    unsigned number;

    if (!listLIST_IS_EMPTY(senders_of(queues[which])) ||
        !listLIST_IS_EMPTY(receivers_of(queues[which])) || set_of(queues[which]) != NULL ||
        inside[which] > 0)
        return;
    number = say_call("xQueueCreateStatic");
    MEASURED(number, queues[which] = make(which));
}

static void create(void)
{
    QueueHandle_t *place = &created[chance(CREATED)];
    const unsigned length = 1 + chance(4);
    const unsigned size = chance(20);
    unsigned number;

    if (*place != NULL) {
        number = say_call("vQueueDelete");
        say("below", free_blocks_below(*place));
        MEASURED(number, vQueueDelete(*place));
        *place = NULL;
        return;
    }
    number = say_call("xQueueCreate");
    say("N", free_blocks());
    say("size", size);
    MEASURED(number, *place = xQueueCreate(length, size));
    say_result(number, *place != NULL);
}

const struct choice queue_choices[] = {
    {send, 6},      {receive, 6}, {send_to_front, 2}, {overwrite, 3}, {peek, 2},
    {make_anew, 2}, {create, 2},  {reset, 1},         {count, 1},     {NULL, 0},
};

/* ---- in interrupts ------------------------------------------------------------------------ */

BaseType_t isr_send(void)
{
    const QueueHandle_t queue = some_queue();
    const uint8_t *item = some_buffer();
    const unsigned number = say_call("xQueueSendFromISR");
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    say_queue(queue, item, next_write(queue), receivers_of(queue));
    MEASURED(number, result = xQueueSendFromISR(queue, item, &woken));
    say_result(number, (unsigned)result);
    return woken;
}

BaseType_t isr_receive(void)
{
    const QueueHandle_t queue = some_queue();
    uint8_t *item = some_buffer();
    const unsigned number = say_call("xQueueReceiveFromISR");
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    say_queue(queue, next_read(queue), item, senders_of(queue));
    MEASURED(number, result = xQueueReceiveFromISR(queue, item, &woken));
    say_result(number, (unsigned)result);
    return woken;
}

BaseType_t isr_peek(void)
{
    const QueueHandle_t queue = some_queue();
    uint8_t *item = some_buffer();
    const unsigned number = say_call("xQueuePeekFromISR");
    BaseType_t result;

    say_queue(queue, next_read(queue), item, senders_of(queue));
    MEASURED(number, result = xQueuePeekFromISR(queue, item));
    say_result(number, (unsigned)result);
    return pdFALSE;
}
