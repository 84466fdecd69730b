/* What watches the kernel: stacks, tasks, and the names and numbers that they and queues have. */
#include "driver.h"

#if DRIVER_WATCHES

#include "board.h"
#include "helpers.h"
#include "semphr.h"

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

static const char name[] CALLER_CONSTANT = "name";

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
 * those that are readied later. */
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
    };

    for (unsigned way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
        const TaskHandle_t task = create(0, ways[way].function, ways[way].priority);

        for (unsigned bytes = 1; bytes <= BYTES_MAX; bytes++) {
            if (!few_bytes(bytes, way))
                continue;
            leave_unused(task, bytes);
            wcet_param(0, bytes);
            wcet_param(1, way);
            MEASURE(SERVICE_VTASKGETINFO, vTaskGetInfo(task, &found[0], pdTRUE, ways[way].said));
            CHECK(found[0].eCurrentState == ways[way].state);
            CHECK(found[0].usStackHighWaterMark == bytes / sizeof(StackType_t));
        }
        if (ways[way].state == eDeleted)
            vTaskDelay(1); /* the idle task takes its memory back */
        else
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

    for (unsigned i = 0; i < tasks; i++)
        if (found[i].xHandle != driver_handle && found[i].xHandle != xIdleTaskHandles[0]) {
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
        for (unsigned i = 0; i < others; i++)
            leave_unused((TaskHandle_t)&controls[i], bytes);
        wcet_param(0, others + TASKS_ALWAYS);
        wcet_param(1, bytes);
        wcet_param(2, way);
        run_time = 1;
        MEASURE(SERVICE_UXTASKGETSYSTEMSTATE,
                tasks = uxTaskGetSystemState(found, TASKS_MAX, &run_time));
        CHECK(tasks == others + TASKS_ALWAYS && run_time == 0);
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
}

#endif
