/* First instructions: a stack, then C. Traps before the scheduler is set up are failures. */
    .section .text.start, "ax"
    .globl start
    .type start, @function
start:
    la sp, __main_stack_top
    la t0, unexpected
    csrw mtvec, t0
    j board_start
    .size start, . - start

    .balign 4
    .type unexpected, @function
unexpected:
    j board_fault
    .size unexpected, . - unexpected
