/* Tasks that stand in a chosen state: delayed, or blocked on a queue.
 *
 * Every helper is more urgent than the driver; up to HELPERS_MAX have a priority of their own, the others
 * share theirs. An order therefore
 * takes effect at once: the helper preempts the driver, blocks as it was told, and the driver goes
 * on. When it is woken it parks itself by waiting for a notification, not by vTaskSuspend, because
 * that would set the kernel's next unblock time anew.
 */
#ifndef DRIVER_HELPERS_H
#define DRIVER_HELPERS_H

#include "driver.h"
#include "queue.h"

#define HELPERS_MAX 13u
#define HELPERS_ALL 19u

/* The name of them all; where a task is looked for by its name, as long as one can be, and another one
 * differs in the last character. */
#if DRIVER_WHOLE
#define HELPER_NAME(last) "helper_of_test" last
#else
#define HELPER_NAME(last) "helper"
#endif

/* Creates helpers 0..count-1 and parks them; deletes them again in whatever state they are. */
void helpers_start(unsigned count);
void helpers_stop(void);

/* Orders. A semaphore is a queue; its item is a null pointer. */
void helper_delay(unsigned helper, TickType_t ticks);
void helper_receive(unsigned helper, QueueHandle_t queue, void *item, TickType_t ticks);
void helper_take(unsigned helper, QueueHandle_t semaphore, TickType_t ticks);
void helper_send(unsigned helper, QueueHandle_t queue, const void *item, TickType_t ticks);

/* Any call that blocks. */
typedef BaseType_t helper_function(void *argument);
void helper_call(unsigned helper, helper_function *function, void *argument);

/* True until the order is carried out, and what the kernel's call returned after that. */
int helper_busy(unsigned helper);
BaseType_t helper_result(unsigned helper);

TaskHandle_t helper_handle(unsigned helper);
UBaseType_t helper_priority(unsigned helper); /* as it is started */

/* A task that a call in an interrupt readies is more urgent than what is interrupted, or is not; or is, but the
 * handler passes a null pointer and is not told of the switch that it has to ask for: on some cores that is one
 * jump more. */
enum { TOLD, STAYS, NOT_TOLD, ISR_STATES };

static inline BaseType_t *told_of(BaseType_t *woken, unsigned state)
{
    return state == NOT_TOLD ? NULL : woken;
}

/* Of parameters that act at once, not every combination is measured: along each axis, and enough of what
 * lies between and at the far corner. Where there are no bytes, as many as STREAM_BYTES_MIN. */
int swept(unsigned bytes, unsigned delayed, unsigned waiting);
/* In cases behind the first not each number of bytes is, nor each number of tasks that get their bits or do
 * not. */
int few_bytes(unsigned bytes, unsigned state);
int few(unsigned count, unsigned state);
int swept_in(unsigned state, unsigned bytes, unsigned delayed, unsigned waiting);

/* Sets the tick count so that it wraps around `ticks` ticks from now; nobody is delayed yet. */
void clock_wraps_in(TickType_t ticks);
/* Lets ticks pass until it has. */
void let_clock_wrap(void);
/* Far from where it wraps around; nobody is delayed. */
void clock_far_from_wrap(void);

/* As long as a call waits to which nothing comes. When its time is over, but before the caller goes on, the tick
 * count wraps around; or another task aborts the wait a tick earlier. Orders for a helper; in the second one the
 * caller becomes more urgent as well, and the holder of the mutex, to which it has lent its priority, stays alone
 * there. */
#define IN_VAIN 2u
BaseType_t ends_wait(void *unused);
BaseType_t ends_wait_and_lifts(void *mutex);

/* The caller waits for an event group until another task aborts that, which the caller has then not looked at: the next
 * call that would wait does not. */
void leave_wait_aborted(void);
int wait_was_aborted(void);

/* Which of the two, to be set by whoever measures such a call; then it is one of the service that waits until its
 * time is over, or of that whose wait is aborted. `which` is the rest of their names. */
enum wait_ending { WAIT_TIMES_OUT, WAIT_IS_ABORTED };
extern enum wait_ending wait_ending;

#if INCLUDE_xTaskAbortDelay == 1
#define WAIT_ENDINGS 2u
#define MEASURE_IN_VAIN(service, which, call)                                                      \
    do {                                                                                           \
        if (wait_ending == WAIT_IS_ABORTED)                                                        \
            MEASURE(service##_ABORTED##which, call);                                               \
        else                                                                                       \
            MEASURE(service##_TIMES_OUT##which, call);                                             \
    } while (0)
#else
#define WAIT_ENDINGS 1u
#define MEASURE_IN_VAIN(service, which, call) MEASURE(service##_TIMES_OUT##which, call)
#endif

/* Lets `ticks` ticks pass. */
void pass_time(TickType_t ticks);

/* Brings the timers' task, which waits without a time limit where no timer runs, from the suspended
 * tasks among the delayed ones and back, so that another task can be the only one suspended. */
void timers_task_delayed(BaseType_t wanted);

/* The list in which a task stands: of those ready at its priority, of the delayed ... */
List_t *list_of(TaskHandle_t task);
/* The index of a ready list stands on the task that ran last; where the task must not run, it is put there
 * by hand. */
void put_index_on(TaskHandle_t task);

/* With tickless idle the kernel sets the next unblock time anew whenever it readies a task, from a task that is
 * delayed or in another way if none is (config/tickless.yaml). Without it that makes no difference. Starts `count`
 * helpers, and in state 1 one more, which is delayed; `parameter` tells of it. */
#if configUSE_TICKLESS_IDLE != 0
#define READYING_STATES 2u
#define MARK_READYING(parameter, state) wcet_param(parameter, state)
#else
#define READYING_STATES 1u
#define MARK_READYING(parameter, state) ((void)(state))
#endif
static inline void helpers_start_readying(unsigned count, unsigned state)
{
    helpers_start(count + state);
    if (state == 1)
        helper_delay(count, 1000);
}

/* Before tasks that are to wait without a time limit: another one stands in front of them among the suspended ones,
 * or nobody does. After that, as it was. */
enum in_front { ANOTHER_IN_FRONT, NOBODY_IN_FRONT };
void suspended_in_front(enum in_front who);
void suspended_as_before(void);

/* Some task is delayed, and the timers' task is not among the suspended ones; or neither. */
void another_delayed(int wanted);

#endif
