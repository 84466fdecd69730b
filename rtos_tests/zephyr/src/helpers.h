/* Threads that do one thing on order and park again. */
#ifndef HELPERS_H
#define HELPERS_H

#include "crowd.h"
#include "driver.h"

#define HELPERS_MAX 12u

/* What a helper is asked to do; the result is kept. */
typedef int (*order_fn)(void *object, void *argument);

/* Starts threads 0..count-1, which park. Thread i has priority `first` + i * `step`. */
void helpers_start(unsigned count, int first, int step);
void helpers_stop(void);

/* The helper carries the order out as soon as it runs: at once where it is more urgent than the
 * driver, else when the driver settles. */
void helper_order(unsigned helper, order_fn what, void *object, void *argument);
bool helper_busy(unsigned helper);
int helper_result(unsigned helper);
k_tid_t helper_thread(unsigned helper);

/* Gives the order to helpers 0..count-1 and lets them run; each has to wait inside of it. */
void helpers_wait(unsigned count, order_fn what, void *object, void *argument);
/* None of helpers 0..count-1 waits any longer, and each got this result. */
void helpers_woken(unsigned count, int result);

/* Starts `count` threads of a priority that none is above which runs now, that are ready and do nothing. */
void ready_start(unsigned count, int priority);
/* The same; where they run, they do so once and are ready no longer: what is less urgent runs again. */
void ready_start_once(unsigned count, int priority);
/* How often any of them has run since they were started. */
extern volatile unsigned ready_runs;
k_tid_t ready_thread(unsigned number);
void ready_stop(void);

/* A service that wakes the first waiting thread, as two services: the thread does not run before the
 * call is over; or it is more urgent than the caller and runs at once. `wait` is what the thread
 * waits in, and `result` what it gets. */
#define MEASURE_WAKE(waiter, switched, wait, object, argument, call, result)                       \
    do {                                                                                           \
        FOR_CROWDS(CROWD_JOIN, ready_, shape_)                                                     \
            MEASURE_WAITER(waiter, 0, ready_, shape_, wait, object, argument, call, result);       \
        FOR_CROWDS(CROWD_LEAD, ready_, shape_)                                                     \
            MEASURE_SWITCH(switched, 0, ready_, shape_, wait, object, argument, call, result);     \
    } while (0)

/* One call of the first kind; R is parameter `index`. */
#define MEASURE_WAITER(service, index, ready, shape, wait, object, argument, call, result)         \
    MEASURE_WOKEN(CROWD_JOIN, service, index, ready, shape, wait, object, argument, call, result)
/* One call of the second kind. */
#define MEASURE_SWITCH(service, index, ready, shape, wait, object, argument, call, result)         \
    MEASURE_WOKEN(CROWD_LEAD, service, index, ready, shape, wait, object, argument, call, result)

#define MEASURE_WOKEN(kind, service, index, ready, shape, wait, object, argument, call, result)    \
    do {                                                                                           \
        helpers_start(1, crowd_priority(kind, ready, shape), 0);                                   \
        helpers_wait(1, wait, object, argument);                                                   \
        crowd_start(kind, ready, shape, NULL);                                                     \
        wcet_param(index, ready);                                                                  \
        MEASURE(service, call);                                                                    \
        crowd_stop();                                                                              \
        CHECK(helper_busy(0) == (kind == CROWD_JOIN));                                             \
        helpers_woken(1, result);                                                                  \
        helpers_stop();                                                                            \
    } while (0)

/* Of W threads that are woken behind R ready ones: in lists one that has another priority costs more to go
 * behind than one of the same, so each has its own, the first that is woken the highest, and all others that of
 * the caller. In trees, what the kernel's own insertions make of threads of one priority. */
#define PRIORITY_STEP (IS_ENABLED(CONFIG_SCHED_SCALABLE) ? 0 : 1)
#define PRIORITY_OTHERS (IS_ENABLED(CONFIG_SCHED_SCALABLE) ? PRIORITY_BELOW : PRIORITY_DRIVER)

/* Starts `count` threads that are less urgent than the driver; with `urgent`, the first one is more so. */
void sleepers_start(unsigned count, int step, bool urgent);
/* With `urgent`, the first one was switched to and is done; no other one has run so far. */
void sleepers_after(unsigned count, bool urgent);

/* A service that wakes W threads at once, as two services: all are less urgent than the caller; or the first
 * one alone is more urgent, and runs at once: W others go behind it too. `step` lies between their
 * priorities; `prepare` comes before they wait. */
#define MEASURE_WAKE_ALL(waiters, switched, step, wait, object, argument, prepare, call, result)   \
    do {                                                                                           \
        MEASURE_WAKE_MANY(waiters, false, step, wait, object, argument, prepare, call, result);    \
        MEASURE_WAKE_MANY(switched, true, step, wait, object, argument, prepare, call, result);    \
    } while (0)

#define MEASURE_WAKE_MANY(service, urgent, step, wait, object, argument, prepare, call, result)    \
    do {                                                                                           \
        for (unsigned waiting_ = 1; waiting_ <= WAITING_MAX; waiting_++) {                         \
            for (unsigned others_ = 0; others_ <= READY_MAX; others_++) {                          \
                if (!swept(waiting_, 1, WAITING_MAX, others_, 0, READY_MAX))                       \
                    continue;                                                                      \
                prepare;                                                                           \
                sleepers_start(waiting_, step, urgent);                                            \
                helpers_wait(waiting_, wait, object, argument);                                    \
                ready_start(others_, PRIORITY_OTHERS);                                             \
                wcet_param(0, waiting_ - (urgent));                                                \
                wcet_param(1, others_ + 1);                                                        \
                MEASURE(service, call);                                                            \
                sleepers_after(waiting_, urgent);                                                  \
                ready_stop();                                                                      \
                helpers_woken(waiting_, result);                                                   \
                helpers_stop();                                                                    \
            }                                                                                      \
        }                                                                                          \
    } while (0)

#endif
