/* Tickless idle. SysTick and the interrupt that wakes the processor become pending by hand while
 * interrupts are masked, so that `wfi` finds one and goes on at once: no clock decides how the run goes.
 *
 * The port's own function sets SysTick up here, for what it notes then is needed; the driver stops it. */
#include "driver.h"

#if configUSE_TICKLESS_IDLE != 0

#include "board.h"
#include "helpers.h"
#include "semphr.h"

#define SYST_CSR (*(volatile uint32_t *)0xe000e010u)
#define SYST_CVR (*(volatile uint32_t *)0xe000e018u)
#define ICSR (*(volatile uint32_t *)0xe000ed04u)
#define ICSR_PENDSTCLR (1u << 25)
#define ICSR_PENDSTSET (1u << 26)
#define NVIC_ISER0 (*(volatile uint32_t *)0xe000e100u)
#define NVIC_ISPR0 (*(volatile uint32_t *)0xe000e200u)
#define NVIC_IPR ((volatile uint8_t *)0xe000e400u)
#define COUNTS_FOR_ONE_TICK (configCPU_CLOCK_HZ / configTICK_RATE_HZ)

extern void vPortSuppressTicksAndSleep(TickType_t ticks);

static volatile int woken;

static void stop_timer(void)
{
    SYST_CSR = 0;
    SYST_CVR = 0;
    ICSR = ICSR_PENDSTCLR;
}

void board_first_task_begins(void)
{
    stop_timer();
    NVIC_IPR[0] = configMAX_SYSCALL_INTERRUPT_PRIORITY;
    NVIC_IPR[1] = configMAX_SYSCALL_INTERRUPT_PRIORITY;
    NVIC_ISER0 = 3;
}

static void wakes(void)
{
    woken = 1;
}

/* The counter has reached zero, and then runs for more than a tick. */
static void wakes_late(void)
{
    uint32_t before;
    uint32_t passed = 0;

    while ((ICSR & ICSR_PENDSTSET) == 0) {
    }
    before = SYST_CVR;
    while (passed <= COUNTS_FOR_ONE_TICK) {
        const uint32_t now = SYST_CVR;

        passed += before - now;
        before = now;
    }
    woken = 1;
}

/* As from the idle task: the scheduler is locked. The pending interrupts wait for the port's function
 * to let them in. */
static void begin_sleep(void (*interrupt)(void))
{
    woken = 0;
    driver_on_interrupt = interrupt;
    vTaskSuspendAll();
    stop_timer();
    __asm volatile("cpsid i" ::: "memory");
    ICSR = ICSR_PENDSTSET;
    NVIC_ISPR0 = 1;
    __asm volatile("dsb\n\tisb" ::: "memory");
}

static void end_sleep(void)
{
    stop_timer();
    driver_on_interrupt = NULL;
    CHECK(woken);
    (void)xTaskResumeAll();
}

static void measure_sleep(void)
{
    TickType_t before = xTaskGetTickCount();

    begin_sleep(wakes);
    MEASURE(SERVICE_VPORTSUPPRESSTICKSANDSLEEP, vPortSuppressTicksAndSleep(portMAX_DELAY));
    end_sleep();
    CHECK(xTaskGetTickCount() == before + 1); /* the one that was pending */

    before = xTaskGetTickCount();
    begin_sleep(wakes_late);
    MEASURE(SERVICE_VPORTSUPPRESSTICKSANDSLEEP_TICK, vPortSuppressTicksAndSleep(3));
    end_sleep();
    CHECK(xTaskGetTickCount() == before + 3);
}

static void measure_aborted(void)
{
    const TickType_t before = xTaskGetTickCount();

    vTaskSuspendAll();
    board_tick();
    MEASURE(SERVICE_VPORTSUPPRESSTICKSANDSLEEP_ABORTED, vPortSuppressTicksAndSleep(2));
    (void)xTaskResumeAll();
    CHECK(xTaskGetTickCount() == before + 1);
}

static void measure_parts(void)
{
    const TickType_t before = xTaskGetTickCount();
    eSleepModeStatus status;

    helpers_start(1);
    helper_delay(0, 5);
    vTaskSuspendAll();
    MEASURE(SERVICE_ETASKCONFIRMSLEEPMODESTATUS, status = eTaskConfirmSleepModeStatus());
    CHECK(status == eStandardSleep);
    MEASURE(SERVICE_VTASKSTEPTICK, vTaskStepTick(5));
    CHECK(helper_busy(0));
    (void)xTaskResumeAll();
    CHECK(!helper_busy(0) && xTaskGetTickCount() == before + 5);
    helpers_stop();
}

