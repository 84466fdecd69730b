/* Small calls: what they return is checked, and there is hardly a state that makes them longer. */
#include "driver.h"

#if DRIVER_WHOLE

#include "board.h"
#include "helpers.h"
#include "semphr.h"

#include "event_groups.h"
#include "message_buffer.h"
#include "stream_buffer.h"
#if configUSE_TIMERS == 1
#include "timers.h"
#endif

#define BUFFER_BYTES 31u

/* More urgent than all helpers. 19 may be the timers' task. */
#define PRIORITY_ABOVE_ALL 18

static uint8_t storage[BUFFER_BYTES + 1] KERNEL_OBJECT __attribute__((aligned(8)));
static uint8_t item[BUFFER_BYTES + 1] CALLER_DATA __attribute__((aligned(8)));
static StaticQueue_t control KERNEL_OBJECT;
static StaticEventGroup_t group_control KERNEL_OBJECT;
static StaticStreamBuffer_t stream_control KERNEL_OBJECT;
static StaticTask_t victim_control KERNEL_OBJECT;
static StackType_t victim_stack[configMINIMAL_STACK_SIZE] TASK_STACK;
static QueueHandle_t queue;
static StreamBufferHandle_t stream;

/* Where the calls put what they find. */
static StackType_t *found_stack CALLER_DATA;
static StaticTask_t *found_task CALLER_DATA;
static uint8_t *found_storage CALLER_DATA;
static StaticQueue_t *found_queue CALLER_DATA;
static StaticEventGroup_t *found_group CALLER_DATA;
static StaticStreamBuffer_t *found_stream CALLER_DATA;

/* ---- tasks ----------------------------------------------------------------------------------- */

static void base_priority_from_isr(void)
{
    UBaseType_t priority;

    MEASURE(SERVICE_UXTASKBASEPRIORITYGETFROMISR, priority = uxTaskBasePriorityGetFromISR(NULL));
    CHECK(priority == PRIORITY_DRIVER);
}

/* Worst: not another task is asked for, but the caller, which is looked up. */
static void measure_tasks_own(void)
{
    UBaseType_t priority;
    BaseType_t result;
    TaskHandle_t idle;

    MEASURE(SERVICE_UXTASKBASEPRIORITYGET, priority = uxTaskBasePriorityGet(NULL));
    CHECK(priority == PRIORITY_DRIVER);
    in_interrupt(base_priority_from_isr);
    MEASURE(SERVICE_XTASKGETSTATICBUFFERS,
            result = xTaskGetStaticBuffers(NULL, &found_stack, &found_task));
    CHECK(result == pdTRUE && found_task == (StaticTask_t *)driver_handle);
    MEASURE(SERVICE_XTASKGETIDLETASKHANDLE, idle = xTaskGetIdleTaskHandle());
    CHECK(uxTaskPriorityGet(idle) == 0);
    vTaskSuspendAll();
    MEASURE(SERVICE_XTASKGETSCHEDULERSTATE, result = xTaskGetSchedulerState());
    CHECK(result == taskSCHEDULER_SUSPENDED);
    (void)xTaskResumeAll();
}

static void deletes_itself(void *unused)
{
    (void)unused;
    vTaskDelete(NULL);
}

/* Worst: T tasks are ready, each in a list of its own, with names that differ from the one that is
 * looked for in the last character only; the task that has it deleted itself, and stands in the list
 * that is looked at last. */
