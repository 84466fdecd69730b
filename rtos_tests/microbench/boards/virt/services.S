/* Micro-benchmarks for RV32IMC: each is a service whose parameter N is a number of turns. A turn is
 * eight times the same few instructions, then the loop's own two. What a body needs stands before the
 * loop; everything is a leaf function.
 *
 * a0: N; a1: an aligned buffer of 4 KiB; t0 .. t6 scratch.
 */
    .option norelax

    .macro service name
    .p2align 4
    .globl mb_\name
    .type mb_\name, @function
mb_\name:
    .endm

    /* \turn: a macro of the body's instructions. */
    .macro turns name, turn
1:
    .rept 8
    \turn
    .endr
    addi a0, a0, -1
    bnez a0, 1b
    ret
    .size mb_\name, . - mb_\name
    .endm

    .section .text.services, "ax"

/* Nothing: what measuring takes. */
    .option norvc
    service empty_call
    ret
    .size mb_empty_call, . - mb_empty_call

/* --- instructions of 32 bits, independent of each other ------------------------------------------- */
    .macro turn_alu
    add t0, a1, a2
    .endm
    service alu
    turns alu, turn_alu

    .macro turn_shift
    slli t0, a1, 3
    .endm
    service shift
    turns shift, turn_shift

    .macro turn_multiply
    mul t0, a1, a2
    .endm
    service multiply
    turns multiply, turn_multiply

    .macro turn_multiply_high
    mulh t0, a1, a2
    .endm
    service multiply_high
    turns multiply_high, turn_multiply_high

/* The dividend has its highest bit set and the divisor is 1: no divider can leave out more. */
    .macro turn_divide
    divu t0, a2, a3
    .endm
    service divide
    li a2, -1
    li a3, 1
    turns divide, turn_divide

/* --- results used at once, and one instruction later ---------------------------------------------- */
    .macro turn_shift_use
    slli t0, a1, 3
    add t1, t0, a2
    .endm
    service shift_use
    turns shift_use, turn_shift_use

    .macro turn_multiply_use
    mul t0, a1, a2
    add t1, t0, a2
    .endm
    service multiply_use
    turns multiply_use, turn_multiply_use

    .macro turn_multiply_use_later
    mul t0, a1, a2
    add t2, a1, a2
    add t1, t0, a2
    .endm
    service multiply_use_later
    turns multiply_use_later, turn_multiply_use_later

    .macro turn_load_use
    lw t0, 0(a1)
    add t1, t0, a2
    .endm
    service load_use
    turns load_use, turn_load_use

    .macro turn_load_use_later
    lw t0, 0(a1)
    add t2, a1, a2
    add t1, t0, a2
    .endm
    service load_use_later
    turns load_use_later, turn_load_use_later

    .macro turn_load_address
    lw t0, 4(a1)
    lw t1, 0(t0)
    .endm
    service load_address
    sw a1, 4(a1)
    turns load_address, turn_load_address

/* --- data accesses ---------------------------------------------------------------------------------- */
    .macro turn_load
    lw t0, 0(a1)
    add t1, a1, a2
    .endm
    service load
    turns load, turn_load

    .macro turn_load_load
    lw t0, 0(a1)
    lw t1, 4(a1)
    .endm
    service load_load
    turns load_load, turn_load_load

    .macro turn_load_byte
    lbu t0, 1(a1)
    add t1, a1, a2
    .endm
    service load_byte
    turns load_byte, turn_load_byte

    .macro turn_load_half
    lhu t0, 2(a1)
    add t1, a1, a2
    .endm
    service load_half
    turns load_half, turn_load_half

    .macro turn_store
    sw a2, 0(a1)
    add t1, a1, a2
    .endm
    service store
    turns store, turn_store

    .macro turn_store_store
    sw a2, 0(a1)
    sw a2, 4(a1)
    .endm
    service store_store
    turns store_store, turn_store_store

    .macro turn_store_byte
    sb a2, 1(a1)
    add t1, a1, a2
    .endm
    service store_byte
    turns store_byte, turn_store_byte

    .macro turn_store_half
    sh a2, 2(a1)
    add t1, a1, a2
    .endm
    service store_half
    turns store_half, turn_store_half

    .macro turn_store_load
    sw a2, 0(a1)
    lw t0, 4(a1)
    .endm
    service store_load
    turns store_load, turn_store_load