/* ---- the idle task around the port's function ---------------------------------------------- */

/* Each of three parameters at once; at the wrap one thing more happens (driver/ticks.c). */
#define RESUMED_MAX 5u
#define RESUMED_AT_WRAP 4u
#define WOKEN_AT_WRAP 3u
/* Ticks that pass asleep, which the port's function counts; the kernel wants two at least. */
#define SLEPT 2u
#define LONG 1000u

static StaticQueue_t controls[RESUMED_MAX] KERNEL_OBJECT;
static SemaphoreHandle_t semaphores[RESUMED_MAX];
static StaticQueue_t other_control KERNEL_OBJECT;
static SemaphoreHandle_t nobody_gives;
static volatile unsigned sleeping CALLER_DATA; /* 1: the idle task is to sleep, and makes no tick */
static unsigned to_give, to_miss;

/* The driver blocks only to let time pass or to let the idle task sleep. */
CALLER_TEXT void vApplicationIdleHook(void)
{
    if (sleeping == 0)
        board_tick();
}

CALLER_TEXT void driver_sleeps(void)
{
    if (sleeping == 0)
        return;
    NVIC_ISPR0 = 1;
    __asm volatile("dsb\n\tisb" ::: "memory");
}

/* Interrupts and ticks that came while the scheduler was locked, and what the port's function does about the time. */
static void has_slept(void)
{
    BaseType_t woken_up = pdFALSE;

    CHECK(sleeping == 1);
    sleeping = 0;
    for (unsigned i = 0; i < to_give; i++)
        CHECK(xSemaphoreGiveFromISR(semaphores[i], &woken_up) == pdPASS);
    vTaskStepTick(SLEPT);
    for (unsigned i = 0; i < to_miss; i++)
        CHECK(xTaskIncrementTick() == pdFALSE);
}

/* All that wake are more urgent than the idle task, or only the first or the last one is and the others have its
 * priority; and a further task stays delayed, or none does. */
enum urgent { ALL_URGENT, FIRST_URGENT, LAST_URGENT };
#define SLEEP_STATES 6u

static enum urgent urgent_in(unsigned state)
{
    return (enum urgent)(state % 3);
}

static int one_stays_delayed(unsigned state)
{
    return state < SLEEP_STATES / 2;
}

/* When the `i`th of those that ticks wake does: one for each tick, as long as there are some. */
static TickType_t wakes_at(unsigned i, unsigned woken, unsigned first, unsigned last, unsigned state)
{
    const int late = urgent_in(state) == LAST_URGENT && i + 1 == woken;

    return first + i < last && !late ? first + i : last;
}

/* The driver is one of those that wake: the first that the interrupt readied where that alone is urgent, and
 * else the last that a tick wakes. */
static unsigned start_sleepers(unsigned ready, unsigned woken, unsigned first, unsigned last, unsigned state)
{
    const unsigned driver_is_ready = urgent_in(state) == FIRST_URGENT;
    const unsigned sleepers = ready + woken - 1;
    unsigned helper = 0;

    helpers_start(sleepers + one_stays_delayed(state));
    for (unsigned i = driver_is_ready; i < ready; i++)
        helper_take(helper++, semaphores[i], portMAX_DELAY);
    for (unsigned i = 0; i + !driver_is_ready < woken; i++)
        helper_take(helper++, nobody_gives, wakes_at(i, woken, first, last, state));
    CHECK(helper == sleepers);
    if (one_stays_delayed(state))
        helper_delay(sleepers, LONG);
    for (unsigned i = 0; urgent_in(state) != ALL_URGENT && i < sleepers; i++)
        vTaskPrioritySet(helper_handle(i), tskIDLE_PRIORITY);
    to_give = ready;
    return sleepers;
}

/* The idle task goes on, makes another turn and sleeps. The caller waits until a tick or, where it is the first and
 * only one that is urgent, for the interrupt. */
static BaseType_t let_idle_sleep(TickType_t ticks, unsigned state)
{
    sleeping = 1;
    driver_on_interrupt = has_slept;
    if (urgent_in(state) == FIRST_URGENT)
        return xSemaphoreTake(semaphores[0], portMAX_DELAY);
    return xSemaphoreTake(nobody_gives, ticks);
}

