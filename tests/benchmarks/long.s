@ A firmware that runs as long as OUTER and INNER say: marked calls of a service whose loop runs
@ N = 1..16 times, and between them plain code that only takes time.
 .syntax unified
 .cpu cortex-m3
 .thumb
 .section .vectors, "a"
 .word 0x20010000, reset + 1, fault + 1, fault + 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, fault + 1, fault + 1
 .section .marks, "aw", %nobits
 .global wcet_mark
 .type wcet_mark, %object
 .size wcet_mark, 1024
wcet_mark: .space 1024
 .section .ram, "aw", %nobits
 .space 64
 .text
 .type reset, %function
 .global reset
reset:
 ldr r7, =OUTER
 ldr r5, =wcet_mark
 ldr r4, =0x20000000
outer:
 and r0, r7, #15
 adds r0, #1
 add r1, r5, #512
 strb r0, [r1, r0]        @ parameter N
 movs r1, #1
 strb r1, [r5, r1]        @ service 1 begins
 bl service
 add r1, r5, #257
 strb r1, [r1]            @ service 1 ends
 ldr r6, =INNER
inner:
 ldr r3, [r4]
 adds r3, #1
 str r3, [r4, #4]
 ldrb r2, [r4, #1]
 subs r6, #1
 bne inner
 subs r7, #1
 bne outer
 movs r0, #0x18
 ldr r1, =0x20026
 bkpt 0xab
fault:
 movs r0, #0x18
 movs r1, #0
 bkpt 0xab
 .size reset, . - reset
 .type service, %function
 .global service
service:
 push {r4, lr}
 .ifdef LOOPS             @ rather than N
 ldr r0, =LOOPS
 .endif
 cpsid i
again:
 str r0, [r4, #8]
 subs r0, #1
 bne again
 cpsie i
 pop {r4, pc}
 .size service, . - service
 .pool
