/* What watches the kernel: stacks, tasks, and the names and numbers that they and queues have. */
#include "driver.h"

#if DRIVER_WATCHES

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
static TaskStatus_t found[TASKS_MAX] CALLER_DATA;

static const char name[] CALLER_CONSTANT = "name";

static void suspends_itself(void *unused)
{
    (void)unused;
    for (;;)
        vTaskSuspend(NULL);
}

static TaskHandle_t suspended_task(unsigned number)
{
    const TaskHandle_t task =
        xTaskCreateStatic(suspends_itself, name, STACK_WORDS, NULL, PRIORITY_DRIVER + 1,
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

static void measure_info(void)
{
    const TaskHandle_t task = suspended_task(0);
    UBaseType_t number;

    for (unsigned bytes = 1; bytes <= BYTES_MAX; bytes++) {
        leave_unused(task, bytes);
        wcet_param(0, bytes);
        MEASURE(SERVICE_VTASKGETINFO, vTaskGetInfo(task, &found[0], pdTRUE, eInvalid));
        CHECK(found[0].eCurrentState == eSuspended);
        CHECK(found[0].usStackHighWaterMark == bytes / sizeof(StackType_t));
    }
    MEASURE(SERVICE_VTASKSETTASKNUMBER, vTaskSetTaskNumber(task, 7));
    MEASURE(SERVICE_UXTASKGETTASKNUMBER, number = uxTaskGetTaskNumber(task));
    CHECK(number == 7);
    vTaskDelete(task);
}

static void measure_all_tasks(unsigned others)
{
    UBaseType_t tasks;

    for (unsigned i = 0; i < others; i++)
        (void)suspended_task(i);
    for (unsigned bytes = 1; bytes <= BYTES_OF_EACH_MAX; bytes++) {
        leave_unused(driver_handle, bytes);
        leave_unused(xIdleTaskHandles[0], bytes);
        for (unsigned i = 0; i < others; i++)
            leave_unused((TaskHandle_t)&controls[i], bytes);
        wcet_param(0, others + TASKS_ALWAYS);
        wcet_param(1, bytes);
        MEASURE(SERVICE_UXTASKGETSYSTEMSTATE, tasks = uxTaskGetSystemState(found, TASKS_MAX, NULL));
        CHECK(tasks == others + TASKS_ALWAYS);
    }
    for (unsigned i = 0; i < others; i++)
        vTaskDelete((TaskHandle_t)&controls[i]);
}

static void measure_queue_names(void)
{
    const unsigned last = configQUEUE_REGISTRY_SIZE - 1;
    const char *found_name;
    UBaseType_t number;
    uint8_t type;

    for (unsigned i = 0; i <= last; i++)
        queues[i] = xSemaphoreCreateBinaryStatic(&queue_controls[i]);
    MEASURE(SERVICE_VQUEUEADDTOREGISTRY, vQueueAddToRegistry(queues[0], name));
    for (unsigned i = 1; i <= last; i++)
        vQueueAddToRegistry(queues[i], name);
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
    measure_stacks();
    measure_info();
    for (unsigned others = 1; others <= OTHERS_MAX; others++)
        measure_all_tasks(others);
    measure_queue_names();
}

#endif