static void measure_handle(unsigned others)
{
    static const char name[] CALLER_CONSTANT = HELPER_NAME("V");
    TaskHandle_t victim, found;

    helpers_start(others);
    vTaskPrioritySet(NULL, PRIORITY_ABOVE_ALL - 1);
    for (unsigned i = 0; i < others; i++)
        (void)xTaskNotifyGive(helper_handle(i));
    victim = xTaskCreateStatic(deletes_itself, name, configMINIMAL_STACK_SIZE, NULL,
                               PRIORITY_ABOVE_ALL, victim_stack, &victim_control);
    for (unsigned i = 0; i < others; i++)
        CHECK(eTaskGetState(helper_handle(i)) == eReady);
    wcet_param(0, others);
    MEASURE(SERVICE_XTASKGETHANDLE, found = xTaskGetHandle(name));
    CHECK(found == victim && eTaskGetState(victim) == eDeleted);
    vTaskPrioritySet(NULL, PRIORITY_DRIVER);
    helpers_stop();
    /* The idle task takes its memory back. */
    vTaskDelay(1);
}

/* ---- queues ---------------------------------------------------------------------------------- */

static void queue_from_isr(void)
{
    BaseType_t result;
    UBaseType_t count;

    MEASURE(SERVICE_XQUEUEISQUEUEEMPTYFROMISR, result = xQueueIsQueueEmptyFromISR(queue));
    CHECK(result == pdFALSE);
    MEASURE(SERVICE_XQUEUEISQUEUEFULLFROMISR, result = xQueueIsQueueFullFromISR(queue));
    CHECK(result == pdTRUE);
    MEASURE(SERVICE_UXQUEUEMESSAGESWAITINGFROMISR, count = uxQueueMessagesWaitingFromISR(queue));
    CHECK(count == 1);
}

static void holder_from_isr(void)
{
    TaskHandle_t holder;

    MEASURE(SERVICE_XSEMAPHOREGETMUTEXHOLDERFROMISR,
            holder = xSemaphoreGetMutexHolderFromISR(queue));
    CHECK(holder == driver_handle);
}

static void measure_queues_own(void)
{
    UBaseType_t count;
    BaseType_t result;

    queue = xQueueCreateStatic(1, 4, storage, &control);
    CHECK(xQueueSend(queue, item, 0) == pdTRUE);
    in_interrupt(queue_from_isr);
    MEASURE(SERVICE_XQUEUEGETSTATICBUFFERS,
            result = xQueueGetStaticBuffers(queue, &found_storage, &found_queue));
    CHECK(result == pdTRUE && found_storage == storage && found_queue == &control);
    MEASURE(SERVICE_UXQUEUEGETQUEUEITEMSIZE, count = uxQueueGetQueueItemSize(queue));
    CHECK(count == 4);
    MEASURE(SERVICE_UXQUEUEGETQUEUELENGTH, count = uxQueueGetQueueLength(queue));
    CHECK(count == 1);
    queue = xSemaphoreCreateMutexStatic(&control);
    CHECK(xSemaphoreTake(queue, 0) == pdTRUE);
    in_interrupt(holder_from_isr);
    CHECK(xSemaphoreGive(queue) == pdTRUE);
}

/* ---- event groups, stream and message buffers ------------------------------------------------ */

static BaseType_t receives(void *unused)
{
    (void)unused;
    return xStreamBufferReceive(stream, item, 1, portMAX_DELAY) == 0;
}

static BaseType_t sends(void *unused)
{
    (void)unused;
    return xStreamBufferSend(stream, item, 1, 1000) == 0;
}

static unsigned urgency; /* of the task that waits (helpers.h) */

