/* RISC-V (QEMU virt): semihosting, and interrupts that are raised by hand.
 *
 * The kernel's own timer driver is used. Its ticks are so far apart (boards/qemu_riscv32.conf) that
 * none comes by itself: board_tick() puts the counter forward to where the next one is due. The
 * driver's own interrupt is the machine software interrupt.
 */
#include <zephyr/kernel.h>
#include <zephyr/irq.h>

#include "board.h"

/* Interrupt number at machine level (RISC-V Privileged Architecture, mip). */
#define SOFTWARE_IRQ 3

/* Core-local interruptor of QEMU's virt (SiFive CLINT): software interrupt, compare register and
 * counter of hart 0. */
#define MSIP (*(volatile uint32_t *)0x2000000u)
#define MTIMECMP ((volatile uint32_t *)0x2004000u)
#define MTIME ((volatile uint32_t *)0x200bff8u)

/* Semihosting calls (RISC-V semihosting, the operations are Arm's). */
#define SYS_WRITE0 0x04u
#define SYS_EXIT_EXTENDED 0x20u
#define ADP_STOPPED_APPLICATION_EXIT 0x20026u

/* Volatile, since the handler reads it. */
static void (*volatile on_interrupt)(void);

static void semihosting(unsigned long operation, const void *argument)
{
    register unsigned long a0 __asm("a0") = operation;
    register const void *a1 __asm("a1") = argument;

    /* The three instructions have to be uncompressed and in one page. */
    __asm volatile(".option push\n\t.option norvc\n\t.balign 16\n\t"
                   "slli zero, zero, 0x1f\n\tebreak\n\tsrai zero, zero, 7\n\t.option pop"
                   : "+r"(a0)
                   : "r"(a1)
                   : "memory");
}

void board_print(const char *text)
{
    semihosting(SYS_WRITE0, text);
}

void board_exit(int status)
{
    const unsigned long block[2] = {ADP_STOPPED_APPLICATION_EXIT, (unsigned long)status};

    semihosting(SYS_EXIT_EXTENDED, block);
    for (;;) {
    }
}

static void own_handler(const void *unused)
{
    void (*const now)(void) = on_interrupt;

    ARG_UNUSED(unused);
    MSIP = 0;
    if (now != NULL)
        now();
}

void board_start(void)
{
    IRQ_CONNECT(SOFTWARE_IRQ, 0, own_handler, NULL, 0);
    irq_enable(SOFTWARE_IRQ);
}

__attribute__((noinline)) void board_unmask(void)
{
    __asm volatile("csrsi mstatus, 8" : : : "memory");
}

void board_on_interrupt(void (*handler)(void))
{
    on_interrupt = handler;
}

void board_interrupt(void)
{
    MSIP = 1;
    /* The interrupt comes before the pending bit can be read as set again. */
    while (MSIP != 0) {
    }
}

void board_tick(void)
{
    unsigned key = irq_lock();
    uint32_t low = MTIMECMP[0], high = MTIMECMP[1];

    MTIME[1] = high;
    MTIME[0] = low;
    irq_unlock(key);
    /* The interrupt was taken; its handler asks for the next one. */
}
