/* What the kernel has to be told about the board. */
#ifndef BOARD_CONFIG_H
#define BOARD_CONFIG_H

/* The driver raises every tick itself (see board.c), so the clock is only a number. The port gives
 * its own exceptions the least urgent priority; 0xa0 (BASEPRI) masks every interrupt that may call
 * the kernel. */
#define configCPU_CLOCK_HZ 25000000
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 0xa0

/* Words that any task of the driver can do with. */
#define configMINIMAL_STACK_SIZE 128

/* The processor counts leading zeros. */
#define configUSE_PORT_OPTIMISED_TASK_SELECTION 1

/* Critical sections are functions of the port. */
#define BOARD_HAS_CRITICAL_FUNCTIONS 1

#endif
