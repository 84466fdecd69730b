/* Threads that do one thing on order and park again. */
#ifndef HELPERS_H
#define HELPERS_H

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

/* Threads of the driver's priority or below that are ready and never do anything: with the driver
 * itself, `count` threads stand in the run queue before one of the lowest of these priorities. */
void ready_start(unsigned count);
void ready_stop(void);

#endif
