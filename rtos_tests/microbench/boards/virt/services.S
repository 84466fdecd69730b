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

/* Parts of less than 3.5 KiB, of which none shares a set of a cache of 4 KiB with what runs between two calls (link.ld),
 * so that the second call finds all of its code there. */
    .section .text.services_1, "ax"

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

    .macro turn_divide_use
    divu t0, a2, a3
    add t1, t0, a2
    .endm
    service divide_use
    li a2, -1
    li a3, 1
    turns divide_use, turn_divide_use

/* The one between makes an access of its own. */
    .macro turn_load_use_behind_access
    lw t0, 0(a1)
    sw a2, 4(a1)
    add t1, t0, a2
    .endm
    service load_use_behind_access
    turns load_use_behind_access, turn_load_use_behind_access

    .macro turn_load_system
    lw t0, 0(a1)
    csrw mscratch, t0
    .endm
    service load_system
    turns load_system, turn_load_system

    .macro turn_load_branch
    lw t0, 0(a1)
    beq t0, t0, 2f
    add t1, a1, a2
2:
    .endm
    service load_branch
    turns load_branch, turn_load_branch

/* What is loaded into the base of a store, and into what a store writes. */
    .macro turn_load_store
    lw t0, 4(a1)
    sw t0, 0(t0)
    .endm
    service load_store
    sw a1, 4(a1)
    turns load_store, turn_load_store

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

/* A device's register: the timer's, which nobody waits for. */
    .macro turn_load_device
    lw t0, 0(t2)
    add t1, a1, a2
    .endm
    service load_device
    li t2, 0x02004000
    turns load_device, turn_load_device

    .macro turn_store_device
    sw t3, 4(t2)
    add t1, a1, a2
    .endm
    service store_device
    li t2, 0x02004000
    li t3, -1
    turns store_device, turn_store_device

    .section .text.services_2, "ax"
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

/* Not by a link register, so neither call nor return. */
    .macro turn_jump_indirect
    la t5, 2f
    add t0, a1, a2
    add t0, a1, a2
    jr t5
    add t0, a1, a2
2:
    .endm
    service jump_indirect
    turns jump_indirect, turn_jump_indirect

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

/* Behind another instruction, so that it waits in the first turn as well. */
    .macro turn_behind_system
    add t1, a1, a2
    csrr t0, mscratch
    .endm
    service behind_system
    turns behind_system, turn_behind_system

    .macro turn_behind_system_use
    add t1, a1, a2
    csrr t0, mscratch
    add t1, t0, a2
    .endm
    service behind_system_use
    turns behind_system_use, turn_behind_system_use

/* Behind what takes effect late it need not wait. */
    .macro turn_taken_system
    beq x0, x0, 2f
    add t1, a1, a2
2:
    csrr t0, mscratch
    .endm
    service taken_system
    turns taken_system, turn_taken_system

/* Behind one that takes effect early it waits less: no instruction came with the refill. */
    .macro turn_jump_system
    j 2f
    add t1, a1, a2
2:
    csrr t0, mscratch
    .endm
    service jump_system
    turns jump_system, turn_jump_system

    .macro turn_store_system
    add t1, a1, a2
    sw a2, 0(a1)
    csrw mscratch, a2
    .endm
    service store_system
    turns store_system, turn_store_system

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

/* The same to a read of a system register. */
    .macro turn_jump_system_across
    .p2align 2
    c.j 2f
    add t0, a1, a2
2:
    .option norvc
    csrr t0, mscratch
    .option rvc
    c.nop
    .endm
    service jump_system_across
    turns jump_system_across, turn_jump_system_across

    .macro turn_taken_short
    c.beqz a5, 2f
    c.add a3, a4
2:
    .endm
    service taken_short
    li a5, 0
    turns taken_short, turn_taken_short

/* A branch backwards falls through to an instruction of 32 bits that lies across two words. */
    .macro turn_fall_across
    .p2align 2
