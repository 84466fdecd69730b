/* The test driver: it brings the kernel into the worst state for one service, calls the service
 * between marks, and checks that what it expected is what happened. */
#ifndef DRIVER_H
#define DRIVER_H

#include <zephyr/kernel.h>

#include "board.h"
#include "service_ids.h"
#include "wcet_mark.h"

/* The main thread runs the measurements. Threads above preempt it, threads below only become
 * ready; the lowest of all lets time pass. */
#define PRIORITY_DRIVER CONFIG_MAIN_THREAD_PRIORITY
#define PRIORITY_ABOVE (PRIORITY_DRIVER - 1)
#define PRIORITY_BELOW (PRIORITY_DRIVER + 1)
#define PRIORITY_LOWEST K_LOWEST_APPLICATION_THREAD_PRIO

/* What threads need more of where frames are larger: of stacks, the figures do not depend. */
#define STACK_EXTRA (IS_ENABLED(CONFIG_RISCV) ? 512 : 0)

/* Largest values of the parameters. */
#define READY_MAX ((unsigned)CONFIG_WCET_READY_THREADS)
#define WAITING_MAX ((unsigned)CONFIG_WCET_WAITING_THREADS)
#define TIMEOUTS_MAX ((unsigned)CONFIG_WCET_TIMEOUTS)
#define BYTES_MAX ((unsigned)CONFIG_WCET_ITEM_BYTES)
#define LENGTH_MAX ((unsigned)CONFIG_WCET_LIST_LENGTH)

/* Memory that the caller hands over (section caller.data of services.yaml). */
union caller_data {
    uint8_t bytes[128];
    uint32_t words[32];
    void *pointers[32];
};
extern union caller_data wcet_caller_data, wcet_caller_data_2;

/* Buffers of message queues, pipes and stacks, blocks of slabs and the heap (section storage). */
#define STORAGE_BYTES 8192
extern uint8_t wcet_storage[STORAGE_BYTES];

/* Ends the run with status 2 and says where, if the condition does not hold. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            driver_failed(__FILE__, __LINE__, #condition);                                         \
    } while (0)

void driver_failed(const char *file, int line, const char *condition) __attribute__((noreturn));

/* Runs `call` as one invocation of a service whose parameters have been marked. */
#define MEASURE_AS_MASKED(service, call)                                                           \
    do {                                                                                           \
        driver_invocations++;                                                                      \
        wcet_begin(service);                                                                       \
        call;                                                                                      \
        wcet_end(service);                                                                         \
    } while (0)

/* The same where interrupts are not masked: that is said once more by a constant, so that it is known
 * where a capture leaves out what came before. */
#define MEASURE(service, call) MEASURE_AS_MASKED(service, board_unmask(); call)

extern unsigned driver_invocations;
extern k_tid_t driver_thread, driver_passer;

/* Lets every other thread run until none is ready. */
void settle(void);
/* What the least urgent thread does, again and again, while the driver waits; NULL: ticks. */
void wake_with(void (*what)(void *), void *argument);
/* Lets the tick interrupt come. */
void pass_ticks(unsigned ticks);

/* Whether a pair of parameter values is one of the sweep: both axes, the far corner, and some points
 * in between. */
bool swept(unsigned a, unsigned a_min, unsigned a_max, unsigned b, unsigned b_min, unsigned b_max);
/* The least value, its neighbours, the middle and the greatest. */
bool coarse(unsigned value, unsigned least, unsigned most);
/* Whether a pair is one of the sweep where the second is the number of ready threads: in trees each
 * number takes several invocations, so that there are fewer pairs. */
bool swept_ready(unsigned a, unsigned a_min, unsigned a_max, unsigned ready);
bool swept_three(unsigned a, unsigned a_min, unsigned a_max, unsigned b, unsigned b_max,
                 unsigned ready);

/* One function for each family of services; each leaves the kernel as it found it. */
void measure_semaphores(void);
void measure_mutexes(void);
void measure_condvars(void);
void measure_events(void);
void measure_msgqs(void);
void measure_queues(void);
void measure_stacks(void);
void measure_pipes(void);
void measure_mailboxes(void);
void measure_slabs(void);
void measure_heaps(void);
void measure_timers(void);
void measure_work(void);
void measure_poll(void);
void measure_polled_objects(void);
void measure_threads(void);
void measure_kernel(void);
void measure_from_interrupt(void);
void measure_ticks(void);
void measure_blocking(void);
void measure_timeouts(void);
void measure_senders(void);
void measure_waits_again(void);
void measure_work_waits(void);
/* The operations on trees by themselves; nothing where queues are lists. */
void measure_trees(void);
void measure_allocation(void);
void measure_fails(void);
/* What an option of the kernel brings, instead of all that (option_*.c). */
void measure_option(void);

#endif
