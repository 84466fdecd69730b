/* SPDX-License-Identifier: Apache-2.0
 *
 * Readings of a cycle counter around an operation, on a target without operating system or with one.
 *
 *     static struct wcet_reading readings[500];
 *
 *     wcet_measure_begin();
 *     for (int i = 0; i < 500; i++)
 *         WCET_MEASURE(readings[i], xQueueSend(queue, &item, 0));
 *     wcet_measure_heading(put);
 *     wcet_measure_print(put, "xQueueSend", -1, 1, readings, 500);
 *
 * Each statement is read around twice, nested:
 *
 *     start_outer  start_inner  { the statement }  end_inner  end_outer
 *
 * so that end_outer - start_outer - (end_inner - start_inner) is what reading the counter takes. put() sends one
 * character to wherever you can read it: a serial line, semihosting, RTT. What it sends is what
 * `wcetchar measure target PLAN READINGS.csv --clock 168MHz` reads. Nothing is printed while something is measured.
 *
 * The counter is the core's own where the compiler says which core it is: DWT_CYCCNT of Armv7-M and Armv8-M Mainline,
 * mcycle of RISC-V (in machine mode). Another one, such as a timer's register, is given before this file is included:
 *
 *     #define WCET_MEASURE_COUNTER() (TIMER->VALUE)     counts up; one that counts down: (0u - TIMER->VALUE)
 *     #define WCET_MEASURE_BITS 24                      if it begins anew before 2^32
 *
 * WCET_MEASURE_BARRIER() is what keeps the statement between the readings; by default the compiler's order alone, and
 * on Armv7-M and RISC-V also that what was loaded and stored has arrived. Interrupts are left as they are: mask them for
 * the operation alone, leave them for what it takes in the system.
 */
#ifndef WCET_MEASURE_H
#define WCET_MEASURE_H

#include <stdint.h>

struct wcet_reading {
    uint32_t start_outer, start_inner, end_inner, end_outer;
};

#define WCET_MEASURE_ORDER() __asm__ volatile("" ::: "memory")

#if defined(WCET_MEASURE_COUNTER)

static inline void wcet_measure_begin(void) {}

#elif defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && __ARM_ARCH_ISA_THUMB == 2

/* Armv7-M Architecture Reference Manual, C1.6.5 (DEMCR) and C1.8 (DWT). The lock is there on some cores only. */
#define WCET_MEASURE_REGISTER(address) (*(volatile uint32_t *)(address))
#define WCET_MEASURE_COUNTER() WCET_MEASURE_REGISTER(0xe0001004u)
#ifndef WCET_MEASURE_BARRIER
#define WCET_MEASURE_BARRIER() __asm__ volatile("dsb" ::: "memory")
#endif

static inline void wcet_measure_begin(void)
{
    WCET_MEASURE_REGISTER(0xe000edfcu) |= 1u << 24;  /* DEMCR.TRCENA */
    WCET_MEASURE_REGISTER(0xe0001fb0u) = 0xc5acce55u; /* DWT_LAR */
    WCET_MEASURE_REGISTER(0xe0001004u) = 0;          /* DWT_CYCCNT */
    WCET_MEASURE_REGISTER(0xe0001000u) |= 1u;        /* DWT_CTRL.CYCCNTENA */
}

#elif defined(__riscv)

/* The RISC-V Instruction Set Manual, volume II: mcycle, and mcountinhibit, which is not there before version 1.11. */
static inline uint32_t wcet_measure_mcycle(void)
{
    unsigned long value;
    __asm__ volatile("csrr %0, 0xb00" : "=r"(value)::"memory");
    return (uint32_t)value;
}
#define WCET_MEASURE_COUNTER() wcet_measure_mcycle()
#ifndef WCET_MEASURE_BARRIER
#define WCET_MEASURE_BARRIER() __asm__ volatile("fence" ::: "memory")
#endif

static inline void wcet_measure_begin(void) {}

#else
#error "wcet_measure.h knows no counter of this core: define WCET_MEASURE_COUNTER() before it is included"
#endif

#ifndef WCET_MEASURE_BARRIER
#define WCET_MEASURE_BARRIER() WCET_MEASURE_ORDER()
#endif
#ifndef WCET_MEASURE_BITS
#define WCET_MEASURE_BITS 32
#endif
#if WCET_MEASURE_BITS < 8 || WCET_MEASURE_BITS > 32
#error "wcet_measure.h reads counters of 8 to 32 bits: of a wider one, give it the lowest 32"
#endif
#define WCET_MEASURE_MASK (0xffffffffu >> (32 - WCET_MEASURE_BITS))

/* The four readings stay in registers until all are taken. What each reading of the counter costs is the same, with the
 * barrier before it, so that a gap holds what the statement's own interval holds beside the statement. */
#define WCET_MEASURE_READ(into)                    \
    do {                                           \
        WCET_MEASURE_BARRIER();                    \
        (into) = (uint32_t)WCET_MEASURE_COUNTER(); \
        WCET_MEASURE_ORDER();                      \
    } while (0)

#define WCET_MEASURE(reading, ...)                                              \
    do {                                                                        \
        uint32_t wcet_a_, wcet_b_, wcet_c_, wcet_d_;                            \
        WCET_MEASURE_READ(wcet_a_);                                             \
        WCET_MEASURE_READ(wcet_b_);                                             \
        __VA_ARGS__;                                                            \
        WCET_MEASURE_READ(wcet_c_);                                             \
        WCET_MEASURE_READ(wcet_d_);                                             \
        (reading).start_outer = wcet_a_ & WCET_MEASURE_MASK;                    \
        (reading).start_inner = wcet_b_ & WCET_MEASURE_MASK;                    \
        (reading).end_inner = wcet_c_ & WCET_MEASURE_MASK;                      \
        (reading).end_outer = wcet_d_ & WCET_MEASURE_MASK;                      \
    } while (0)

static inline void wcet_measure_text(void (*put)(char), const char *text)
{
    while (*text)
        put(*text++);
}

static inline void wcet_measure_number(void (*put)(char), uint32_t value)
{
    char digits[10];
    int count = 0;
    do {
        digits[count++] = (char)('0' + value % 10u);
        value /= 10u;
    } while (value);
    while (count)
        put(digits[--count]);
}

/* Once, before the first wcet_measure_print. */
static inline void wcet_measure_heading(void (*put)(char))
{
    wcet_measure_text(put, "# bits: ");
    wcet_measure_number(put, WCET_MEASURE_BITS);
    wcet_measure_text(put, "\noperation,parameter,calls,start_outer_cycles,start_inner_cycles,end_inner_cycles,"
                           "end_outer_cycles\n");
}

/* operation: as the plan names it, without commas; parameter: -1 for none; calls: of the operation in each reading. */
static inline void wcet_measure_print(void (*put)(char), const char *operation, int32_t parameter, uint32_t calls,
                                      const struct wcet_reading *readings, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        wcet_measure_text(put, operation);
        put(',');
        if (parameter >= 0)
            wcet_measure_number(put, (uint32_t)parameter);
        put(',');
        wcet_measure_number(put, calls);
        put(',');
        wcet_measure_number(put, readings[i].start_outer);
        put(',');
        wcet_measure_number(put, readings[i].start_inner);
        put(',');
        wcet_measure_number(put, readings[i].end_inner);
        put(',');
        wcet_measure_number(put, readings[i].end_outer);
        put('\n');
    }
}

#endif
