/* Tickless idle. SysTick and the interrupt that wakes the processor become pending by hand while
 * interrupts are masked, so that `wfi` finds one and goes on at once: no clock decides how the run goes.
 *
 * The port's own function sets SysTick up here, for what it notes then is needed; the driver stops it. */
#include "driver.h"

#if configUSE_TICKLESS_IDLE != 0

#include "board.h"
#include "helpers.h"

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

void measure_tickless(void)
{
    measure_sleep();
    measure_aborted();
    measure_parts();
}

#endif
