/* First instructions: a stack, cleared memory, then C. A trap that is not meant ends the run with status 3. */
    .option norelax
    .section .text.start, "ax"
    .globl start
    .type start, @function
start:
    la sp, __stack_top
    la t0, mb_trap
    csrw mtvec, t0
    csrwi mie, 8           /* the software interrupt, wherever mstatus lets it in */
    la t0, __bss_start
    la t1, __bss_end
1:
    bgeu t0, t1, 2f
    sw zero, 0(t0)
    addi t0, t0, 4
    j 1b
2:
    jal ra, driver_main
    mv a1, a0
    j finish
    .size start, . - start

    .p2align 2
    .globl fatal
    .type fatal, @function
fatal:
    li a1, 3
finish:
    la t0, exit_block
    sw a1, 4(t0)
    li a0, 0x20            /* SYS_EXIT_EXTENDED (Arm, Semihosting for AArch32 and AArch64) */
    mv a1, t0
    .p2align 4
    .option norvc
    slli x0, x0, 0x1f
    ebreak
    srai x0, x0, 7
    .option rvc
1:
    j 1b
    .size fatal, . - fatal

    .section .data.exit_block, "aw"
    .p2align 2
exit_block:
    .word 0x20026, 0       /* ADP_STOPPED_APPLICATION_EXIT */
