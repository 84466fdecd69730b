/* The scheduler lock, and services of the scheduler that take no other task. */
#include "board.h"
#include "helpers.h"
#include "semphr.h"

static StaticQueue_t controls[WOKEN_MAX] KERNEL_OBJECT;
static SemaphoreHandle_t semaphores[WOKEN_MAX];
static unsigned to_give;

static void give_all(void)
{
    BaseType_t woken = pdFALSE;

    for (unsigned i = 0; i < to_give; i++)
        CHECK(xSemaphoreGiveFromISR(semaphores[i], &woken) == pdPASS);
}

/* Worst: an interrupt has woken R tasks while the scheduler was locked, of which all are more urgent than
 * the caller, or the first is, or none is, and no switch follows; and some other task is delayed, or none is. */
enum urgent { ALL_URGENT, FIRST_URGENT, NONE_URGENT, YIELDED };

#if DRIVER_WHOLE
static StaticTask_t equal_control KERNEL_OBJECT;
static StackType_t equal_stack[configMINIMAL_STACK_SIZE] TASK_STACK;
static unsigned turns;

static void gives_way(void *unused)
{
    (void)unused;
    for (;;) {
        turns++;
        taskYIELD();
    }
}

/* None is more urgent, but a switch was asked for meanwhile, and another ready task has the caller's priority. */
static void ask_for_switch(void)
{
    CHECK(xTaskCreateStatic(gives_way, "equal", configMINIMAL_STACK_SIZE, NULL, PRIORITY_DRIVER, equal_stack,
                            &equal_control) != NULL);
    turns = 0;
    taskYIELD();
    CHECK(turns == 0);
}

static void check_switched(void)
{
    CHECK(turns == 1);
    vTaskDelete((TaskHandle_t)&equal_control);
}
#else
#define ask_for_switch() ((void)0)
#define check_switched() ((void)0)
#endif

static void measure_resume_ready(int another_is_delayed, enum urgent urgent)
{
    BaseType_t yielded;

    driver_on_interrupt = give_all;
    helpers_start(to_give + 1);
    if (another_is_delayed)
        helper_delay(to_give, 100);
    for (unsigned i = 0; i < to_give; i++)
        helper_take(i, semaphores[i], portMAX_DELAY);
    for (unsigned i = urgent == FIRST_URGENT; urgent != ALL_URGENT && i < to_give; i++)
        vTaskPrioritySet(helper_handle(i), PRIORITY_CREATED);
    vTaskSuspendAll();
    board_interrupt();
    for (unsigned i = 0; i < to_give; i++)
        CHECK(helper_busy(i));
    if (urgent == YIELDED)
        ask_for_switch();
    wcet_param(0, to_give);
    if (urgent == YIELDED)
        wcet_param(1, !another_is_delayed);
    else if (urgent != NONE_URGENT)
        wcet_param(1, urgent == FIRST_URGENT);
    if (urgent == YIELDED)
        MEASURE(SERVICE_XTASKRESUMEALL_READY_YIELD, yielded = xTaskResumeAll());
    else if (urgent == NONE_URGENT && another_is_delayed)
        MEASURE(SERVICE_XTASKRESUMEALL_READY_LESS_URGENT, yielded = xTaskResumeAll());
    else if (urgent == NONE_URGENT)
        MEASURE(SERVICE_XTASKRESUMEALL_READY_LESS_URGENT_NONE_DELAYED, yielded = xTaskResumeAll());
    else if (another_is_delayed)
        MEASURE(SERVICE_XTASKRESUMEALL_READY, yielded = xTaskResumeAll());
    else
        MEASURE(SERVICE_XTASKRESUMEALL_READY_NONE_DELAYED, yielded = xTaskResumeAll());
    CHECK(yielded == (urgent != NONE_URGENT));
    if (urgent == YIELDED)
        check_switched();
    for (unsigned i = 0; i < to_give; i++) {
        CHECK(helper_busy(i) == (uxTaskPriorityGet(helper_handle(i)) == PRIORITY_CREATED));
        vTaskPrioritySet(helper_handle(i), helper_priority(i));
        CHECK(!helper_busy(i) && helper_result(i) == pdTRUE);
    }
    helpers_stop();
    driver_on_interrupt = NULL;
}

static void measure_resumes(void)
{
    for (unsigned i = 0; i < WOKEN_MAX; i++)
        semaphores[i] = xSemaphoreCreateBinaryStatic(&controls[i]);
    for (to_give = 1; to_give <= WOKEN_MAX; to_give++) {
        for (unsigned state = 0; state < 2; state++) {
            measure_resume_ready(1, state == 0 ? ALL_URGENT : FIRST_URGENT);
            if (DRIVER_WHOLE)
                measure_resume_ready(0, state == 0 ? ALL_URGENT : FIRST_URGENT);
        }
        if (DRIVER_WHOLE) {
            for (int another = 0; another <= 1; another++) {
                measure_resume_ready(another, NONE_URGENT);
                measure_resume_ready(another, YIELDED);
            }
        }
    }
}

static unsigned readying;

static void measure_give_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    MARK_READYING(0, readying);
    MEASURE(SERVICE_XSEMAPHOREGIVEFROMISR_WAITER,
            result = xSemaphoreGiveFromISR(semaphores[0], &woken));
    CHECK(result == pdPASS && woken == pdTRUE);
    BOARD_YIELD_FROM_ISR(woken);
}

void measure_scheduler(void)
{
    BaseType_t yielded;
    TickType_t ticks;

    MEASURE(SERVICE_VTASKSUSPENDALL, BEHIND_STORES(vTaskSuspendAll)());
    MEASURE(SERVICE_XTASKRESUMEALL, yielded = xTaskResumeAll());
    CHECK(yielded == pdFALSE);

    pass_time(3);
    MEASURE(SERVICE_XTASKGETTICKCOUNT, ticks = BEHIND_STORES(xTaskGetTickCount)());
    CHECK(ticks == 3);

    measure_resumes();

    for (unsigned state = 0; state < READYING_STATES; state++) {
        readying = state;
        helpers_start_readying(1, state);
        helper_take(0, semaphores[0], portMAX_DELAY);
        in_interrupt(measure_give_from_isr);
        CHECK(!helper_busy(0) && helper_result(0) == pdTRUE);
        helpers_stop();
    }
}