static void send_completed_from_isr(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    BaseType_t result;

    wcet_param(0, urgency);
    MEASURE(SERVICE_XSTREAMBUFFERSENDCOMPLETEDFROMISR_WAITER,
            result = xStreamBufferSendCompletedFromISR(stream, told));
    CHECK(result == pdTRUE && woken == (urgency == TOLD));
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

static void receive_completed_from_isr(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    BaseType_t result;

    wcet_param(0, urgency);
    MEASURE(SERVICE_XSTREAMBUFFERRECEIVECOMPLETEDFROMISR_WAITER,
            result = xStreamBufferReceiveCompletedFromISR(stream, told));
    CHECK(result == pdTRUE && woken == (urgency == TOLD));
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

static void reset_from_isr(void)
{
    BaseType_t result;

    MEASURE(SERVICE_XSTREAMBUFFERRESETFROMISR, result = xStreamBufferResetFromISR(stream));
    CHECK(result == pdTRUE);
}

/* Waits on the other side while `completed` is called, and is readied; more urgent than what is interrupted,
 * or not. It looks once more, and waits again, or is done. */
static void complete(helper_function *order, void (*completed)(void), int done)
{
    helper_call(0, order, NULL);
    if (urgency == STAYS)
        vTaskPrioritySet(helper_handle(0), PRIORITY_CREATED);
    in_interrupt(completed);
    CHECK(urgency != STAYS || eTaskGetState(helper_handle(0)) == eReady);
    vTaskPrioritySet(helper_handle(0), helper_priority(0));
    CHECK(helper_busy(0) == !done && (!done || helper_result(0) == pdTRUE));
}

static void measure_buffers_own(void)
{
    EventGroupHandle_t group = xEventGroupCreateStatic(&group_control);
    UBaseType_t number;
    BaseType_t result;
    size_t bytes;

    MEASURE(SERVICE_XEVENTGROUPGETSTATICBUFFER,
            result = xEventGroupGetStaticBuffer(group, &found_group));
    CHECK(result == pdTRUE && found_group == &group_control);

    stream = xStreamBufferCreateStatic(BUFFER_BYTES, 1, storage, &stream_control);
    MEASURE(SERVICE_XSTREAMBUFFERGETSTATICBUFFERS,
            result = xStreamBufferGetStaticBuffers(stream, &found_storage, &found_stream));
    CHECK(result == pdTRUE && found_storage == storage && found_stream == &stream_control);
    MEASURE(SERVICE_VSTREAMBUFFERSETSTREAMBUFFERNOTIFICATIONINDEX,
            vStreamBufferSetStreamBufferNotificationIndex(stream, 0));
    MEASURE(SERVICE_UXSTREAMBUFFERGETSTREAMBUFFERNOTIFICATIONINDEX,
            number = uxStreamBufferGetStreamBufferNotificationIndex(stream));
    CHECK(number == 0);

    for (urgency = 0; urgency < ISR_STATES; urgency++) {
        stream = xStreamBufferCreateStatic(BUFFER_BYTES, 1, storage, &stream_control);
        helpers_start(1);
        complete(receives, send_completed_from_isr, 1);
        CHECK(xStreamBufferSend(stream, item, BUFFER_BYTES - 1, 0) == BUFFER_BYTES - 1);
        complete(sends, receive_completed_from_isr, 0);
        helpers_stop();
        CHECK(xStreamBufferIsFull(stream));
    }
    stream = xStreamBufferCreateStatic(BUFFER_BYTES, 1, storage, &stream_control);
    CHECK(xStreamBufferSend(stream, item, 2, 0) == 2);
    in_interrupt(reset_from_isr);
    CHECK(xStreamBufferIsEmpty(stream));

    /* Worst: the length of the message wraps around. */
    stream = xMessageBufferCreateStatic(BUFFER_BYTES, storage, &stream_control);
    stream_control.uxDummy1[0] = BUFFER_BYTES - 1;
    stream_control.uxDummy1[1] = BUFFER_BYTES - 1;
    CHECK(xMessageBufferSend(stream, item, 7, 0) == 7);
    MEASURE(SERVICE_XSTREAMBUFFERNEXTMESSAGELENGTHBYTES,
            bytes = xStreamBufferNextMessageLengthBytes(stream));
    CHECK(bytes == 7);
}

/* ---- heap ------------------------------------------------------------------------------------ */

static void measure_heap_own(void)
{
    size_t bytes;

    MEASURE(SERVICE_XPORTRESETHEAPMINIMUMEVERFREEHEAPSIZE,
            xPortResetHeapMinimumEverFreeHeapSize());
    MEASURE(SERVICE_XPORTGETMINIMUMEVERFREEHEAPSIZE,
            bytes = xPortGetMinimumEverFreeHeapSize());
    CHECK(bytes == xPortGetFreeHeapSize());
}

/* ---- what only some configurations have -------------------------------------------------------- */

#if configUSE_APPLICATION_TASK_TAG == 1
CALLER_TEXT static BaseType_t task_hook(void *unused)
{
    (void)unused;
    return 7;
}

static void tag_from_isr(void)
{
    TaskHookFunction_t tag;

    MEASURE(SERVICE_XTASKGETAPPLICATIONTASKTAGFROMISR,
            tag = xTaskGetApplicationTaskTagFromISR(NULL));
    CHECK(tag == task_hook);
}

static void measure_tags(void)
{
    TaskHookFunction_t tag;
    BaseType_t result;

    MEASURE(SERVICE_VTASKSETAPPLICATIONTASKTAG, vTaskSetApplicationTaskTag(NULL, task_hook));
    MEASURE(SERVICE_XTASKGETAPPLICATIONTASKTAG, tag = xTaskGetApplicationTaskTag(NULL));
    CHECK(tag == task_hook);
    in_interrupt(tag_from_isr);
    MEASURE(SERVICE_XTASKCALLAPPLICATIONTASKHOOK,
            result = xTaskCallApplicationTaskHook(NULL, NULL));
    CHECK(result == 7);
}
#endif

#if configNUM_THREAD_LOCAL_STORAGE_POINTERS > 0
static void measure_thread_local(void)
{
    void *word;

    MEASURE(SERVICE_VTASKSETTHREADLOCALSTORAGEPOINTER,
            vTaskSetThreadLocalStoragePointer(NULL, 0, &item));
    MEASURE(SERVICE_PVTASKGETTHREADLOCALSTORAGEPOINTER,
            word = pvTaskGetThreadLocalStoragePointer(NULL, 0));
    CHECK(word == &item);
}
#endif

#if configUSE_TIMERS == 1
static StaticTimer_t timer_control KERNEL_OBJECT;
static StaticTimer_t *found_timer CALLER_DATA;
static const char timer_name[] CALLER_CONSTANT = "asked for its name";

static void queried_timer_expired(TimerHandle_t unused)
{
    (void)unused;
}

static void measure_timers_own(void)
{
    TimerHandle_t timer =
        xTimerCreateStatic(timer_name, 100, pdTRUE, NULL, queried_timer_expired, &timer_control);
    const char *name;
    TaskHandle_t task;
    BaseType_t result;
    UBaseType_t mode;

    MEASURE(SERVICE_PCTIMERGETNAME, name = pcTimerGetName(timer));
    CHECK(name == timer_name);
    MEASURE(SERVICE_XTIMERGETTIMERDAEMONTASKHANDLE, task = xTimerGetTimerDaemonTaskHandle());
    CHECK(uxTaskPriorityGet(task) == configTIMER_TASK_PRIORITY);
    MEASURE(SERVICE_XTIMERGETRELOADMODE, result = xTimerGetReloadMode(timer));
    CHECK(result == pdTRUE);
    MEASURE(SERVICE_UXTIMERGETRELOADMODE, mode = uxTimerGetReloadMode(timer));
    CHECK(mode == pdTRUE);
    MEASURE(SERVICE_XTIMERGETSTATICBUFFER, result = xTimerGetStaticBuffer(timer, &found_timer));
    CHECK(result == pdTRUE && found_timer == &timer_control);
}
#endif

void measure_queries(void)
{
    measure_tasks_own();
    for (unsigned others = 1; others <= DELAYED_MAX; others++)
        measure_handle(others);
    measure_queues_own();
    measure_buffers_own();
    measure_heap_own();
#if configUSE_APPLICATION_TASK_TAG == 1
    measure_tags();
#endif
#if configNUM_THREAD_LOCAL_STORAGE_POINTERS > 0
    measure_thread_local();
#endif
#if configUSE_TIMERS == 1
    measure_timers_own();
#endif
}

#endif
