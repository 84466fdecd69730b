# Small firmware for QEMU's virt (RV32IMC): what riscv.execlog-10.0.log was recorded from.
# A function is called with 1 to 4 in a0; it turns its loop as often, over words of an array.
    .option norelax
    .text
    .global reset
    .type reset, @function
reset:
    lui   sp, 0x80200
    li    s0, 1
next:
    mv    a0, s0
    lui   a1, 0x80100
    jal   sum
    addi  s0, s0, 1
    li    t0, 5
    bne   s0, t0, next
    li    a0, 0x18
    li    a1, 0x20026
    .balign 16
    .option push
    .option norvc
    slli  x0, x0, 0x1f
    ebreak
    srai  x0, x0, 7
    .option pop
    .size reset, . - reset
    .type sum, @function
sum:
    addi  sp, sp, -16
    sw    s0, 12(sp)
    li    s0, 0
1:  lw    t1, 0(a1)
    add   s0, s0, t1
    addi  a1, a1, 4
    addi  a0, a0, -1
    bnez  a0, 1b
    mv    a0, s0
    lw    s0, 12(sp)
    addi  sp, sp, 16
    ret
    .size sum, . - sum
    .section .data, "aw"
    .word 1, 2, 3, 4
