/* What the kernel has to be told about the board. */
#ifndef BOARD_CONFIG_H
#define BOARD_CONFIG_H

/* The clock that mtime counts, and where it stands: the SiFive CLINT of QEMU's virt. The driver
 * raises every tick itself (see board.c). */
#define configCPU_CLOCK_HZ 10000000
#define configMTIME_BASE_ADDRESS 0x0200bff8
#define configMTIMECMP_BASE_ADDRESS 0x02004000

/* Words that any task of the driver can do with: an interrupted task has 31 registers there. */
#define configMINIMAL_STACK_SIZE 256

/* By counting leading zeros. RV32IMC has no instruction for that; libgcc does it with a table. */
#define configUSE_PORT_OPTIMISED_TASK_SELECTION 1

/* A handler that asks for a switch makes it itself. */
#define BOARD_SWITCHES_IN_HANDLERS 1

/* It has the functions that BEHIND_STORES names (start.S). */
#define BOARD_CALLS_BEHIND_STORES 1

#endif
