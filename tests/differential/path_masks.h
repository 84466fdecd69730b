/* What masks interrupts, by instruction set: MASK and UNMASK, and SAVE and RESTORE of what was before.
 * Needs hide(), which keeps a value from the optimizer. */
#if defined(__riscv)
#define CSR(text) ".option push\n.option arch, +zicsr\n" text "\n.option pop"
#define MASK() __asm volatile(CSR("csrci mstatus, 8") ::: "memory")
#define UNMASK() __asm volatile(CSR("csrsi mstatus, 8") ::: "memory")
#define SAVE() ({ unsigned o_; __asm volatile(CSR("csrr %0, mstatus") : "=r"(o_)); o_; })
#define RESTORE(v) __asm volatile(CSR("csrw mstatus, %0") :: "r"(v) : "memory")
#elif defined(__ARM_ARCH_7M__)
#define SAVE() ({ unsigned o_; __asm volatile("mrs %0, basepri" : "=r"(o_)); o_; })
#define RESTORE(v) __asm volatile("msr basepri, %0" :: "r"(v) : "memory")
#define MASK() RESTORE(0x40u)
#define UNMASK() RESTORE(0u)
#elif defined(__ARM_ARCH_6M__)
#define MASK() __asm volatile("cpsid i" ::: "memory")
#define UNMASK() __asm volatile("cpsie i" ::: "memory")
#define SAVE() ({ unsigned o_; __asm volatile("mrs %0, primask" : "=r"(o_)); o_; })
#define RESTORE(v) __asm volatile("msr primask, %0" :: "r"(v) : "memory")
#elif defined(__thumb__)
/* Thumb of Armv4T reaches no mask. */
#define MASK() __asm volatile("nop" ::: "memory")
#define UNMASK() __asm volatile("nop" ::: "memory")
#define SAVE() hide(0)
#define RESTORE(v) (void)hide(v)
#else
#define SAVE() ({ unsigned o_; __asm volatile("mrs %0, cpsr" : "=r"(o_)); o_; })
#define RESTORE(v) __asm volatile("msr cpsr_c, %0" :: "r"(v) : "memory")
#define MASK() RESTORE(SAVE() | 0x80)
#define UNMASK() RESTORE(SAVE() & ~0x80u)
#endif
