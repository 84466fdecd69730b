/* Start of the program, vector table, semihosting, and interrupts that are raised by hand.
 *
 * The tick timer is never started. SysTick is made pending through the interrupt control register
 * (Armv7-M Architecture Reference Manual, B3.2.4, ICSR.PENDSTSET), which leads to the very same
 * exception. So no tick ever falls into a measurement by accident, and the run is the same
 * instruction for instruction whatever the clock does.
 */
#include "board.h"

#include <stdint.h>
#include <string.h>

#include "FreeRTOS.h"
#include "driver.h"
#include "task.h"

#define ICSR (*(volatile uint32_t *)0xe000ed04u)
#define ICSR_PENDSTSET (1u << 26)
#define NVIC_ISER0 (*(volatile uint32_t *)0xe000e100u)
#define NVIC_ISPR0 (*(volatile uint32_t *)0xe000e200u)
#define NVIC_IPR ((volatile uint8_t *)0xe000e400u)

extern uint32_t __data_load[], __data_start[], __data_end[];
extern uint32_t __bss_start[], __bss_end[], __main_stack_top[];

extern void vPortSVCHandler(void);
extern void xPortPendSVHandler(void);
extern void xPortSysTickHandler(void);

/* Semihosting calls (Arm, Semihosting for AArch32 and AArch64). */
#define SYS_WRITE0 0x04u
#define SYS_EXIT_EXTENDED 0x20u
#define ADP_STOPPED_APPLICATION_EXIT 0x20026u

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

void board_print_number(unsigned value)
{
    char digits[11];
    char *at = digits + sizeof digits - 1;

    *at = '\0';
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    board_print(at);
}

void board_exit(int status)
{
    const uint32_t block[2] = {ADP_STOPPED_APPLICATION_EXIT, (uint32_t)status};

    semihosting(SYS_EXIT_EXTENDED, block);
    for (;;) {
    }
}

void board_tick(void)
{
    ICSR = ICSR_PENDSTSET;
    __asm volatile("dsb\n\tisb" ::: "memory");
}

void board_interrupt(void)
{
    NVIC_ISPR0 = 1;
    __asm volatile("dsb\n\tisb" ::: "memory");
}

CALLER_TEXT void board_minimal_handler(void)
{
}

/* External interrupt 1. */
void board_minimal_interrupt(void)
{
    NVIC_ISPR0 = 2;
    __asm volatile("dsb\n\tisb" ::: "memory");
}

#if configUSE_TICKLESS_IDLE == 0
/* Takes the place of the port's weak function: no timer, see above. (Else see tickless.c.) */
void vPortSetupTimerInterrupt(void)
{
    NVIC_IPR[0] = configMAX_SYSCALL_INTERRUPT_PRIORITY;
    NVIC_IPR[1] = configMAX_SYSCALL_INTERRUPT_PRIORITY;
    NVIC_ISER0 = 3;
}
#endif

static void fault(void)
{
    board_print("the processor took a fault\n");
    board_exit(3);
}

void Reset_Handler(void)
{
    uint32_t *from = __data_load;

    for (uint32_t *to = __data_start; to < __data_end; to++)
        *to = *from++;
    for (uint32_t *to = __bss_start; to < __bss_end; to++)
        *to = 0;
    driver_main();
}

/* Handlers of further interrupts, from 2 on, where a board of this kind has some. */
#ifndef BOARD_HANDLERS
#define BOARD_HANDLERS
#endif

static const struct {
    uint32_t *stack;
    void (*handlers[])(void);
} vectors __attribute__((section(".vectors"), used)) = {
    __main_stack_top,
    {
        Reset_Handler, fault, fault, fault, fault, fault, 0, 0, 0, 0,
        vPortSVCHandler, fault, 0, xPortPendSVHandler, xPortSysTickHandler,
        driver_interrupt, board_minimal_handler, BOARD_HANDLERS
    },
};
