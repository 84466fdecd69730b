/* What the kernel's own tasks do, each from its being switched in until it is switched away: the
 * timers' task over timers that expire and commands that wait, and what the idle task cleans up.
 *
 * The driver leaves both marks of the timers' task: that task is more urgent, so that it runs as soon
 * as it can, once, and the driver goes on when it waits again. */
#include "driver.h"

#include "board.h"
#include "heap.h"
#include "helpers.h"

#if configUSE_TIMERS == 1

#include "timers.h"

#define EXPIRED_MAX 5u
#define OTHERS_MAX 4u
#define DELAYED_TASKS_MAX 4u

static StaticTimer_t controls[EXPIRED_MAX] KERNEL_OBJECT;
static StaticTimer_t other_controls[OTHERS_MAX] KERNEL_OBJECT;
static TimerHandle_t timers[EXPIRED_MAX];
static TimerHandle_t others[OTHERS_MAX];
#if !DRIVER_WHOLE
static StaticTimer_t sooner_control KERNEL_OBJECT;
static TimerHandle_t sooner;
#endif

/* Commands that were given in the firmware's whole run. */
static unsigned commands;

/* The application's callback, which is part of what is measured: it does nothing. */
CALLER_TEXT static void activity_timer_expired(TimerHandle_t unused)
{
    (void)unused;
}

static void start_with(TimerHandle_t timer, TickType_t period)
{
    CHECK(xTimerChangePeriod(timer, period, 0) == pdPASS);
    commands++;
}

static void stop(TimerHandle_t timer)
{
    CHECK(xTimerStop(timer, 0) == pdPASS);
    commands++;
}

static void create_timers(void)
{
    for (unsigned i = 0; i < EXPIRED_MAX; i++)
        timers[i] = xTimerCreateStatic("timer", 1, pdTRUE, NULL, activity_timer_expired, &controls[i]);
    for (unsigned i = 0; i < OTHERS_MAX; i++)
        others[i] = xTimerCreateStatic("other", 1, pdTRUE, NULL, activity_timer_expired, &other_controls[i]);
}

static void stop_timers(unsigned count, unsigned active)
{
    for (unsigned i = 0; i < count; i++)
        stop(timers[i]);
    for (unsigned i = 0; i < active; i++)
        stop(others[i]);
}

/* Tasks that wake before the timers' task does, behind which that task is put when it waits again. */
static void delay_tasks(unsigned count, TickType_t ticks)
{
    helpers_start(count);
    for (unsigned i = 0; i < count; i++)
        helper_delay(i, ticks);
}

#if DRIVER_WHOLE

static void mark(unsigned first, unsigned second, unsigned third)
{
    wcet_param(0, first);
    wcet_param(1, second);
    wcet_param(2, third);
}

/* Worst: each timer starts again, behind the other active ones and those that expired with it. */
static void measure_expiry(unsigned expired, unsigned active, unsigned delayed)
{
    TickType_t expires;

    for (unsigned i = 0; i < expired; i++)
        start_with(timers[i], 10);
    expires = xTimerGetExpiryTime(timers[0]);
    pass_time(9);
    for (unsigned i = 0; i < active; i++)
        start_with(others[i], 5);
    delay_tasks(delayed, 4);
    mark(expired, active, delayed);
    MEASURE(SERVICE_TIMER_TASK_EXPIRY, board_tick());
    CHECK(xTaskGetTickCount() == expires);
    for (unsigned i = 0; i < expired; i++)
        CHECK(xTimerGetExpiryTime(timers[i]) == expires + 10);
    for (unsigned i = 0; i < active; i++)
        CHECK(xTimerGetExpiryTime(others[i]) == expires + 4);
    for (unsigned i = 0; i < delayed; i++)
        CHECK(helper_busy(i));
    helpers_stop();
    stop_timers(expired, active);
}

/* The tick count wraps around while the timers' task cannot run. Worst: timers should have expired
 * before; each starts again, to expire after the wrap, behind the others that do and those before it. */
static void measure_wrap(unsigned expired, unsigned active)
{
    BaseType_t yielded;

    /* No task is delayed and no timer active. The timers' task notes the time at each command. */
    xTickCount = portMAX_DELAY - 10;
    board_tick();
    CHECK(xTaskGetTickCount() == portMAX_DELAY - 9);
    for (unsigned i = 0; i < expired; i++)
        start_with(timers[i], 8);
    for (unsigned i = 0; i < active; i++)
        start_with(others[i], 14);
    vTaskSuspendAll();
    pass_time(10);
    wcet_param(0, expired);
    wcet_param(1, active);
    MEASURE(SERVICE_TIMER_TASK_WRAP, yielded = xTaskResumeAll());
    CHECK(yielded == pdTRUE && xTaskGetTickCount() == 0);
    for (unsigned i = 0; i < expired; i++)
        CHECK(xTimerGetExpiryTime(timers[i]) == 6);
    for (unsigned i = 0; i < active; i++)
        CHECK(xTimerGetExpiryTime(others[i]) == 4);
    stop_timers(expired, active);
}

