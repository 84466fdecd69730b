/* Cortex-M: semihosting, and interrupts that are raised by hand.
 *
 * The kernel's own SysTick driver is used, but its counter is stopped at the start: the driver sets
 * the exception pending instead (Armv7-M Architecture Reference Manual, B3.2.4, ICSR.PENDSTSET).
 * So no tick falls into a measurement by accident.
 */
#include <zephyr/kernel.h>
#include <zephyr/irq.h>
#include <cmsis_core.h>

#include "board.h"

/* The last interrupt of the controller; no driver of these boards uses it. */
#define OWN_IRQ 31
#define OWN_IRQ_PRIORITY 1

/* Semihosting calls (Arm, Semihosting for AArch32 and AArch64). */
#define SYS_WRITE0 0x04u
#define SYS_EXIT_EXTENDED 0x20u
#define ADP_STOPPED_APPLICATION_EXIT 0x20026u

static void (*on_interrupt)(void);

static void semihosting(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;

    __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void board_print(const char *text)
{
    semihosting(SYS_WRITE0, text);
}

void board_exit(int status)
{
    const uint32_t block[2] = {ADP_STOPPED_APPLICATION_EXIT, (uint32_t)status};

    semihosting(SYS_EXIT_EXTENDED, block);
    for (;;) {
    }
}

static void own_handler(const void *unused)
{
    ARG_UNUSED(unused);
    if (on_interrupt != NULL)
        on_interrupt();
}

void board_start(void)
{
    SysTick->CTRL &= ~SysTick_CTRL_ENABLE_Msk;
    SCB->ICSR = SCB_ICSR_PENDSTCLR_Msk;
    IRQ_CONNECT(OWN_IRQ, OWN_IRQ_PRIORITY, own_handler, NULL, 0);
    irq_enable(OWN_IRQ);
}

__attribute__((noinline)) void board_unmask(void)
{
    __asm volatile("movs r3, #0\n\tmsr basepri, r3" : : : "r3", "cc", "memory");
}

void board_tick(void)
{
    SCB->ICSR = SCB_ICSR_PENDSTSET_Msk;
    __DSB();
    __ISB();
}

#ifdef CONFIG_TICKLESS_KERNEL
#define RUNNING SysTick_CTRL_ENABLE_Msk
#define STOPPED SysTick_CTRL_CLKSOURCE_Msk

/* CTRL is written and never read here: reading it clears COUNTFLAG, which the kernel needs. */
void board_count_down(void)
{
    __disable_irq();
    SysTick->CTRL = STOPPED | SysTick_CTRL_TICKINT_Msk | RUNNING;
    while ((SCB->ICSR & SCB_ICSR_PENDSTSET_Msk) == 0)
        __WFI();
    SysTick->CTRL = STOPPED | SysTick_CTRL_TICKINT_Msk;
}

void board_counted(void)
{
    __enable_irq();
    __ISB();
}

void board_counter_run(unsigned cycles)
{
    if (cycles == 0)
        return;
    SysTick->LOAD = cycles;
    SysTick->VAL = 0;
    SysTick->CTRL = STOPPED | RUNNING;
}

void board_counter_stop(void)
{
    SysTick->CTRL = STOPPED | SysTick_CTRL_TICKINT_Msk;
}

void board_counter_wrap(void)
{
    board_counter_run(4);
    for (volatile unsigned i = 0; i < 20; i++) {
    }
    board_counter_stop();
}
#endif

void board_on_interrupt(void (*handler)(void))
{
    on_interrupt = handler;
}

void board_interrupt(void)
{
    NVIC_SetPendingIRQ(OWN_IRQ);
    __DSB();
    __ISB();
}
