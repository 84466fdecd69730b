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

/* board_raise(where, value). What the store raises is taken before the instruction that the jump goes to. That lies
 * across two lines of a cache, and the jump at the end of one, so that the line behind it is fetched in vain. None of
 * these three is used otherwise: where caches are empty, the interrupt waits for all of them. No place is worse for a
 * handler. Where nothing waits, a core may be some instructions further on. */
    .section .text.board_raise, "ax"
    .globl board_raise
    .type board_raise, @function
    .balign 64
board_raise:
    .option push
    .option norvc
    la t0, across
    j raises
    .option pop
    .rept (56 - 12) / 2
    nop
    .endr
    .option push
    .option norvc
raises:
    sw a1, 0(a0)
    jr t0
    .option pop
    .rept (126 - 64) / 2
    nop
    .endr
    .option push
    .option norvc
across:
    nop
    .option pop
    fence
    nop
    ret
    .size board_raise, . - board_raise

/* Callers of services that store twice right before, and by `jal`, which transfers control at once: nothing that a
 * caller does leaves more for a service to wait for. */
    .macro behind_stores function
    .section .text.behind_stores, "ax"
    .globl behind_stores_\function
    .type behind_stores_\function, @function
    .balign 4
behind_stores_\function:
    addi sp, sp, -16
    sw ra, 12(sp)
    sw zero, 8(sp)
    sw zero, 4(sp)
    jal \function
    .option push
    .option norvc // two instructions in the word behind a call might hold its fetch, which is no time of the function's
    lw ra, 12(sp)
    .option pop
    addi sp, sp, 16
    ret
    .size behind_stores_\function, . - behind_stores_\function
    .endm

    behind_stores uxTaskPriorityGet
    behind_stores vListInsert
    behind_stores vListInsertEnd
    behind_stores uxListRemove
    behind_stores vTaskSuspendAll
    behind_stores xTaskGetTickCount
