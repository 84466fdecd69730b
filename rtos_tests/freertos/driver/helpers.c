#include "helpers.h"

#include "board.h"
#include "event_groups.h"
#include "semphr.h"
#if configUSE_TIMERS == 1
#include "timers.h"
#endif

#define STACK_WORDS configMINIMAL_STACK_SIZE

enum order { PARK, DELAY, RECEIVE, TAKE, SEND, CALL };

static struct helper {
    volatile enum order order;
    BaseType_t result;
    TickType_t ticks;
    QueueHandle_t queue;
    void *item;
    helper_function *function;
    TaskHandle_t handle;
} helpers[HELPERS_ALL];

static unsigned started;
static StaticTask_t controls[HELPERS_ALL] KERNEL_OBJECT;
static StackType_t stacks[HELPERS_ALL][STACK_WORDS] TASK_STACK;

static void helper_task(void *argument)
{
    struct helper *self = argument;

    for (;;) {
        (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        switch (self->order) {
        case PARK:
            break;
        case DELAY:
            vTaskDelay(self->ticks);
            self->result = pdPASS;
            break;
        case RECEIVE:
            self->result = xQueueReceive(self->queue, self->item, self->ticks);
            break;
        case TAKE:
            self->result = xSemaphoreTake(self->queue, self->ticks);
            break;
        case SEND:
            self->result = xQueueSend(self->queue, self->item, self->ticks);
            break;
        case CALL:
            self->result = self->function(self->item);
            break;
        }
        self->order = PARK;
    }
}

/* The timers' task stands above them all. */
UBaseType_t helper_priority(unsigned helper)
{
    const UBaseType_t wanted = PRIORITY_DRIVER + 1 + helper;

    return wanted < configMAX_PRIORITIES - 1 ? wanted : configMAX_PRIORITIES - 2;
}

void helpers_start(unsigned count)
{
    CHECK(started == 0 && count <= HELPERS_ALL);
    for (; started < count; started++) {
        struct helper *helper = &helpers[started];

        helper->order = PARK;
        helper->handle = xTaskCreateStatic(helper_task, HELPER_NAME("s"), STACK_WORDS, helper,
                                           helper_priority(started), stacks[started],
                                           &controls[started]);
        CHECK(helper->handle != NULL);
    }
}

void helpers_stop(void)
{
    while (started > 0)
        vTaskDelete(helpers[--started].handle);
}

static void give_order(unsigned number, enum order order, QueueHandle_t queue, void *item,
                       TickType_t ticks)
{
    struct helper *helper = &helpers[number];

    CHECK(number < started && helper->order == PARK);
    helper->queue = queue;
    helper->item = item;
    helper->ticks = ticks;
    helper->order = order;
    (void)xTaskNotifyGive(helper->handle);
}

void helper_delay(unsigned helper, TickType_t ticks)
{
    give_order(helper, DELAY, NULL, NULL, ticks);
    CHECK(helper_busy(helper));
}

void helper_receive(unsigned helper, QueueHandle_t queue, void *item, TickType_t ticks)
{
    give_order(helper, RECEIVE, queue, item, ticks);
    CHECK(helper_busy(helper));
}

void helper_take(unsigned helper, QueueHandle_t semaphore, TickType_t ticks)
{
    give_order(helper, TAKE, semaphore, NULL, ticks);
    CHECK(helper_busy(helper));
}

void helper_send(unsigned helper, QueueHandle_t queue, const void *item, TickType_t ticks)
{
    give_order(helper, SEND, queue, (void *)(uintptr_t)item, ticks);
    CHECK(helper_busy(helper));
}

void helper_call(unsigned helper, helper_function *function, void *argument)
{
    CHECK(helper < started);
    helpers[helper].function = function;
    give_order(helper, CALL, NULL, argument, 0);
    CHECK(helper_busy(helper));
}

int helper_busy(unsigned helper)
{
    return helpers[helper].order != PARK;
}

BaseType_t helper_result(unsigned helper)
{
    return helpers[helper].result;
}

TaskHandle_t helper_handle(unsigned helper)
{
    return helpers[helper].handle;
}

int swept(unsigned bytes, unsigned delayed, unsigned waiting)
{
    const int few_bytes = bytes == STREAM_BYTES_MIN || bytes == ITEM_BYTES_MAX;
    const int few_delayed = delayed <= 3 || delayed == 5 || delayed == DELAYED_MAX;
    const int few_waiting = waiting <= 3 || waiting >= 5;

    return (delayed == 1 && waiting == 1) || (few_bytes && few_delayed && few_waiting);
}

int few_bytes(unsigned bytes, unsigned state)
{
    return state == 0 || bytes <= 8 || bytes % 16 <= 1 || bytes == ITEM_BYTES_MAX - 1;
}

int few(unsigned count, unsigned state)
{
    return state == 0 || count <= 2 || count >= 5;
}

int swept_in(unsigned state, unsigned bytes, unsigned delayed, unsigned waiting)
{
    return swept(bytes, delayed, waiting) && few_bytes(bytes, state);
}

List_t *list_of(TaskHandle_t task)
{
    return ((StaticTask_t *)task)->xDummy3[0].pvDummy3[3];
}

void put_index_on(TaskHandle_t task)
{
    list_of(task)->pxIndex = (ListItem_t *)&((StaticTask_t *)task)->xDummy3[0];
}

void clock_wraps_in(TickType_t ticks)
{
    xTickCount = portMAX_DELAY - ticks + 1;
}

void let_clock_wrap(void)
{
    while (xTickCount > portMAX_DELAY / 2)
        board_tick();
}

#if DRIVER_WHOLE
enum wait_ending wait_ending;

BaseType_t ends_wait(void *unused)
{
    (void)unused;
#if INCLUDE_xTaskAbortDelay == 1
    if (wait_ending == WAIT_IS_ABORTED) {
        vTaskDelay(IN_VAIN - 1);
        return xTaskAbortDelay(driver_handle);
    }
#endif
    vTaskDelay(IN_VAIN);
    let_clock_wrap();
    return pdPASS;
}

#if INCLUDE_xTaskAbortDelay == 1
void leave_wait_aborted(void)
{
    static StaticEventGroup_t group_control KERNEL_OBJECT;
    const EventGroupHandle_t group = xEventGroupCreateStatic(&group_control);

    wait_ending = WAIT_IS_ABORTED;
    helpers_start(1);
    helper_call(0, ends_wait, NULL);
    CHECK(xEventGroupWaitBits(group, 1, pdFALSE, pdFALSE, IN_VAIN) == 0);
    helpers_stop();
    CHECK(wait_was_aborted());
}

int wait_was_aborted(void)
{
    return ((StaticTask_t *)driver_handle)->ucDummy21 != pdFALSE;
}
#endif

BaseType_t ends_wait_and_lifts(void *mutex)
{
    const TaskHandle_t holder = xSemaphoreGetMutexHolder(mutex);

    CHECK(ends_wait(NULL) == pdPASS);
    vTaskPrioritySet(driver_handle, PRIORITY_DRIVER + 1);
    CHECK(uxTaskPriorityGet(holder) == PRIORITY_DRIVER && eTaskGetState(holder) == eReady);
    CHECK(listCURRENT_LIST_LENGTH(list_of(holder)) == 1);
    return pdPASS;
}
#endif

void clock_far_from_wrap(void)
{
    xTickCount = 100000;
}

void pass_time(TickType_t ticks)
{
    while (ticks-- > 0)
        board_tick();
}

#if configUSE_TIMERS == 1
static StaticTimer_t timer_control KERNEL_OBJECT;

static void far_timer_expired(TimerHandle_t unused)
{
    (void)unused;
}

void timers_task_delayed(BaseType_t wanted)
{
    static TimerHandle_t timer;

    if (timer == NULL)
        timer = xTimerCreateStatic("far away", 100000, pdTRUE, NULL, far_timer_expired, &timer_control);
    CHECK((wanted ? xTimerStart(timer, 0) : xTimerStop(timer, 0)) == pdPASS);
}
#else
void timers_task_delayed(BaseType_t wanted)
{
    (void)wanted;
}
#endif

#if configUSE_TIMERS == 1
static volatile int gives_way;

static void stays_ready(void *unused, uint32_t unused_too)
{
    (void)unused;
    (void)unused_too;
    gives_way = 1;
    vTaskPrioritySet(NULL, tskIDLE_PRIORITY);
    while (gives_way)
        taskYIELD();
}

/* The timers' task stands there, unless it is ready and less urgent than all others. Nor is it delayed then: a
 * service may ask whether any task is. */
void suspended_in_front(enum in_front who)
{
    if (who == NOBODY_IN_FRONT)
        CHECK(xTimerPendFunctionCall(stays_ready, NULL, 0, 0) == pdPASS);
    CHECK(gives_way == (who == NOBODY_IN_FRONT));
}

void suspended_as_before(void)
{
    gives_way = 0;
    vTaskPrioritySet(xTimerGetTimerDaemonTaskHandle(), configTIMER_TASK_PRIORITY);
}
#else
static StaticTask_t front_control KERNEL_OBJECT;
static StackType_t front_stack[STACK_WORDS] TASK_STACK;
static TaskHandle_t front;
static volatile int front_runs;

static void stays_suspended(void *unused)
{
    (void)unused;
    front_runs = 1;
    vTaskSuspend(NULL);
    CHECK(0);
}

void suspended_in_front(enum in_front who)
{
    if (who == ANOTHER_IN_FRONT) {
        front = xTaskCreateStatic(stays_suspended, HELPER_NAME("s"), STACK_WORDS, NULL, PRIORITY_DRIVER + 1,
                                  front_stack, &front_control);
        CHECK(front_runs);
    }
}

void suspended_as_before(void)
{
    if (front != NULL)
        vTaskDelete(front);
    front = NULL;
    front_runs = 0;
}
#endif

void another_delayed(int wanted)
{
    timers_task_delayed(wanted ? pdTRUE : pdFALSE);
    if (wanted) {
        helpers_start(1);
        helper_delay(0, 1000);
    } else {
        helpers_stop();
    }
}