2:
    c.add a3, a4
    c.nop
    c.bnez a5, 2b
    .option norvc
    add t1, a1, a2
    .option rvc
    c.nop
    .endm
    service fall_across
    li a5, 0
    .p2align 2
    turns fall_across, turn_fall_across

/* --- several things at once, as compilers write them ------------------------------------------------------ */
    .macro turn_save_restore
    c.addi sp, -16
    c.swsp ra, 12(sp)
    c.swsp s0, 8(sp)
    c.swsp s1, 4(sp)
    c.mv s0, a1
    c.mv s1, a2
    c.lwsp ra, 12(sp)
    c.lwsp s0, 8(sp)
    c.lwsp s1, 4(sp)
    c.addi sp, 16
    .endm
    service save_restore
    turns save_restore, turn_save_restore

    .macro turn_copy
    c.lw a4, 0(a1)
    c.sw a4, 8(a1)
    lbu t0, 1(a1)
    sb t0, 2(a1)
    .endm
    service copy
    turns copy, turn_copy

    .section .text.services_3, "ax"
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

    .section .text.services_2, "ax"
/* --- traps --------------------------------------------------------------------------------------------------
 * A call of the supervisor switches to a thread that calls it in turn, so each of these is switched away once.
 * What stands before the call decides how long the trap takes. */
    .macro yields name
    ecall
    ret
    .size mb_\name, . - mb_\name
    .endm

    service yield
    add t0, a1, a2
    yields yield

    service yield_load
    lw t0, 0(a1)
    yields yield_load

    service yield_store
    sw a2, 0(a1)
    yields yield_store

    service yield_multiply
    mul t0, a1, a2
    yields yield_multiply

    service yield_divide
    li t1, -1
    divu t0, t1, a2
    yields yield_divide

    service yield_jump
    j 1f
    add t0, a1, a2
1:
    yields yield_jump

    service yield_taken
    beq x0, x0, 1f
    add t0, a1, a2
1:
    yields yield_taken

/* These are no services of their own, for the board's runs are cut where a call is seen to lead to the trap. */
    .p2align 4
    .globl mb_yield_indirect
    .type mb_yield_indirect, @function
mb_yield_indirect:
    la t5, 1f
    jr t5
    add t0, a1, a2
1:
    yields yield_indirect

    .option rvc
    .p2align 4
    .globl mb_yield_short
    .type mb_yield_short, @function
mb_yield_short:
    c.li a5, 0
    c.beqz a5, 1f
    c.add a3, a4
    c.add a3, a4
1:
    yields yield_short

    .p2align 4
    .globl mb_yield_indirect_short
    .type mb_yield_indirect_short, @function
mb_yield_indirect_short:
    la t5, 1f
    c.jr t5
    c.add a3, a4
    c.add a3, a4
1:
    yields yield_indirect_short

    .p2align 4
    .type mb_return, @function
mb_return:
    c.add a3, a4
    c.jr ra
    .size mb_return, . - mb_return
    .option norvc

/* What follows is the next one of the table for the driver. */
    .macro in_table
9:
    .pushsection .rodata.interrupted, "a"
    .word 9b
    .popsection
    .endm

/* The software interrupt comes some instructions behind the store that raises it: among these, and \later of them
 * later. What is under way there decides how long the trap takes. The fence is for the emulator, which takes
 * interrupts at ends of blocks. All go into a table for the driver, four for each case. */
    .macro interrupted turn
    .irp later, 0, 1, 2, 3
    .pushsection .text.interrupted_\later, "ax"
    .p2align 2
    in_table
    li t6, 0x02000000
    li t5, 1
    li t4, -1
    li a5, 0
    csrsi mstatus, 8
    sw t5, 0(t6)
    .rept \later
    nop
    .endr
    .rept 4
    \turn
    .endr
    fence
    nop
    csrci mstatus, 8
    ret
    .popsection
    .endr
    .endm

    .macro turn_barrier
    fence
    .endm
    .macro turn_divide_branch
    divu t0, t4, a2
    bnez t0, 2f
    add t1, a1, a2
2:
    .endm
    .macro turn_load_untaken
