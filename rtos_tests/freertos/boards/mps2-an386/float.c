/* Tasks with floating-point context. Every other service is measured before a task has one. */
#include "board.h"
#include "driver.h"

#define NVIC_ISER0 (*(volatile uint32_t *)0xe000e100u)
#define NVIC_ISPR0 (*(volatile uint32_t *)0xe000e200u)
#define NVIC_IPR ((volatile uint8_t *)0xe000e400u)

/* Of this board alone, so above the others (image.yaml). */
#define SERVICE_CONTEXT_SWITCH_FP 1000
#define SERVICE_INTERRUPT_FP 1001
#define SERVICE_INTERRUPT_MINIMAL_FP 1150

static StackType_t partner_stack[configMINIMAL_STACK_SIZE] TASK_STACK;
static StaticTask_t partner_control KERNEL_OBJECT;
static volatile int switch_is_measured;

/* Values that only one task has, in a register that functions preserve and the port saves, and in one
 * that the hardware saves. */
static void fill(unsigned seed)
{
    __asm volatile("vmov s0, %0\n\tvmov s31, %1\n\tvmsr fpscr, %2"
                   :
                   : "r"(seed), "r"(seed + 1), "r"(seed << 28)
                   : "s0", "s31");
}

static int holds(unsigned seed)
{
    unsigned low, high, status;

    __asm volatile("vmov %0, s0\n\tvmov %1, s31\n\tvmrs %2, fpscr"
                   : "=r"(low), "=r"(high), "=r"(status));
    return low == seed && high == seed + 1 && status == seed << 28;
}

/* A task of the driver's priority that gives the processor back at once. */
static void partner_task(void *unused)
{
    (void)unused;
    fill(1);
    for (;;) {
        if (switch_is_measured) {
            wcet_end(SERVICE_CONTEXT_SWITCH_FP);
            switch_is_measured = 0;
        }
        CHECK(holds(1));
        taskYIELD();
    }
}

/* Worst: both tasks have floating-point registers, so that the port saves and restores s16 to s31, and
 * the hardware s0 to s15 with FPSCR. The rest is as for context_switch: the partner stands before the
 * driver, and the choice of the next task passes the end of the ready list. */
static void measure_switch(void)
{
    CHECK(holds(2));
    driver_invocations++;
    switch_is_measured = 1;
    wcet_begin(SERVICE_CONTEXT_SWITCH_FP);
    taskYIELD();
    CHECK(!switch_is_measured && holds(2));
}

/* As little as an interrupt handler with floating point can do. */
CALLER_TEXT void board_float_handler(void)
{
    __asm volatile("vadd.f32 s0, s0, s0" ::: "s0");
}

static void float_interrupt(void)
{
    NVIC_ISPR0 = 4;
    __asm volatile("dsb\n\tisb" ::: "memory");
}

/* Worst: the interrupted task has floating-point registers, and the handler uses its own. */
static void measure_interrupt(void)
{
    NVIC_IPR[2] = configMAX_SYSCALL_INTERRUPT_PRIORITY;
    NVIC_ISER0 = 4;
    CHECK(holds(2));
    MEASURE(SERVICE_INTERRUPT_FP, float_interrupt());
    CHECK(holds(2));
}

/* The same task, and a handler without floating point: as every tick. The hardware only leaves room for s0 to s15. */
static void measure_lazy_interrupt(void)
{
    CHECK(holds(2));
    MEASURE(SERVICE_INTERRUPT_MINIMAL_FP, board_minimal_interrupt());
    CHECK(holds(2));
}

void measure_board(void)
{
    const TaskHandle_t partner =
        xTaskCreateStatic(partner_task, "partner", configMINIMAL_STACK_SIZE, NULL, PRIORITY_DRIVER,
                          partner_stack, &partner_control);

    CHECK(partner != NULL);
    fill(2);
    taskYIELD(); /* the partner gets its registers and comes back */
    measure_switch();
    measure_interrupt();
    measure_lazy_interrupt();
    vTaskDelete(partner);
}