/* A line further each time, of any line size up to 128 bytes. */
    .macro turn_load_stride
    lw t0, 0(a1)
    addi a1, a1, 128
    .endm
    service load_stride
    turns load_stride, turn_load_stride

    .macro turn_store_stride
    sw a2, 0(a1)
    addi a1, a1, 128
    .endm
    service store_stride
    turns store_stride, turn_store_stride

/* Constants beside the code. */
    .macro turn_load_constant
    lw t0, 0(t2)
    add t1, a1, a2
    .endm
    service load_constant
    la t2, mb_constants
    turns load_constant, turn_load_constant

/* --- transfers of control ---------------------------------------------------------------------------- */
    .macro turn_untaken_forward
    bne x0, x0, 2f
    add t0, a1, a2
2:
    .endm
    service untaken_forward
    turns untaken_forward, turn_untaken_forward

    .macro turn_taken_forward
    beq x0, x0, 2f
    add t0, a1, a2
2:
    .endm
    service taken_forward
    turns taken_forward, turn_taken_forward

    .macro turn_untaken_backward
2:
    add t0, a1, a2
    bne x0, x0, 2b
    .endm
    service untaken_backward
    turns untaken_backward, turn_untaken_backward

/* Nothing but the loop. */
    service taken_backward
1:
    addi a0, a0, -1
    bnez a0, 1b
    ret
    .size mb_taken_backward, . - mb_taken_backward

    .macro turn_jump
    j 2f
    add t0, a1, a2
2:
    .endm
    service jump
    turns jump, turn_jump

/* By the alternate link register, so that the benchmark's own return address stays where it is. */
    .macro turn_call
    jal t0, mb_nothing
    .endm
    service call
    turns call, turn_call

    .macro turn_call_indirect
    jalr t0, 0(t5)
    .endm
    service call_indirect
    la t5, mb_nothing
    turns call_indirect, turn_call_indirect

    .p2align 4
    .type mb_nothing, @function
mb_nothing:
    jr t0
    .size mb_nothing, . - mb_nothing

/* --- system registers ---------------------------------------------------------------------------------- */
    .macro turn_read_system
    csrr t0, mscratch
    add t1, a1, a2
    .endm
    service read_system
    turns read_system, turn_read_system

    .macro turn_read_system_use
    csrr t0, mscratch
    add t1, t0, a2
    .endm
    service read_system_use
    turns read_system_use, turn_read_system_use

    .macro turn_write_system
    csrw mscratch, a2
    add t1, a1, a2
    .endm
    service write_system
    turns write_system, turn_write_system

/* Interrupts are off and stay so: the bit that is written is clear already. */
    .macro turn_mask
    csrci mstatus, 8
    add t1, a1, a2
    .endm
    service mask
    turns mask, turn_mask

    .macro turn_fence
    fence
    add t1, a1, a2
    .endm
    service fence
    turns fence, turn_fence

/* --- instructions of 16 bits, and targets across two words ---------------------------------------------- */
    .option rvc
    .macro turn_alu_short
    c.add a3, a4
    .endm
    service alu_short
    turns alu_short, turn_alu_short

/* 16 and 32 bits in turn, so that every other one lies across two words. */
    .macro turn_alu_mixed
    c.add a3, a4
    add t0, a1, a2
    .endm
    service alu_mixed
    turns alu_mixed, turn_alu_mixed

    .macro turn_load_short
    c.lw a3, 0(a1)
    c.add a4, a5
    .endm
    service load_short
    turns load_short, turn_load_short

/* Jumps to an instruction of 32 bits that lies across two words. */
    .macro turn_jump_across
    .p2align 2
    c.j 2f
    add t0, a1, a2
2:
    .option norvc
    add t1, a1, a2
    .option rvc
    c.nop
    .endm
    service jump_across
    turns jump_across, turn_jump_across

    .macro turn_taken_short
    c.beqz a5, 2f
    c.add a3, a4
2:
    .endm
    service taken_short
    li a5, 0
    turns taken_short, turn_taken_short

/* --- code that is run once: nothing but fetches ---------------------------------------------------------- */
    .option norvc
    .macro code words
    .rept \words
    add t0, a1, a2
    .endr
    .endm

    service straight_64
    code 64
    ret
    .size mb_straight_64, . - mb_straight_64

    service straight_256
    code 256
    ret
    .size mb_straight_256, . - mb_straight_256

/* A jump out of each piece of 128 bytes: only a word or two of each is needed. */
    service scattered
    .rept 16
    j 2f
    .p2align 7
2:
    .endr
    ret
    .size mb_scattered, . - mb_scattered

    .section .rodata.constants, "a"
    .p2align 4
mb_constants:
    .word 1, 2, 3, 4
