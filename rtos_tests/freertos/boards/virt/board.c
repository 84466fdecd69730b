/* Start of the program, semihosting, and interrupts that are raised by hand.
 *
 * Time never raises a tick: the compare register stands far beyond what the clock reaches, and so
 * do the values that the port's own handler writes there. A tick is raised by writing a time that
 * has passed already, which leads to the very same interrupt; the handler's write then withdraws
 * it. So no tick ever falls into a measurement by accident.
 */
#include "board.h"

#include <stdint.h>

#include "FreeRTOS.h"
#include "driver.h"
#include "task.h"

#define MTIMECMP ((volatile uint32_t *)configMTIMECMP_BASE_ADDRESS)
#define MSIP (*(volatile uint32_t *)0x02000000u)
#define MIE_MSIE (1u << 3)

extern uint32_t __data_load[], __data_start[], __data_end[];
extern uint32_t __bss_start[], __bss_end[];

/* The port's (port.c, portASM.S). */
extern uint64_t ullNextTime;
extern volatile uint64_t *pullMachineTimerCompareRegister;
extern void freertos_risc_v_trap_handler(void);

void board_start(void) __attribute__((noreturn));
void board_fault(void) __attribute__((noreturn));
void freertos_risc_v_application_exception_handler(uint32_t cause);
void freertos_risc_v_application_interrupt_handler(uint32_t cause);

/* Semihosting calls (Arm, Semihosting for AArch32 and AArch64; RISC-V Semihosting). */
#define SYS_WRITE0 0x04u
#define SYS_EXIT_EXTENDED 0x20u
#define ADP_STOPPED_APPLICATION_EXIT 0x20026u

/* The three instructions must not be compressed, and must lie in one page. */
static __attribute__((noinline, aligned(16))) void semihosting(uint32_t operation,
                                                               const void *argument)
{
    register uint32_t a0 __asm("a0") = operation;
    register const void *a1 __asm("a1") = argument;

    __asm volatile(".option push\n\t"
                   ".option norvc\n\t"
                   ".balign 16\n\t"
                   "slli x0, x0, 0x1f\n\t"
                   "ebreak\n\t"
                   "srai x0, x0, 7\n\t"
                   ".option pop"
                   : "+r"(a0)
                   : "r"(a1)
                   : "memory");
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

/* Stores what makes an interrupt pending; where it is taken, start.S says. */
void board_raise(volatile uint32_t *at, uint32_t value);

/* The low half does nothing by itself, since the high half is large. */
void board_tick(void)
{
    MTIMECMP[0] = 0;
    board_raise(&MTIMECMP[1], 0);
}

/* What the application's handler calls when it has withdrawn the interrupt. */
static void (*volatile interrupt_function)(void) CALLER_DATA;

static void raise(void (*function)(void))
{
    interrupt_function = function;
    board_raise(&MSIP, 1);
}

void board_interrupt(void)
{
    raise(driver_interrupt);
}

CALLER_TEXT static void interrupt_does_nothing(void)
{
}

void board_minimal_interrupt(void)
{
    raise(interrupt_does_nothing);
}

CALLER_TEXT static void asks_for_switch(void)
{
    portYIELD_FROM_ISR(pdTRUE);
}

void board_switching_interrupt(void)
{
    raise(asks_for_switch);
}

/* Takes the place of the port's weak function: no timer, see above. The scheduler enables the
 * timer's interrupt itself. */
void vPortSetupTimerInterrupt(void)
{
    pullMachineTimerCompareRegister = (volatile uint64_t *)configMTIMECMP_BASE_ADDRESS;
    ullNextTime = UINT64_C(1) << 62;
    *pullMachineTimerCompareRegister = ullNextTime;
    __asm volatile("csrw mtvec, %0" ::"r"(freertos_risc_v_trap_handler));
    __asm volatile("csrs mie, %0" ::"r"(MIE_MSIE));
}

/* What the port's trap handler does not serve itself. There is one such interrupt, the one that is enabled
 * above: its pending bit stays set until software clears it, which is all that a handler must do. */
CALLER_TEXT void freertos_risc_v_application_interrupt_handler(uint32_t cause)
{
    (void)cause;
    MSIP = 0;
    interrupt_function();
}

void freertos_risc_v_application_exception_handler(uint32_t cause)
{
    (void)cause;
    board_fault();
}

void board_fault(void)
{
    board_print("the processor took a trap that nothing serves\n");
    board_exit(3);
}

void board_start(void)
{
    uint32_t *from = __data_load;

    for (uint32_t *to = __data_start; to < __data_end; to++)
        *to = *from++;
    for (uint32_t *to = __bss_start; to < __bss_end; to++)
        *to = 0;
    driver_main();
}
