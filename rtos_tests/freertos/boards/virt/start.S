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

/* Nobody calls it: it is what a core finds that fetches ahead behind the last return of .fast_text,
 * three instructions. Without it that is unknown, and has to be taken for anything. */
    .section .text.behind_fast_text, "ax"
    .type behind_fast_text, @function
behind_fast_text:
    .rept 5
    nop
    .endr
    ebreak
    .size behind_fast_text, . - behind_fast_text
