@ Small firmware for mps2-an385 (Cortex-M3): what the traces beside it were recorded from.
@ A literal load, stores of every kind, an exclusive pair, an instruction skipped by IT, the UART, a
@ loop, a supervisor call, PendSV, two SysTick interrupts, and the end by semihosting.
    .syntax unified
    .cpu cortex-m3
    .thumb
    .section .vectors, "a"
    .word 0x20001000
    .word reset + 1
    .word hang + 1      @ NMI
    .word hang + 1      @ HardFault
    .word 0, 0, 0, 0, 0, 0, 0
    .word svcall + 1    @ 11
    .word 0, 0
    .word pendsv + 1    @ 14
    .word systick + 1   @ 15
    .text
    .thumb_func
    .global reset
    .type reset, %function
reset:
    ldr   r0, =0x20000100
    movs  r1, #5
    str   r1, [r0]
    strb  r1, [r0, #4]
    strd  r0, r1, [r0, #8]
    ldrd  r2, r3, [r0, #8]
    push  {r0, r1, r2, lr}
    pop   {r0, r1, r2, r3}
    ldrex r4, [r0]
    strex r5, r4, [r0]
    cmp   r1, #0
    it    eq
    streq r1, [r0]
    ldr   r6, =0x40004000
    movs  r2, #1
    str   r2, [r6, #8]
    movs  r2, #65
    str   r2, [r6]
    ldr   r3, [r6, #4]
loop:
    stmia r0!, {r1, r2}
    subs  r1, #1
    bne   loop
    svc   #3
    ldr   r0, =0xe000ed04
    mov   r1, #0x10000000
    str   r1, [r0]
    isb
    ldr   r0, =0xe000e010
    movs  r1, #100
    str   r1, [r0, #4]
    movs  r1, #7
    str   r1, [r0]
    movs  r4, #0
wait:
    cmp   r4, #2
    blt   wait
    movs  r0, #0x18
    ldr   r1, =0x20026
    bkpt  #0xab
hang:
    b hang
    .thumb_func
    .type svcall, %function
svcall:
    push {r4, lr}
    bl   leaf
    pop  {r4, pc}
    .thumb_func
    .type leaf, %function
leaf:
    movs r0, #1
    bx   lr
    .thumb_func
    .type pendsv, %function
pendsv:
    bx   lr
    .thumb_func
    .type systick, %function
systick:
    adds r4, #1
    bx   lr
