/* Reads the kernel's own data: control blocks by the layout that StaticTask_t and the like repeat,
 * lists by list.h, the heap's free list by its links. */
#include "random.h"

struct block {
    struct block *next;
    size_t bytes;
};

extern struct block xStart;
extern struct block *pxEnd;

unsigned free_blocks(void)
{
    return free_blocks_below((void *)UINTPTR_MAX);
}

unsigned free_blocks_below(const void *below)
{
    unsigned count = 0;

    for (const struct block *at = xStart.next; at != pxEnd; at = at->next)
        if ((const void *)at < below)
            count++;
    return count;
}

#define FOR_EACH(item, list)                                                                       \
    for (const ListItem_t *item = listGET_HEAD_ENTRY(list);                                        \
         item != (const ListItem_t *)listGET_END_MARKER(list); item = listGET_NEXT(item))

static unsigned no_later(const List_t *list, TickType_t wake)
{
    unsigned count = 0;

    FOR_EACH (item, list)
        if (listGET_LIST_ITEM_VALUE(item) <= wake)
            count++;
    return count;
}

unsigned delayed_before(TickType_t ticks)
{
    const TickType_t wake = xTickCount + ticks;

    return no_later(wake < xTickCount ? pxOverflowDelayedTaskList : pxDelayedTaskList, wake);
}

int wraps_within(TickType_t ticks)
{
    return (TickType_t)(xTickCount + ticks) < xTickCount;
}

/* Tasks that were woken while the scheduler was locked stand in the list of delayed tasks still. */
static unsigned wakes_no_later(const List_t *list, TickType_t wake)
{
    unsigned count = 0;

    FOR_EACH (item, list) {
        const StaticTask_t *task = listGET_LIST_ITEM_OWNER(item);

        if (listGET_LIST_ITEM_VALUE(item) <= wake &&
            listLIST_ITEM_CONTAINER((const ListItem_t *)&task->xDummy3[1]) != &xPendingReadyList)
            count++;
    }
    return count;
}

unsigned woken_by(TickType_t ticks)
{
    const TickType_t wake = xTickCount + ticks;

    if (ticks == 0)
        return 0;
    if (wraps_within(ticks))
        return wakes_no_later(pxDelayedTaskList, portMAX_DELAY) +
               wakes_no_later(pxOverflowDelayedTaskList, wake);
    return wakes_no_later(pxDelayedTaskList, wake);
}

unsigned delayed_after(TickType_t ticks)
{
    const TickType_t wake = xTickCount + ticks;
    const List_t *list = wraps_within(ticks) ? pxOverflowDelayedTaskList : pxDelayedTaskList;

    return wakes_no_later(list, portMAX_DELAY) - (ticks > 0 ? wakes_no_later(list, wake) : 0);
}

static const StaticTask_t *control(TaskHandle_t task)
{
    return (const StaticTask_t *)(task != NULL ? task : xTaskGetCurrentTaskHandle());
}

UBaseType_t priority_of(TaskHandle_t task)
{
    return control(task)->uxDummy5;
}

UBaseType_t base_priority_of(TaskHandle_t task)
{
    return control(task)->uxDummy12[0];
}

unsigned mutexes_of(TaskHandle_t task)
{
    return (unsigned)control(task)->uxDummy12[1];
}

int is_in_a_list(const StaticListItem_t *item)
{
    return listLIST_ITEM_CONTAINER((const ListItem_t *)item) != NULL;
}

static const List_t *state_list(TaskHandle_t task)
{
    return listLIST_ITEM_CONTAINER((const ListItem_t *)&control(task)->xDummy3[0]);
}

int waits_for_event(TaskHandle_t task)
{
    return listLIST_ITEM_CONTAINER((const ListItem_t *)&control(task)->xDummy3[1]) != NULL;
}

int is_ready(TaskHandle_t task)
{
    const List_t *list = state_list(task);

    return list >= pxReadyTasksLists && list < pxReadyTasksLists + configMAX_PRIORITIES;
}

