/* Calls that wait behind W threads that wait for the same object already, with a timeout that comes after
 * those of L others, among R ready threads. */
#ifndef BEHIND_H
#define BEHIND_H

#include "helpers.h"

struct behind {
    unsigned waiting;
    unsigned before; /* timeouts, */
    unsigned first;  /* of which the first comes after so many ticks */
    unsigned ready;
    unsigned shape;
};

/* The threads wait, in `wait`: in lists more urgent ones than the driver, because one of another priority costs
 * more to go behind than one of the same. */
void behind_start(const struct behind *at, order_fn wait, void *object, void *argument);
/* Right before the call: timeouts, the run queue, and where queues are trees the one of those that wait, which
 * is the kernel's `queue`. W, L and R are parameters `index` and following. */
void behind_build(const struct behind *at, _wait_q_t *queue, unsigned index);
/* The threads still wait, or all are done. */
void behind_stop(const struct behind *at, bool still);

#endif
