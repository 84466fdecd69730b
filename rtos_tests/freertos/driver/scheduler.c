/* The scheduler lock, and services of the scheduler that take no other task. */
#include "board.h"
#include "helpers.h"
#include "semphr.h"

/* Each of three parameters at once. */
#define RESUMED_MAX 5u

static StaticQueue_t controls[WOKEN_MAX] KERNEL_OBJECT;
static SemaphoreHandle_t semaphores[WOKEN_MAX];
static unsigned to_give;
static StaticTask_t other_control KERNEL_OBJECT;
static StackType_t other_stack[configMINIMAL_STACK_SIZE] TASK_STACK;

static void give_all(void)
{
    BaseType_t woken = pdFALSE;

    for (unsigned i = 0; i < to_give; i++)
        CHECK(xSemaphoreGiveFromISR(semaphores[i], &woken) == pdPASS);
    CHECK(woken == pdTRUE);
}

/* Worst: an interrupt has woken R tasks while the scheduler was locked, all more urgent than the
 * caller, and some other task is delayed. */
static void measure_resume_ready(void)
{
    driver_on_interrupt = give_all;
    for (unsigned i = 0; i < WOKEN_MAX; i++)
        semaphores[i] = xSemaphoreCreateBinaryStatic(&controls[i]);
    for (to_give = 1; to_give <= WOKEN_MAX; to_give++) {
        BaseType_t yielded;

        helpers_start(to_give + 1);
        helper_delay(to_give, 100);
        for (unsigned i = 0; i < to_give; i++)
            helper_take(i, semaphores[i], portMAX_DELAY);
        vTaskSuspendAll();
        board_interrupt();
        for (unsigned i = 0; i < to_give; i++)
            CHECK(helper_busy(i));
        wcet_param(0, to_give);
        MEASURE(SERVICE_XTASKRESUMEALL_READY, yielded = xTaskResumeAll());
        CHECK(yielded == pdTRUE);
        for (unsigned i = 0; i < to_give; i++)
            CHECK(!helper_busy(i) && helper_result(i) == pdTRUE);
        helpers_stop();
    }
    driver_on_interrupt = NULL;
}

/* Worst: an interrupt has woken R tasks, P ticks were missed, and of these as many as there can be
 * wake a task each, K tasks in all, which wait for an event as well; all are more urgent than the
 * caller, and some other task stays delayed. */
static void measure_resume_ticks(unsigned ready, unsigned ticks, unsigned woken)
{
    const TickType_t before = xTaskGetTickCount();
    BaseType_t yielded;

    to_give = ready;
    helpers_start(ready + woken + 1);
    for (unsigned i = 0; i < ready; i++)
        helper_take(i, semaphores[i], portMAX_DELAY);
    for (unsigned i = 0; i < woken; i++)
        helper_take(ready + i, semaphores[WOKEN_MAX - 1], i < ticks ? i + 1 : ticks);
    helper_delay(ready + woken, 100);
    vTaskSuspendAll();
    board_interrupt();
    pass_time(ticks);
    for (unsigned i = 0; i <= ready + woken; i++)
        CHECK(helper_busy(i));
    wcet_param(0, ready);
    wcet_param(1, ticks);
    wcet_param(2, woken);
    MEASURE(SERVICE_XTASKRESUMEALL_TICKS, yielded = xTaskResumeAll());
    CHECK(yielded == pdTRUE && xTaskGetTickCount() == before + ticks);
    for (unsigned i = 0; i < ready + woken; i++)
        CHECK(!helper_busy(i) && helper_result(i) == (i < ready ? pdTRUE : pdFALSE));
    CHECK(helper_busy(ready + woken));
    helpers_stop();
}

/* A task of the driver's priority that gives the processor back at once. */
static void gives_way(void *unused)
{
    (void)unused;
    for (;;)
        taskYIELD();
}

/* Worst: another task has the driver's priority, so that its turn has come, or none has. No tick wakes a task; for
 * those see xTaskResumeAll_ticks. */
static void measure_catch_up(void)
{
    const TaskHandle_t other = xTaskCreateStatic(gives_way, "other", configMINIMAL_STACK_SIZE, NULL,
                                                 PRIORITY_DRIVER, other_stack, &other_control);

    CHECK(other != NULL);
    for (unsigned ticks = 1; ticks <= PENDED_MAX; ticks++) {
        for (unsigned state = 0; state < STATES(2); state++) {
            const TickType_t before = xTaskGetTickCount();
            BaseType_t yielded;

            vTaskPrioritySet(other, state == 0 ? PRIORITY_DRIVER : PRIORITY_CREATED);
            wcet_param(0, ticks);
            MEASURE(SERVICE_XTASKCATCHUPTICKS, yielded = xTaskCatchUpTicks(ticks));
            CHECK(yielded == (state == 0 ? pdTRUE : pdFALSE));
            CHECK(xTaskGetTickCount() == before + ticks);
        }
    }
    vTaskDelete(other);
}

static void tick_count_from_isr(void)
{
    TickType_t ticks;

    MEASURE(SERVICE_XTASKGETTICKCOUNTFROMISR, ticks = xTaskGetTickCountFromISR());
    CHECK(ticks == xTaskGetTickCount());
}

static void measure_give_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    MEASURE(SERVICE_XSEMAPHOREGIVEFROMISR_WAITER,
            result = xSemaphoreGiveFromISR(semaphores[0], &woken));
    CHECK(result == pdPASS && woken == pdTRUE);
    BOARD_YIELD_FROM_ISR(woken);
}

static void measure_ticks(void)
{
    driver_on_interrupt = give_all;
    for (unsigned ready = 1; ready <= RESUMED_MAX; ready++)
        for (unsigned missed = 1; missed <= RESUMED_MAX; missed++)
            for (unsigned woken = 1; woken <= RESUMED_MAX; woken++)
                measure_resume_ticks(ready, missed, woken);
    driver_on_interrupt = tick_count_from_isr;
    board_interrupt();
    driver_on_interrupt = NULL;
    measure_catch_up();
}

void measure_scheduler(void)
{
    BaseType_t yielded;
    TickType_t ticks;

    MEASURE(SERVICE_VTASKSUSPENDALL, vTaskSuspendAll());
    MEASURE(SERVICE_XTASKRESUMEALL, yielded = xTaskResumeAll());
    CHECK(yielded == pdFALSE);

    pass_time(3);
    MEASURE(SERVICE_XTASKGETTICKCOUNT, ticks = xTaskGetTickCount());
    CHECK(ticks == 3);

    measure_resume_ready();
    if (DRIVER_WHOLE)
        measure_ticks();

    helpers_start(1);
    helper_take(0, semaphores[0], portMAX_DELAY);
    driver_on_interrupt = measure_give_from_isr;
    board_interrupt();
    driver_on_interrupt = NULL;
    CHECK(!helper_busy(0) && helper_result(0) == pdTRUE);
    helpers_stop();
}
