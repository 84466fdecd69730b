/* A second driver: tasks of several priorities that call whatever comes, in whatever state the kernel
 * is. It shares neither states nor values of parameters with driver/: before each call it reads the
 * kernel's own lists and says on the console what it found; whoever reads the trace decides by that
 * which published service the call belongs to, and compares. */
#ifndef RANDOM_H
#define RANDOM_H

#include "driver.h"
#include "queue.h"
#include "semphr.h"

/* ---- chance ------------------------------------------------------------------------------- */

/* 0..below-1. */
unsigned chance(unsigned below);
extern const unsigned random_seed;
extern const unsigned random_calls; /* how many calls are measured before the run ends */

/* ---- what is said ------------------------------------------------------------------------- */

/* One line for each call, `C number name fact=value ...`, and `R number value` when it has returned; with `aborted`
 * behind it, where another task has ended the caller's waiting for an event meanwhile. */
unsigned say_call(const char *name);
void say(const char *fact, unsigned value);
void say_result(unsigned number, unsigned value);

/* Value of the begin and end marks. */
#define MARK_CALL 1u

void said(unsigned number); /* ends the line and marks the number */

/* The task's waiting is about to be aborted; it may go on before xTaskAbortDelay returns. */
void about_to_abort(TaskHandle_t task);

#define MEASURED(number, call)                                                                     \
    do {                                                                                           \
        said(number);                                                                              \
        wcet_begin(MARK_CALL);                                                                     \
        call;                                                                                      \
        wcet_end(MARK_CALL);                                                                       \
    } while (0)

/* A tick by hand. */
void measured_tick(void);

/* ---- the kernel's state ------------------------------------------------------------------- */

/* Symbols of the kernel that its object files keep to themselves; the Makefile makes them visible. */
extern volatile TickType_t xTickCount;
extern volatile TickType_t xPendedTicks;
extern volatile TickType_t xNextTaskUnblockTime;
extern volatile UBaseType_t uxSchedulerSuspended;
extern List_t pxReadyTasksLists[configMAX_PRIORITIES];
extern List_t *volatile pxDelayedTaskList;
extern List_t *volatile pxOverflowDelayedTaskList;
extern List_t xPendingReadyList;
extern List_t xSuspendedTaskList;
extern List_t *pxCurrentTimerList;
extern List_t *pxOverflowTimerList;

/* Blocks in the heap's free list, all of them or those below an address. */
unsigned free_blocks(void);
unsigned free_blocks_below(const void *block);

/* Delayed tasks that wake no later than after `ticks`, in the list that the caller would go to. */
unsigned delayed_before(TickType_t ticks);
/* Those of the list of delayed tasks that are not `task`. */
unsigned delayed_tasks(void);
unsigned delayed_beside(TaskHandle_t task);
/* Those that the next `ticks` ticks wake, and those that are delayed when these have come; whether the
 * count wraps around meanwhile. Tasks that interrupts have woken while the scheduler was locked are
 * neither. */
unsigned woken_by(TickType_t ticks);
unsigned delayed_after(TickType_t ticks);
int wraps_within(TickType_t ticks);

UBaseType_t priority_of(TaskHandle_t task);
UBaseType_t base_priority_of(TaskHandle_t task);
unsigned mutexes_of(TaskHandle_t task);
int is_ready(TaskHandle_t task);
/* The most urgent ready task beside the caller; idle is always ready. */
UBaseType_t urgent_ready(void);
/* 0: in a ready list, 1: delayed, 2: suspended or waiting without limit, 3: pending. */
unsigned where_is(TaskHandle_t task);
int waits_for_event(TaskHandle_t task);

/* Of a list item of a static object. */
int is_in_a_list(const StaticListItem_t *item);

/* Lists of a queue, its counts, and where the next item goes to or comes from. */
List_t *senders_of(QueueHandle_t queue);
List_t *receivers_of(QueueHandle_t queue);
unsigned length_of(QueueHandle_t queue);
unsigned item_size_of(QueueHandle_t queue);
uint8_t *next_write(QueueHandle_t queue);
uint8_t *next_read(QueueHandle_t queue);
uint8_t *next_front(QueueHandle_t queue);
int is_locked(QueueHandle_t queue);
QueueHandle_t set_of(QueueHandle_t queue);

/* Of a list of waiting tasks: how many are as urgent as the caller or more, and the first one. */
unsigned waiting_before(const List_t *list);
TaskHandle_t first_of(const List_t *list);
/* Of tasks that stand in a list, in whatever order; 0 if there is none. */
UBaseType_t most_urgent_of(const List_t *list);
/* Says how many wait, how urgent the first of them is, and how urgent the caller. */
void say_waiting(const List_t *list);
/* A wait of the caller was aborted that it has not looked at since. */
int wait_was_aborted(void);
/* Says what matters where the caller may wait: the limit, D, W, and whether such a mark is left. */
void say_limit(TickType_t ticks, const List_t *list);

/* ---- what is called ----------------------------------------------------------------------- */

typedef void operation(void);

struct choice {
    operation *run;
    unsigned weight;
};

/* No limit, none at all, or some ticks. */
TickType_t some_limit(void);

/* Runs what `function` does in an interrupt handler, and switches if that asks for it. */
typedef BaseType_t isr_operation(void);
void switch_in_interrupt(isr_operation *function);

/* True where a call may block: the scheduler is not locked. */
int may_block(void);

/* Tasks: those that call, and others that only stand about and may be deleted. */
#define WORKERS 6u
TaskHandle_t some_worker(void);
TaskHandle_t some_task(void);
int is_worker(TaskHandle_t task);
#define PRIORITY_WORKER_MAX 17u
#define STANDING_MAX 5u
void stands_about(void *unused) __attribute__((noreturn));
TaskHandle_t *free_place(int is_static);
TaskHandle_t *taken_place(void);
int place_is_static(const TaskHandle_t *place);
StaticTask_t *control_of(const TaskHandle_t *place);
StackType_t *stack_of(const TaskHandle_t *place);

/* Buffers of the caller, of each calling task its own. */
#define ITEM_MAX 64u
uint8_t *some_buffer(void);

extern const struct choice heap_choices[], queue_choices[], task_choices[], time_choices[],
    semaphore_choices[], mutex_choices[], notify_choices[], event_choices[], stream_choices[], timer_choices[],
    set_choices[], list_choices[], locked_choices[];

void prepare_queues(void);
void prepare_semaphores(void);
void prepare_mutexes(void);
void prepare_events(void);
void prepare_streams(void);
void prepare_timers(void);
void prepare_sets(void);

/* Where the caller holds it. */
operation give_mutex_of_set;

QueueHandle_t some_queue(void);
SemaphoreHandle_t some_semaphore(void);

#endif