void measure_timer_task(void)
{
    create_timers();
    for (unsigned expired = 1; expired <= EXPIRED_MAX; expired++)
        for (unsigned active = 1; active <= OTHERS_MAX; active++)
            for (unsigned delayed = 0; delayed <= DELAYED_TASKS_MAX; delayed++)
                measure_expiry(expired, active, delayed);
    for (unsigned expired = 1; expired <= EXPIRED_MAX; expired++)
        for (unsigned active = 0; active <= OTHERS_MAX; active++)
            measure_wrap(expired, active);
}

#else

static void start(TimerHandle_t timer)
{
    CHECK(xTimerStart(timer, 0) == pdPASS);
    commands++;
}

/* Worst: each command starts a timer that is active, and that expires no sooner than all others; the
 * queue wraps around at the first of them. The scheduler is locked while they are given, so that all
 * wait when the timers' task runs. The first command of the run is the first in the queue's memory. */
enum when {
    NO_WRAP,
    ALL_AFTER_WRAP, /* all timers expire after the tick count has wrapped around; the task waits for that */
    ONE_BEFORE_WRAP, /* all but one, which the task waits for */
    WRAP_BETWEEN, /* ... and it has when the commands are carried out; the first finds that */
};
#define WHENS 4u
#define UNTIL_WRAP 40u

static void measure_commands(unsigned count, unsigned active, unsigned delayed, enum when when)
{
    const TickType_t late = when == WRAP_BETWEEN ? UNTIL_WRAP + 1 : 0;
    TickType_t now;
    BaseType_t yielded;

    if (when != NO_WRAP)
        clock_wraps_in(UNTIL_WRAP);
    now = xTaskGetTickCount();
    start_with(timers[0], 100);
    for (unsigned i = 0; i < active; i++)
        start_with(others[i], 90);
    if (when == ONE_BEFORE_WRAP)
        start_with(sooner, UNTIL_WRAP - 1);
    delay_tasks(delayed, when == ONE_BEFORE_WRAP ? UNTIL_WRAP - 2
                         : when == ALL_AFTER_WRAP ? UNTIL_WRAP
                                                  : 50);
    while (commands % configTIMER_QUEUE_LENGTH != 0)
        start(timers[0]);
    vTaskSuspendAll();
    for (unsigned i = 0; i < count; i++)
        start(timers[0]);
    pass_time(late);
    wcet_param(0, count);
    wcet_param(1, active);
    wcet_param(2, delayed);
    wcet_param(3, when);
    MEASURE(SERVICE_TIMER_TASK_COMMANDS, yielded = xTaskResumeAll());
    CHECK(yielded == pdTRUE && xTaskGetTickCount() == (TickType_t)(now + late));
    CHECK(xTimerGetExpiryTime(timers[0]) == (TickType_t)(now + 100));
    CHECK((xTimerGetExpiryTime(timers[0]) < now) == (when != NO_WRAP));
    CHECK((xTaskGetTickCount() < now) == (when == WRAP_BETWEEN));
    for (unsigned i = 0; i < delayed; i++)
        CHECK(helper_busy(i));
    helpers_stop();
    stop_timers(1, active);
    stop(sooner);
    if (when != NO_WRAP) {
        clock_far_from_wrap();
        stop(sooner); /* the timers' task notes the time */
    }
}

/* Before everything else, because it counts the commands. */
void measure_timer_task(void)
{
    const TickType_t before = xTaskGetTickCount();

    create_timers();
    sooner = xTimerCreateStatic("sooner", 1, pdTRUE, NULL, activity_timer_expired, &sooner_control);
    for (unsigned count = 1; count <= configTIMER_QUEUE_LENGTH; count++)
        for (unsigned active = 0; active <= OTHERS_MAX; active++)
            for (unsigned delayed = 0; delayed <= DELAYED_TASKS_MAX; delayed++)
                for (unsigned when = 0; when < WHENS; when++)
                    if (few(count, when) && (when == NO_WRAP || delayed != 3))
                        measure_commands(count, active, delayed, when);
    xTickCount = before;
    stop(sooner);
}

#endif

#endif

#if DRIVER_WHOLE

/* ---- the idle task -------------------------------------------------------------------------- */

#define CLEANED_MAX 6u
#define BELOW_MAX 6u
#define STACK_WORDS configMINIMAL_STACK_SIZE

