/* Semihosting, and interrupts that are raised by hand.
 *
 * The timer is never started. The tick is made pending by software, through the interrupt controller
 * (PrimeCell PL190, DDI 0181, VICSOFTINT), which leads to the very same exception. So no tick ever
 * falls into a measurement by accident.
 */
#include "board.h"

#include <stdint.h>

#include "FreeRTOS.h"
#include "driver.h"
#include "task.h"

#define VICSOFTINT BOARD_VIC(0x018)
#define VICSOFTINTCLEAR BOARD_VIC(0x01c)
#define TICK 1u      /* the bit that the port's handler clears */
#define INTERRUPT 2u

extern uint32_t __data_load[], __data_start[], __data_end[];
extern uint32_t __bss_start[], __bss_end[];

extern void (*volatile board_handler)(void);
extern void vTickISR(void);

volatile uint32_t board_timer[4];

void board_start(void) __attribute__((noreturn));
void board_fault(void) __attribute__((noreturn));
void board_served(void);
void board_minimal_served(void);
void board_switching_served(void);

/* Semihosting calls (Arm, Semihosting for AArch32 and AArch64). */
#define SYS_WRITE0 0x04u
#define SYS_EXIT_EXTENDED 0x20u
#define ADP_STOPPED_APPLICATION_EXIT 0x20026u

static void semihosting(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;

    __asm volatile("swi 0x123456" : "+r"(r0) : "r"(r1) : "memory", "lr");
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

/* An interrupt that has just become pending is taken before the second of these. */
static void raise(uint32_t which, void (*handler)(void))
{
    board_handler = handler;
    VICSOFTINT = which;
    __asm volatile("nop\n\tnop" ::: "memory");
}

void board_let_in(void)
{
    __asm volatile("msr cpsr_c, #0x1f"); /* System mode, as the port has it */
}

void board_served(void)
{
    VICSOFTINTCLEAR = INTERRUPT;
    driver_interrupt();
}

/* Saves and restores a task like the port's own handlers. */
static __attribute__((naked)) void interrupt_handler(void)
{
    portSAVE_CONTEXT();
    __asm volatile("bl board_served");
    portRESTORE_CONTEXT();
}

/* What a handler must do: withdraw the interrupt, and tell the interrupt controller. */
CALLER_TEXT void board_minimal_served(void)
{
    VICSOFTINTCLEAR = INTERRUPT;
    VICVectAddr = 0;
}

CALLER_TEXT __attribute__((naked)) static void minimal_handler(void)
{
    portSAVE_CONTEXT();
    __asm volatile("bl board_minimal_served");
    portRESTORE_CONTEXT();
}

CALLER_TEXT void board_switching_served(void)
{
    VICSOFTINTCLEAR = INTERRUPT;
    VICVectAddr = 0;
    portYIELD_FROM_ISR();
}

CALLER_TEXT __attribute__((naked)) static void switching_handler(void)
{
    portSAVE_CONTEXT();
    __asm volatile("bl board_switching_served");
    portRESTORE_CONTEXT();
}

void board_tick(void)
{
    raise(TICK, vTickISR);
}

void board_interrupt(void)
{
    raise(INTERRUPT, interrupt_handler);
}

void board_minimal_interrupt(void)
{
    raise(INTERRUPT, minimal_handler);
}

void board_switching_interrupt(void)
{
    raise(INTERRUPT, switching_handler);
}

void board_fault(void)
{
    board_print("the processor took an exception that nothing serves\n");
    board_exit(3);
}

void board_start(void)
{
    uint32_t *from = __data_load;

    for (uint32_t *to = __data_start; to < __data_end; to++)
        *to = *from++;
    for (uint32_t *to = __bss_start; to < __bss_end; to++)
        *to = 0;
    VICIntEnable = TICK | INTERRUPT;
    driver_main();
}