2:
    lw t0, 0(a1)
    bne t0, t0, 2b
    .endm
    .macro turn_load_jump_indirect
    la t5, 2f
    sw t5, 8(a1)
    lw t5, 8(a1)
    jr t5
    add t1, a1, a2
2:
    .endm

/* The same among instructions of 16 bits, where the fetch unit is held. */
    .macro turn_jump_indirect_short
    la t5, 2f
    c.jr t5
    c.add a3, a4
    c.add a3, a4
2:
    .endm
    .macro turn_call_short
    c.mv t3, ra
    c.jal mb_return
    c.mv ra, t3
    c.add a3, a4
    .endm

/* Four, of which the interrupt comes at or before an instruction that lies across two lines of a cache, behind a jump
 * at the end of one, so that the line behind the jump is fetched in vain. None of these three is used otherwise: where
 * caches are empty, it waits for all of them. No place is worse for a handler. */
    .macro interrupted_across_lines
    .irp later, 0, 1, 2, 3
    .pushsection .text.interrupted_\later, "ax"
    .p2align 6
    in_table
    .option norvc
    li t6, 0x02000000
    li t5, 1
    la t3, 2f
    csrsi mstatus, 8
    j 1f
    .option rvc
    .rept (56 - 4 * \later - 24) / 2
    c.nop
    .endr
    .option norvc
1:
    sw t5, 0(t6)
    .rept \later
    nop
    .endr
    jr t3
    .option rvc
    .rept (126 - 64) / 2
    c.nop
    .endr
    .option norvc
2:
    nop
    fence
    nop
    csrci mstatus, 8
    ret
    .option rvc
    .popsection
    .endr
    .option norvc
    .endm

    .pushsection .rodata.interrupted, "a"
    .p2align 2
    .globl mb_interrupted
mb_interrupted:
    .popsection
    interrupted turn_barrier
    interrupted turn_alu
    interrupted turn_load_use
    interrupted turn_store_store
    interrupted turn_multiply_use
    interrupted turn_jump
    interrupted turn_taken_forward
    interrupted turn_untaken_backward
    interrupted turn_behind_system
    interrupted turn_load_branch
    interrupted turn_divide_branch
    interrupted turn_load_untaken
    interrupted turn_jump_indirect
    interrupted turn_load_jump_indirect
    .option rvc
    interrupted turn_alu_mixed
    interrupted turn_jump_across
    interrupted turn_taken_short
    interrupted turn_fall_across
    interrupted turn_jump_indirect_short
    interrupted turn_call_short
    interrupted_across_lines
    .option norvc

    .section .text.measure, "ax"
/* Where all traps begin. A supervisor call switches to the other thread, an interrupt is withdrawn; anything else
 * ends the run. */
    .p2align 4
    .globl mb_trap
    .type mb_trap, @function
mb_trap:
    addi sp, sp, -16
    sw t0, 0(sp)
    sw t1, 4(sp)
    csrr t0, mcause
    bltz t0, 1f
    addi t0, t0, -11
    bnez t0, fatal
    csrr t0, mepc
    addi t0, t0, 4
    sw t0, 8(sp)
    csrr t0, mstatus
    sw t0, 12(sp)
    la t1, mb_current
    lw t0, 0(t1)
    sw sp, 0(t0)
    lw t0, 4(t0)
    sw t0, 0(t1)
    lw sp, 0(t0)
    lw t0, 12(sp)
    csrw mstatus, t0
    lw t0, 8(sp)
    csrw mepc, t0
    j 2f
1:
    li t1, 0x02000000
    sw zero, 0(t1)
2:
    lw t0, 0(sp)
    lw t1, 4(sp)
    addi sp, sp, 16
    mret
    .size mb_trap, . - mb_trap

/* The other thread. */
    .globl mb_other
    .type mb_other, @function
mb_other:
    ecall
    j mb_other
    .size mb_other, . - mb_other

    .section .rodata.constants, "a"
    .p2align 4
mb_constants:
    .word 1, 2, 3, 4