static StaticTask_t cleaned_controls[CLEANED_MAX] KERNEL_OBJECT;
static StackType_t cleaned_stacks[CLEANED_MAX][STACK_WORDS] TASK_STACK;

static struct {
    unsigned service; /* to be measured at the idle task's next turn; 0: none */
    unsigned measured; /* being measured */
    unsigned parameters[2];
    unsigned count;
} cleaning;

/* The idle task runs only when the driver sleeps, and makes the ticks itself. It leaves the begin mark
 * as the last thing that it does before its next turn, which begins with cleaning up. */
void driver_on_idle(void)
{
    if (cleaning.measured != 0) {
        wcet_end(cleaning.measured);
        cleaning.measured = 0;
    }
    board_tick();
    if (cleaning.service != 0) {
        driver_invocations++;
        for (unsigned i = 0; i < cleaning.count; i++)
            wcet_param(i, cleaning.parameters[i]);
        cleaning.measured = cleaning.service;
        cleaning.service = 0;
        wcet_begin(cleaning.measured);
    }
}

static void clean(unsigned service, unsigned count, unsigned first, unsigned second)
{
    cleaning.count = count;
    cleaning.parameters[0] = first;
    cleaning.parameters[1] = second;
    cleaning.service = service;
    vTaskDelay(1);
    CHECK(cleaning.service == 0 && cleaning.measured == 0);
}

static void deletes_itself(void *unused)
{
    (void)unused;
    vTaskDelete(NULL);
}

static void measure_static(void)
{
    for (unsigned tasks = 1; tasks <= CLEANED_MAX; tasks++) {
        for (unsigned i = 0; i < tasks; i++)
            CHECK(xTaskCreateStatic(deletes_itself, "static", STACK_WORDS, NULL,
                                    PRIORITY_DRIVER + 1, cleaned_stacks[i],
                                    &cleaned_controls[i]) != NULL);
        CHECK(uxTaskGetNumberOfTasks() == TASKS_ALWAYS + tasks);
        clean(SERVICE_IDLE_CLEANUP_STATIC, 1, tasks, 0);
        CHECK(uxTaskGetNumberOfTasks() == TASKS_ALWAYS);
    }
}

/* Worst: everything that is given back lies between two free blocks, so that it merges with both, and
 * behind everything that was given back before, which the search for its place passes. */
static void measure_dynamic(unsigned tasks, unsigned below)
{
    struct holes holes;
    struct {
        void *stack, *control;
        void *free[4];
        void *guard[2];
    } at[CLEANED_MAX];

    holes_take(&holes, below - 1, 1);
    for (unsigned i = 0; i < tasks; i++) {
        at[i].free[0] = heap_take(SMALL_BYTES);
        at[i].stack = heap_take(STACK_WORDS * sizeof(StackType_t));
        at[i].free[1] = heap_take(SMALL_BYTES);
        at[i].guard[0] = heap_take(1);
        at[i].free[2] = heap_take(SMALL_BYTES);
        at[i].control = heap_take(sizeof(StaticTask_t));
        at[i].free[3] = heap_take(SMALL_BYTES);
        at[i].guard[1] = heap_take(1);
    }
    for (unsigned i = 0; i < tasks; i++) {
        vPortFree(at[i].stack);
        vPortFree(at[i].control);
    }
    for (unsigned i = 0; i < tasks; i++) {
        TaskHandle_t made;

        CHECK(xTaskCreate(deletes_itself, "heap", STACK_WORDS, NULL, PRIORITY_DRIVER + 1, &made) ==
              pdPASS);
        CHECK((void *)made == at[i].control);
    }
    CHECK(heap_free_blocks() == 1); /* so each stack is where it should be, too */
    holes_open(&holes);
    for (unsigned i = 0; i < tasks; i++)
        for (unsigned j = 0; j < 4; j++)
            vPortFree(at[i].free[j]);
    CHECK(heap_free_blocks() == below - 1 + 4 * tasks + 1);
    clean(SERVICE_IDLE_CLEANUP, 2, tasks, below);
    CHECK(uxTaskGetNumberOfTasks() == TASKS_ALWAYS);
    CHECK(heap_free_blocks() == below - 1 + 2 * tasks + 1);
    for (unsigned i = 0; i < tasks; i++) {
        vPortFree(at[i].guard[0]);
        vPortFree(at[i].guard[1]);
    }
    holes_close(&holes);
    CHECK(heap_free_blocks() == 1);
}

void measure_idle(void)
{
    vTaskDelay(1); /* cleans up what others left, and leaves the idle task in its hook */
    measure_static();
    for (unsigned tasks = 1; tasks <= CLEANED_MAX; tasks++)
        for (unsigned below = 1; below <= BELOW_MAX; below++)
            measure_dynamic(tasks, below);
}

#endif
