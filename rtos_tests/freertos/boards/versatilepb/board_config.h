/* What the kernel has to be told about the board. */
#ifndef BOARD_CONFIG_H
#define BOARD_CONFIG_H

#include <stdint.h>

/* The driver raises every tick itself (see board.c), so the clock is only a number. */
#define configCPU_CLOCK_HZ 60000000

/* Words that any task of the driver can do with. */
#define configMINIMAL_STACK_SIZE 160

/* Armv4T has no instruction that counts leading zeros, and this port no other way. */
#define configUSE_PORT_OPTIMISED_TASK_SELECTION 0

/* A handler that asks for a switch makes it itself. Critical sections are functions of the port; masking alone
 * is one where the kernel is in Thumb state. */
#define BOARD_SWITCHES_IN_HANDLERS 1
#define BOARD_HAS_CRITICAL_FUNCTIONS 1
#ifdef THUMB_INTERWORK
#define BOARD_HAS_MASKING_FUNCTIONS 1
#endif

/* What the port takes from a header of the LPC2000. Its interrupt controller is a PrimeCell PL190 (DDI
 * 0181), and so is the board's. */
#define BOARD_VIC(offset) (*(volatile uint32_t *)(0x10140000u + (offset)))
#define VICIntSelect BOARD_VIC(0x00c)
#define VICIntEnable BOARD_VIC(0x010)
#define VICVectAddr BOARD_VIC(0x030)
#define VICVectAddr0 BOARD_VIC(0x100)
#define VICVectCntl0 BOARD_VIC(0x200)

/* The port's handler says to the timer that its interrupt, bit 0, was served. Here it says so to the
 * register that withdraws interrupts that software made pending (VICSOFTINTCLEAR), of which the
 * tick is number 0. Nothing else is ever asked of the timer: these registers are just memory. */
#define T0_IR BOARD_VIC(0x01c)
extern volatile uint32_t board_timer[4];
#define T0_PR board_timer[0]
#define T0_MR0 board_timer[1]
#define T0_MCR board_timer[2]
#define T0_TCR board_timer[3]

/* The port chooses a new task's status by conditional moves (Arm or Thumb state), which nobody can
 * follow in a trace; so interrupts are let in once more, by a constant. */
void board_let_in(void);
#define BOARD_FIRST_TASK_BEGINS() board_let_in()

/* The port's macro has no argument. */
#define BOARD_YIELD_FROM_ISR(woken)                                                                \
    do {                                                                                           \
        if (woken)                                                                                 \
            portYIELD_FROM_ISR();                                                                  \
    } while (0)

#endif
