/* What watches the kernel: stacks, tasks and how long they ran, and the names and numbers that they and other things
 * have. */
#include "driver.h"

#if DRIVER_WATCHES

#include "board.h"
#include "event_groups.h"
#include "helpers.h"
#include "semphr.h"
#include "stream_buffer.h"
#include "timers.h"

#define STACK_WORDS configMINIMAL_STACK_SIZE
#define BYTES_MAX 32u
#define BYTES_OF_EACH_MAX 8u
#define TASKS_MAX 10u
#define OTHERS_MAX (TASKS_MAX - TASKS_ALWAYS)

static StaticTask_t controls[OTHERS_MAX] KERNEL_OBJECT;
static StackType_t stacks[OTHERS_MAX][STACK_WORDS] TASK_STACK;
static StaticQueue_t queue_controls[configQUEUE_REGISTRY_SIZE] KERNEL_OBJECT;
static QueueHandle_t queues[configQUEUE_REGISTRY_SIZE];
static StaticQueue_t other_control KERNEL_OBJECT;
static StaticQueue_t nobody_gives_control KERNEL_OBJECT;
static QueueHandle_t nobody_gives;
static TaskStatus_t found[TASKS_MAX] CALLER_DATA;
static configRUN_TIME_COUNTER_TYPE run_time CALLER_DATA;
static configRUN_TIME_COUNTER_TYPE run_time_now CALLER_DATA;
static StaticEventGroup_t group_control KERNEL_OBJECT;
static StaticStreamBuffer_t buffer_control KERNEL_OBJECT;
static uint8_t buffer_storage[8] KERNEL_OBJECT;
static StaticTimer_t timer_control KERNEL_OBJECT;

/* The kernel's own; the timers' task gives its queue a name. */
extern struct {
    const char *name;
    QueueHandle_t queue;
} xQueueRegistry[];

static const char name[] CALLER_CONSTANT = "name";

/* The clock that tells how long tasks run. It has gone on whenever it is read, so that there is something to add. */
CALLER_TEXT unsigned driver_run_time(void)
{
    return (unsigned)++run_time_now;
}

static void suspends_itself(void *unused)
{
    (void)unused;
    for (;;)
        vTaskSuspend(NULL);
}

