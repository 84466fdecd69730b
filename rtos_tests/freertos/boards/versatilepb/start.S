/* Vectors (Arm Architecture Reference Manual, A2.6), stacks of the modes, then C.
 *
 * An LPC2000 reads the handler of an interrupt from a register of its interrupt controller, by a
 * load of the vector itself: ldr pc, [pc, #-0xff0]. Here that load reads a word of memory, which
 * whoever raises an interrupt has set before. The path is the same.
 */
    .syntax unified
    .arm

    .macro vector name, target
    .globl vector_\name
    .type vector_\name, %function
vector_\name:
    ldr pc, \target
    .size vector_\name, 4
    .endm

    .section .vectors, "awx"
    vector reset, at_reset
    vector undefined, at_fault
    vector software, at_software
    vector prefetch, at_fault
    vector data, at_fault
    .word 0
    vector interrupt, board_handler
    vector fast, at_fault

at_reset: .word reset
at_fault: .word board_fault
at_software: .word vPortYieldProcessor
    .globl board_handler
    .type board_handler, %object
board_handler: .word board_fault
    .size board_handler, 4

    .text
    .globl reset
    .type reset, %function
reset:
    msr cpsr_c, #0xd2           @ IRQ
    ldr sp, =__irq_stack_top
    msr cpsr_c, #0xd3           @ Supervisor: the kernel is started from it
    ldr sp, =__main_stack_top
    b board_start
    .pool
    .size reset, . - reset