unsigned where_is(TaskHandle_t task)
{
    const List_t *list = state_list(task);

    if (is_ready(task))
        return 0;
    if (listLIST_ITEM_CONTAINER((const ListItem_t *)&control(task)->xDummy3[1]) ==
        &xPendingReadyList)
        return 3;
    return list == &xSuspendedTaskList ? 2 : 1;
}

unsigned delayed_tasks(void)
{
    return (unsigned)pxDelayedTaskList->uxNumberOfItems;
}

unsigned delayed_beside(TaskHandle_t task)
{
    return (unsigned)pxDelayedTaskList->uxNumberOfItems - (state_list(task) == pxDelayedTaskList);
}

UBaseType_t urgent_ready(void)
{
    const TaskHandle_t self = xTaskGetCurrentTaskHandle();

    for (UBaseType_t priority = configMAX_PRIORITIES; priority-- > 0;)
        FOR_EACH (item, &pxReadyTasksLists[priority])
            if (listGET_LIST_ITEM_OWNER(item) != self)
                return priority;
    return 0;
}

/* ---- queues ------------------------------------------------------------------------------- */

static StaticQueue_t *queue_control(QueueHandle_t queue)
{
    return (StaticQueue_t *)queue;
}

List_t *senders_of(QueueHandle_t queue)
{
    return (List_t *)&queue_control(queue)->xDummy3[0];
}

List_t *receivers_of(QueueHandle_t queue)
{
    return (List_t *)&queue_control(queue)->xDummy3[1];
}

unsigned length_of(QueueHandle_t queue)
{
    return (unsigned)queue_control(queue)->uxDummy4[1];
}

unsigned item_size_of(QueueHandle_t queue)
{
    return (unsigned)queue_control(queue)->uxDummy4[2];
}

uint8_t *next_write(QueueHandle_t queue)
{
    return queue_control(queue)->pvDummy1[1];
}

uint8_t *next_front(QueueHandle_t queue)
{
    return queue_control(queue)->u.pvDummy2;
}

uint8_t *next_read(QueueHandle_t queue)
{
    uint8_t *at = next_front(queue) + item_size_of(queue);

    return at >= (uint8_t *)queue_control(queue)->pvDummy1[2] ? queue_control(queue)->pvDummy1[0]
                                                              : at;
}

int is_locked(QueueHandle_t queue)
{
    return queue_control(queue)->ucDummy5[0] != 0xff || queue_control(queue)->ucDummy5[1] != 0xff;
}

QueueHandle_t set_of(QueueHandle_t queue)
{
    return queue_control(queue)->pvDummy7;
}

/* ---- those that wait ---------------------------------------------------------------------- */

unsigned waiting_before(const List_t *list)
{
    return no_later(list, configMAX_PRIORITIES - priority_of(NULL));
}

TaskHandle_t first_of(const List_t *list)
{
    return listLIST_IS_EMPTY(list) ? NULL : listGET_OWNER_OF_HEAD_ENTRY(list);
}

UBaseType_t most_urgent_of(const List_t *list)
{
    UBaseType_t most = 0;

    FOR_EACH (item, list)
        if (priority_of(listGET_LIST_ITEM_OWNER(item)) > most)
            most = priority_of(listGET_LIST_ITEM_OWNER(item));
    return most;
}

void say_waiting(const List_t *list)
{
    const TaskHandle_t first = first_of(list);

    say("waiting", (unsigned)list->uxNumberOfItems);
    if (first != NULL)
        say("first", (unsigned)priority_of(first));
    say("me", (unsigned)priority_of(NULL));
    say("locked", (unsigned)uxSchedulerSuspended);
}

int wait_was_aborted(void)
{
    return ((const StaticTask_t *)xTaskGetCurrentTaskHandle())->ucDummy21 != pdFALSE;
}

void say_limit(TickType_t ticks, const List_t *list)
{
    say("limit", ticks > 4000 ? 4000 : (unsigned)ticks);
    if (ticks == 0)
        return;
    say("left", (unsigned)wait_was_aborted());
    say("D", ticks == portMAX_DELAY ? 0 : delayed_before(ticks));
    if (list != NULL)
        say("W", waiting_before(list));
}