static void check_sleepers(unsigned ready, unsigned sleepers, unsigned state)
{
    const unsigned given = ready - (urgent_in(state) == FIRST_URGENT);

    CHECK(sleeping == 0);
    driver_on_interrupt = NULL;
    for (unsigned i = 0; i < sleepers; i++) {
        if (urgent_in(state) != ALL_URGENT) {
            CHECK(helper_busy(i) && uxTaskPriorityGet(helper_handle(i)) == tskIDLE_PRIORITY);
            vTaskPrioritySet(helper_handle(i), helper_priority(i));
        }
        CHECK(!helper_busy(i) && helper_result(i) == (i < given ? pdTRUE : pdFALSE));
    }
    CHECK(!one_stays_delayed(state) || helper_busy(sleepers));
    helpers_stop();
}

static void mark_sleep(unsigned ready, unsigned ticks, unsigned woken, unsigned state)
{
    wcet_param(0, ready);
    wcet_param(1, ticks);
    wcet_param(2, woken);
    wcet_param(3, state);
}

/* Worst: an interrupt readied R tasks, P ticks are left to be counted, and of these as many as there can be wake a task
 * each, K tasks in all, which wait for an event as well. */
static void measure_idle_sleep(unsigned ready, unsigned ticks, unsigned woken, unsigned state)
{
    const TickType_t before = xTaskGetTickCount();
    const unsigned first = SLEPT + 1, last = SLEPT + ticks;
    const unsigned sleepers = start_sleepers(ready, woken, first, last, state);
    const TickType_t wait = wakes_at(woken - 1, woken, first, last, state);
    BaseType_t result;

    to_miss = ticks;
    mark_sleep(ready, ticks, woken, state);
    MEASURE(SERVICE_IDLE_SLEEP, result = let_idle_sleep(wait, state));
    CHECK(result == (urgent_in(state) == FIRST_URGENT));
    CHECK(xTaskGetTickCount() == before + SLEPT + ticks);
    check_sleepers(ready, sleepers, state);
}

/* One tick more, at the largest count: as for measure_resume_wrap (driver/ticks.c). */
static void measure_idle_sleep_wrap(unsigned ready, unsigned ticks, unsigned woken, unsigned state)
{
    const unsigned first = SLEPT + 2, last = SLEPT + ticks + 1;
    const TickType_t wait = wakes_at(woken - 1, woken, first, last, state);
    unsigned sleepers;
    BaseType_t result;

    xTickCount = portMAX_DELAY - 2 - SLEPT;
    board_tick();
    sleepers = start_sleepers(ready, woken, first, last, state);
    to_miss = ticks + 1;
    mark_sleep(ready, ticks, woken, state);
    MEASURE(SERVICE_IDLE_SLEEP_WRAP, result = let_idle_sleep(wait, state));
    CHECK(result == (urgent_in(state) == FIRST_URGENT) && xTaskGetTickCount() == ticks - 1);
    check_sleepers(ready, sleepers, state);
}

static void measure_idle(void)
{
    const TickType_t before = xTickCount;

    nobody_gives = xSemaphoreCreateBinaryStatic(&other_control);
    for (unsigned i = 0; i < RESUMED_MAX; i++)
        semaphores[i] = xSemaphoreCreateBinaryStatic(&controls[i]);
    /* From here on the idle task goes on where it was switched away when it had slept. */
    to_give = 0;
    to_miss = 1;
    CHECK(let_idle_sleep(SLEPT + 1, ALL_URGENT) == pdFALSE);
    for (unsigned ready = 1; ready <= RESUMED_MAX; ready++)
        for (unsigned ticks = 1; ticks <= RESUMED_MAX; ticks++)
            for (unsigned woken = 1; woken <= RESUMED_MAX; woken++)
                for (unsigned state = 0; state < SLEEP_STATES; state++)
                    measure_idle_sleep(ready, ticks, woken, state);
    for (unsigned ready = 1; ready <= RESUMED_AT_WRAP; ready++)
        for (unsigned ticks = 1; ticks <= RESUMED_AT_WRAP; ticks++)
            for (unsigned woken = 1; woken <= WOKEN_AT_WRAP; woken++)
                for (unsigned state = 0; state < SLEEP_STATES; state++)
                    measure_idle_sleep_wrap(ready, ticks, woken, state);
    /* The tick sets the next unblock time, which the wrap leaves where nobody is delayed. */
    xTickCount = before;
    board_tick();
}

void measure_tickless(void)
{
    measure_sleep();
    measure_aborted();
    measure_parts();
    measure_idle();
}

#endif
