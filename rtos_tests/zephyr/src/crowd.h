/* The other threads that are ready while a service is measured.
 *
 * R counts the ready threads, the caller among them. In run queues that are lists they stand in one
 * order only. In run queues that are trees (CONFIG_SCHED_SCALABLE) they can form many trees, and
 * what a service costs depends on the shape; the driver builds those that tree_shapes.h lists for at
 * most R threads, one after the other, each for an invocation of its own. No others are dearer
 * (choose_trees.py).
 * So a loop goes over R and over the shapes for it:
 *
 *     FOR_CROWDS(CROWD_JOIN, ready, shape) { ... crowd_start(CROWD_JOIN, ready, shape, NULL); ... }
 */
#ifndef CROWD_H
#define CROWD_H

#include "driver.h"

enum crowd {
    CROWD_JOIN,  /* another thread becomes ready and does not run at once */
    CROWD_LEAD,  /* another thread becomes ready and runs at once */
    CROWD_LEAVE, /* the caller stops being ready */
    CROWD_WAIT,  /* the same, and it goes to a queue in which others wait already */
    CROWD_TAKE,  /* another thread stops being ready */
    CROWD_MOVE,  /* another thread gets another priority */
    CROWD_YIELD, /* the caller gives way, and is still the first */
    CROWD_BACK,  /* the caller goes behind R - 1 threads of its priority */
    CROWD_DROP,  /* it loses a higher priority and goes behind R - 1 threads; then another one runs at once */
    CROWD_LOWER, /* the same, and the first of those runs */
    CROWD_PASS,  /* another thread becomes ready, then the caller stops being so */
    CROWD_BEST,  /* the first is looked for */
    CROWD_KINDS,
};

#define READY_COUNT_MAX (READY_MAX + 1)
#define READY_COUNT_MIDDLE ((READY_COUNT_MAX + 1) / 2)

#define FOR_CROWDS(kind, ready, shape)                                                             \
    for (unsigned ready = 1; ready <= READY_COUNT_MAX; ready++)                                    \
        if (crowd_counts(kind, ready))                                                             \
            for (unsigned shape = 0; shape < crowd_shapes(kind, ready); shape++)

/* Whether the sweep has this number of ready threads. */
bool crowd_counts(enum crowd kind, unsigned ready);
unsigned crowd_shapes(enum crowd kind, unsigned ready);
/* The priority that the other thread has to have, and the one that it gets (CROWD_MOVE). */
int crowd_priority(enum crowd kind, unsigned ready, unsigned shape);
int crowd_new_priority(unsigned ready, unsigned shape);
/* Builds the run queue, right before the call. `other`: the thread that is taken out or moved
 * (CROWD_TAKE, CROWD_MOVE), that runs next (CROWD_LEAVE, CROWD_WAIT, CROWD_BACK, CROWD_LOWER; NULL: the least
 * urgent one), or that stands before the caller (CROWD_BEST; NULL: none does). */
void crowd_start(enum crowd kind, unsigned ready, unsigned shape, k_tid_t other);
/* The same for another caller than the thread that builds the queue; in trees only. */
void crowd_start_for(k_tid_t caller, enum crowd kind, unsigned ready, unsigned shape, k_tid_t other);
/* Makes the run queue and the queue of waiting threads what they were; false if nothing was built. May be
 * called by any thread; one other than the caller has to look who is the first then (k_yield). */
bool crowd_stop(void);

/* Threads that wait for an object already when the caller has to wait: in lists `count` real ones, for
 * which crowd_waiting returns `count`; in trees none, for which it returns 0. crowd_wait then builds the
 * tree that goes with a shape of the run queue, of at most SHAPES_QUEUE_MAX threads, however many may wait. */
unsigned crowd_waiting(unsigned count);
static inline enum crowd crowd_of_waiting(unsigned count)
{
    return count > 0 ? CROWD_WAIT : CROWD_LEAVE;
}
void crowd_wait(_wait_q_t *queue, unsigned count, unsigned ready, unsigned shape);

#endif
