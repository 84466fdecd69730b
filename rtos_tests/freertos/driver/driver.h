/* The test driver: it brings the kernel into the worst state for one service, calls the service
 * between marks, and checks that what it expected is what happened. */
#ifndef DRIVER_H
#define DRIVER_H

#include "FreeRTOS.h"
#include "board.h"
#include "service_ids.h"
#include "task.h"
#include "wcet_mark.h"

/* Where things go (link.ld). */
#define KERNEL_OBJECT __attribute__((section(".bss.kernel_objects")))
#define CALLER_DATA __attribute__((section(".bss.caller_data")))
#define CALLER_CONSTANT __attribute__((section(".rodata.caller"), used))
#define CALLER_TEXT __attribute__((section(".caller_text"), noinline))
#define TASK_STACK __attribute__((section(".noinit.task_stacks"), aligned(8)))

/* Priorities: the driver stands between the tasks that it only creates and those that it wakes. */
#define PRIORITY_CREATED 1
#define PRIORITY_DRIVER 4

/* Tasks of the driver and the kernel that exist all the time: driver, idle and, where there are
 * timers, the timers' task. */
#define TASKS_ALWAYS (2u + configUSE_TIMERS)

/* Largest values of parameters that the characterization sweeps. */
#define HEAP_BLOCKS_MAX 16u
#define LIST_LENGTH_MAX 16u
#define ITEM_BYTES_MAX 64u
#define STREAM_BYTES_MIN 2u
#define DELAYED_MAX 12u
#define WAITERS_MAX 6u
#define WOKEN_MAX 8u
#define PENDED_MAX 8u
#define EVENT_WAITERS_MAX 6u

/* Ends the run with status 2 and says where, if the condition does not hold. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            driver_failed(__FILE__, __LINE__, #condition);                                         \
    } while (0)

void driver_failed(const char *file, int line, const char *condition) __attribute__((noreturn));

/* The function, called right behind two stores: a core that goes on while these are under way has the service wait
 * for them, and that is much of what a short one takes. Only where the board has such callers. */
#ifdef BOARD_CALLS_BEHIND_STORES
#define BEHIND_STORES(function) behind_stores_##function
extern __typeof__(uxTaskPriorityGet) behind_stores_uxTaskPriorityGet;
extern __typeof__(vListInsert) behind_stores_vListInsert;
extern __typeof__(vListInsertEnd) behind_stores_vListInsertEnd;
extern __typeof__(uxListRemove) behind_stores_uxListRemove;
extern __typeof__(vTaskSuspendAll) behind_stores_vTaskSuspendAll;
extern __typeof__(xTaskGetTickCount) behind_stores_xTaskGetTickCount;
#else
#define BEHIND_STORES(function) function
#endif

/* Runs `call` as one invocation of a service whose parameters have been marked. */
#define MEASURE(service, call)                                                                     \
    do {                                                                                           \
        driver_invocations++;                                                                      \
        wcet_begin(service);                                                                       \
        call;                                                                                      \
        wcet_end(service);                                                                         \
    } while (0)

/* Of some services it is the hardware that decides which of several states is dearest: in one the core
 * executes more, in another it jumps more. Such states are cases (`kind: case` of a parameter in the services
 * files): each is driven, at all values of the other parameters, and marked as the parameter's value after
 * those. */

extern unsigned driver_invocations;

/* The task that runs the measurements. */
extern TaskHandle_t driver_handle;

void driver_main(void) __attribute__((noreturn));

/* The kernel's own. They are static there; the Makefile makes these symbols, and nothing else, visible:
 * waiting for the tick count to wrap would take 2^32 ticks, and the priority at which the search for the
 * next task begins can be any. */
extern volatile TickType_t xTickCount;
extern volatile UBaseType_t uxTopReadyPriority;
extern TaskHandle_t xIdleTaskHandles[];

/* What external interrupt 0 does; a null pointer: nothing. */
extern void (*driver_on_interrupt)(void);
void driver_interrupt(void);

static inline void in_interrupt(void (*function)(void))
{
    driver_on_interrupt = function;
    board_interrupt();
    driver_on_interrupt = NULL;
}

/* Nothing but what interrupts and switches cost (ONLY=interrupts). */
#ifndef DRIVER_INTERRUPTS_ALONE
#define DRIVER_INTERRUPTS_ALONE 0
#endif

/* One function for each family of services; each leaves the kernel as it found it. */
void measure_heap(void);
void measure_heap_alone(void); /* where DRIVER_HEAP_ALONE is defined, instead of all others */
void measure_lists(void);
void measure_tasks(void);
void measure_scheduler(void);
void measure_control(void);
void measure_events(void);
void measure_streams(void);
void measure_rounds(void);
void measure_fails(void);
void measure_blocking(void);
void measure_waits(void);
void measure_locked(void);
void measure_meetings(void);
void measure_neighbours(void);
void measure_queries(void);
void measure_watching(void); /* where DRIVER_WATCHES is 1 */
void measure_interrupts(void);
#if configUSE_QUEUE_SETS == 1
void measure_sets(void);
#endif
#if configUSE_TIMERS == 1
void measure_timers(void);
void measure_timer_task(void);
#endif
#if DRIVER_WHOLE
void driver_on_idle(void);
void measure_idle(void);
#endif
#if configUSE_TICKLESS_IDLE != 0
void measure_tickless(void);
#endif
void measure_queues(void);
void measure_semaphores(void);
void measure_notifications(void);
void measure_time(void);
void measure_ticks(void);
void measure_board(void); /* where BOARD_HAS_SERVICES is defined */

#endif