static void waits_for_notification(void *unused)
{
    (void)unused;
    for (;;)
        (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
}

static void waits_for_ever(void *unused)
{
    (void)unused;
    (void)xSemaphoreTake(nobody_gives, portMAX_DELAY);
    CHECK(!"a semaphore was taken that nobody gives");
}

static void never_runs(void *unused)
{
    (void)unused;
    CHECK(!"a task of lower priority ran");
}

static void deletes_itself(void *unused)
{
    (void)unused;
    vTaskDelete(NULL);
}

static void is_delayed(void *unused)
{
    (void)unused;
    vTaskDelay(1000);
}

static TaskHandle_t create(unsigned number, TaskFunction_t function, UBaseType_t priority)
{
    const TaskHandle_t task = xTaskCreateStatic(function, name, STACK_WORDS, NULL, priority,
                                                stacks[number], &controls[number]);

    CHECK(task == (TaskHandle_t)&controls[number]);
    return task;
}

/* From the stack's end on; no task needs that much of its stack. */
static void leave_unused(TaskHandle_t task, unsigned bytes)
{
    uint8_t *const stack = ((StaticTask_t *)task)->pxDummy6;

    for (unsigned i = 0; i < bytes; i++)
        stack[i] = 0xa5;
    stack[bytes] = 0;
}

static void measure_stacks(void)
{
    for (unsigned bytes = 1; bytes <= BYTES_MAX; bytes++) {
        unsigned words;

        leave_unused(driver_handle, bytes);
        wcet_param(0, bytes);
        MEASURE(SERVICE_UXTASKGETSTACKHIGHWATERMARK, words = uxTaskGetStackHighWaterMark(NULL));
        CHECK(words == bytes / sizeof(StackType_t));
        wcet_param(0, bytes);
        MEASURE(SERVICE_UXTASKGETSTACKHIGHWATERMARK2, words = uxTaskGetStackHighWaterMark2(NULL));
        CHECK(words == bytes / sizeof(StackType_t));
    }
}

/* The state is found out as by eTaskGetState, in the states of control.c; or the caller says that the task is
 * suspended, which is looked at with the scheduler locked; or that it is ready, which is not looked at but for
 * those that are readied later. Of the caller itself the state is known, but the clock is read. */
static void measure_info(void)
{
    static const struct {
        TaskFunction_t function;
        UBaseType_t priority;
        eTaskState said;
        eTaskState state;
    } ways[] = {
        {suspends_itself, PRIORITY_DRIVER + 1, eInvalid, eSuspended},
        {waits_for_notification, PRIORITY_DRIVER + 1, eInvalid, eBlocked},
        {waits_for_ever, PRIORITY_DRIVER + 1, eInvalid, eBlocked},
        {never_runs, PRIORITY_CREATED, eInvalid, eReady},
        {deletes_itself, PRIORITY_DRIVER + 1, eInvalid, eDeleted},
        {is_delayed, PRIORITY_DRIVER + 1, eInvalid, eBlocked},
        {suspends_itself, PRIORITY_DRIVER + 1, eSuspended, eSuspended},
        {waits_for_notification, PRIORITY_DRIVER + 1, eSuspended, eBlocked},
        {waits_for_ever, PRIORITY_DRIVER + 1, eSuspended, eBlocked},
        {never_runs, PRIORITY_CREATED, eReady, eReady},
        {NULL, PRIORITY_DRIVER, eInvalid, eRunning},
        {NULL, PRIORITY_DRIVER, eReady, eRunning},
    };

    for (unsigned way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
        const int itself = ways[way].function == NULL;
        const TaskHandle_t task = itself ? driver_handle : create(0, ways[way].function, ways[way].priority);

        for (unsigned bytes = 1; bytes <= BYTES_MAX; bytes++) {
            if (!few_bytes(bytes, way))
                continue;
            leave_unused(task, bytes);
            wcet_param(0, bytes);
            wcet_param(1, way);
            MEASURE(SERVICE_VTASKGETINFO,
                    vTaskGetInfo(itself ? NULL : task, &found[0], pdTRUE, ways[way].said));
            CHECK(found[0].eCurrentState == ways[way].state);
            CHECK(found[0].usStackHighWaterMark == bytes / sizeof(StackType_t));
        }
        if (ways[way].state == eDeleted)
            vTaskDelay(1); /* the idle task takes its memory back */
        else if (!itself)
            vTaskDelete(task);
        CHECK(uxTaskGetNumberOfTasks() == TASKS_ALWAYS);
    }
}

static void measure_task_number(void)
{
    const TaskHandle_t task = create(0, suspends_itself, PRIORITY_DRIVER + 1);
    UBaseType_t number;

    MEASURE(SERVICE_VTASKSETTASKNUMBER, vTaskSetTaskNumber(task, 7));
    MEASURE(SERVICE_UXTASKGETTASKNUMBER, number = uxTaskGetTaskNumber(task));
    CHECK(number == 7);
    vTaskDelete(task);
}

static unsigned notified;

static void notify_from_isr(void)
{
    for (unsigned i = 0; i < notified; i++)
        vTaskNotifyGiveFromISR((TaskHandle_t)&controls[i], NULL);
}

/* Of the others, one as of the rest: suspended; waiting for a notification, or for an event, without a time
 * limit; or readied by an interrupt, with the scheduler locked by the caller. */
#define WAYS 4u
#define READIED 3u

static void check_found(unsigned tasks, eTaskState state)
{
    unsigned others = 0;

    const TaskHandle_t timers_task = xTimerGetTimerDaemonTaskHandle();

    for (unsigned i = 0; i < tasks; i++)
        if (found[i].xHandle != driver_handle && found[i].xHandle != xIdleTaskHandles[0] &&
            found[i].xHandle != timers_task) {
            CHECK(found[i].eCurrentState == state);
            others++;
        }
    CHECK(others == tasks - TASKS_ALWAYS);
}

static void measure_all_tasks(unsigned others, unsigned way)
{
    static const TaskFunction_t functions[WAYS] = {suspends_itself, waits_for_notification,
                                                   waits_for_ever, waits_for_notification};
    static const eTaskState states[WAYS] = {eSuspended, eBlocked, eBlocked, eReady};
    UBaseType_t tasks;

    for (unsigned i = 0; i < others; i++)
        (void)create(i, functions[way], PRIORITY_DRIVER + 1);
    if (way == READIED) {
        vTaskSuspendAll();
        notified = others;
        in_interrupt(notify_from_isr);
    }
    for (unsigned bytes = 1; bytes <= BYTES_OF_EACH_MAX; bytes++) {
        leave_unused(driver_handle, bytes);
        leave_unused(xIdleTaskHandles[0], bytes);
        leave_unused(xTimerGetTimerDaemonTaskHandle(), bytes);
        for (unsigned i = 0; i < others; i++)
            leave_unused((TaskHandle_t)&controls[i], bytes);
        wcet_param(0, others + TASKS_ALWAYS);
        wcet_param(1, bytes);
        wcet_param(2, way);
        run_time = 1;
        MEASURE(SERVICE_UXTASKGETSYSTEMSTATE,
                tasks = uxTaskGetSystemState(found, TASKS_MAX, &run_time));
        CHECK(tasks == others + TASKS_ALWAYS && run_time == run_time_now);
        check_found(tasks, states[way]);
    }
    if (way == READIED)
        CHECK(xTaskResumeAll() == pdTRUE);
    for (unsigned i = 0; i < others; i++)
        vTaskDelete((TaskHandle_t)&controls[i]);
}

/* The registry is empty; all places but the last are taken; that one is the queue's already; all are taken. */
static void add_to_registry(QueueHandle_t queue, unsigned state)
{
    wcet_param(0, state);
    MEASURE(SERVICE_VQUEUEADDTOREGISTRY, vQueueAddToRegistry(queue, name));
}

static void measure_queue_names(void)
{
    const unsigned last = configQUEUE_REGISTRY_SIZE - 1;
    const char *found_name;
    UBaseType_t number;
    uint8_t type;

    const QueueHandle_t other = xSemaphoreCreateBinaryStatic(&other_control);

    vQueueUnregisterQueue(xQueueRegistry[0].queue);
    for (unsigned i = 0; i <= last; i++)
        queues[i] = xSemaphoreCreateBinaryStatic(&queue_controls[i]);
    add_to_registry(queues[0], 0);
    for (unsigned i = 1; i < last; i++)
        vQueueAddToRegistry(queues[i], name);
    add_to_registry(queues[last], 1);
    add_to_registry(queues[last], 2);
    CHECK(pcQueueGetName(queues[last]) == name);
    add_to_registry(other, 3);
    CHECK(pcQueueGetName(other) == NULL);
    MEASURE(SERVICE_PCQUEUEGETNAME, found_name = pcQueueGetName(queues[last]));
    CHECK(found_name == name);
    MEASURE(SERVICE_VQUEUEUNREGISTERQUEUE, vQueueUnregisterQueue(queues[last]));
    CHECK(pcQueueGetName(queues[last]) == NULL);
    for (unsigned i = 0; i < last; i++)
        vQueueUnregisterQueue(queues[i]);

    MEASURE(SERVICE_VQUEUESETQUEUENUMBER, vQueueSetQueueNumber(queues[0], 7));
    MEASURE(SERVICE_UXQUEUEGETQUEUENUMBER, number = uxQueueGetQueueNumber(queues[0]));
    CHECK(number == 7);
    MEASURE(SERVICE_UCQUEUEGETQUEUETYPE, type = ucQueueGetQueueType(queues[0]));
    CHECK(type == queueQUEUE_TYPE_BINARY_SEMAPHORE);
}

static void never_called(TimerHandle_t unused)
{
    (void)unused;
    CHECK(!"a timer expired that was not started");
}

static void measure_numbers(void)
{
    const EventGroupHandle_t group = xEventGroupCreateStatic(&group_control);
    const StreamBufferHandle_t buffer =
        xStreamBufferCreateStatic(sizeof buffer_storage, 1, buffer_storage, &buffer_control);
    const TimerHandle_t timer = xTimerCreateStatic(name, 1, pdFALSE, NULL, never_called, &timer_control);
    UBaseType_t number;
    uint8_t type;

    MEASURE(SERVICE_VEVENTGROUPSETNUMBER, vEventGroupSetNumber(group, 7));
    MEASURE(SERVICE_UXEVENTGROUPGETNUMBER, number = uxEventGroupGetNumber(group));
    CHECK(number == 7);
    MEASURE(SERVICE_VSTREAMBUFFERSETSTREAMBUFFERNUMBER, vStreamBufferSetStreamBufferNumber(buffer, 8));
    MEASURE(SERVICE_UXSTREAMBUFFERGETSTREAMBUFFERNUMBER,
            number = uxStreamBufferGetStreamBufferNumber(buffer));
    CHECK(number == 8);
    MEASURE(SERVICE_UCSTREAMBUFFERGETSTREAMBUFFERTYPE, type = ucStreamBufferGetStreamBufferType(buffer));
    CHECK(type == 0);
    MEASURE(SERVICE_VTIMERSETTIMERNUMBER, vTimerSetTimerNumber(timer, 9));
    MEASURE(SERVICE_UXTIMERGETTIMERNUMBER, number = uxTimerGetTimerNumber(timer));
    CHECK(number == 9);
}

/* What the clock says, and how long the caller ran, as far as the longest divisions go, of a hundredth of the one into
 * the other: the clock has gone past its end a short while ago, so that the quotient is as long as can be; or that
 * and the clock's hundredth are as long together as can be, where a function of the compiler's computes both. Its
 * steps are of two kinds: there are as many of the dearer kind as can be, or as many of both together. */
static const struct {
    unsigned clock;
    unsigned ran;
} longest[] = {
    {310, 0xfffffffe},
    {294167, 2134933012},
    {4258140610, 2147725398},
};
#define LONGEST (sizeof(longest) / sizeof(longest[0]))

/* The clock is read next as this, and the caller has run so long when it is read `later` times more. */
static void clock_stands_at(unsigned clock, unsigned ran, unsigned later)
{
    StaticTask_t *const task = (StaticTask_t *)driver_handle;
    const configRUN_TIME_COUNTER_TYPE here = ulTaskGetRunTimeCounter(NULL) - task->ulDummy16;
    const configRUN_TIME_COUNTER_TYPE began = run_time_now - here;

    run_time_now = clock - 1;
    task->ulDummy16 = ran - (clock + later - began);
}

/* The caller asks for itself, for whom the clock is read; where the idle task is asked for, it calls itself, as in its
 * hook: the driver takes its place. */
static void measure_run_time(void)
{
    const TaskHandle_t idle = xIdleTaskHandles[0];
    configRUN_TIME_COUNTER_TYPE ran, percent;

    clock_stands_at(1000, 500, 0);
    MEASURE(SERVICE_ULTASKGETRUNTIMECOUNTER, ran = ulTaskGetRunTimeCounter(NULL));
    CHECK(ran == 500);
    for (unsigned state = 0; state < LONGEST; state++) {
        clock_stands_at(longest[state].clock - 1, longest[state].ran, 0);
        wcet_param(0, state);
        MEASURE(SERVICE_ULTASKGETRUNTIMEPERCENT, percent = ulTaskGetRunTimePercent(NULL));
        CHECK(percent == longest[state].ran / (longest[state].clock / 100));
    }

    xIdleTaskHandles[0] = driver_handle;
    clock_stands_at(1000, 500, 0);
    MEASURE(SERVICE_ULTASKGETIDLERUNTIMECOUNTER, ran = ulTaskGetIdleRunTimeCounter());
    CHECK(ran == 500);
    for (unsigned state = 0; state < LONGEST; state++) {
        clock_stands_at(longest[state].clock, longest[state].ran, 1);
        wcet_param(0, state);
        MEASURE(SERVICE_ULTASKGETIDLERUNTIMEPERCENT, percent = ulTaskGetIdleRunTimePercent());
        CHECK(percent == longest[state].ran / (longest[state].clock / 100));
    }
    xIdleTaskHandles[0] = idle;
}

void measure_watching(void)
{
    nobody_gives = xSemaphoreCreateBinaryStatic(&nobody_gives_control);
    measure_stacks();
    measure_info();
    measure_task_number();
    for (unsigned others = 1; others <= OTHERS_MAX; others++)
        for (unsigned way = 0; way < WAYS; way++)
            measure_all_tasks(others, way);
    measure_queue_names();
    measure_numbers();
    measure_run_time();
}

#endif
