/* Run queues and wait queues that are lists; see crowd.h. A thread costs what stands before it, so
 * there is one order only. */
#include "crowd.h"
#include "helpers.h"

#ifndef CONFIG_SCHED_SCALABLE

bool crowd_counts(enum crowd kind, unsigned ready)
{
    /* What is taken out of a list or put at its head costs the same in all of them; of these four, one is
     * held out where a formula is found. */
    return kind == CROWD_JOIN || kind == CROWD_MOVE || kind == CROWD_PASS || ready <= 2 ||
           ready == READY_COUNT_MIDDLE || ready == READY_COUNT_MAX;
}

unsigned crowd_shapes(enum crowd kind, unsigned ready)
{
    return 1;
}

int crowd_priority(enum crowd kind, unsigned ready, unsigned shape)
{
    /* In a list, a thread of another priority costs more to go behind than one of the same. */
    return kind == CROWD_LEAD ? PRIORITY_ABOVE
                              : PRIORITY_BELOW + (kind == CROWD_JOIN || kind == CROWD_PASS);
}

int crowd_new_priority(unsigned ready, unsigned shape)
{
    return PRIORITY_BELOW + 2;
}

void crowd_start(enum crowd kind, unsigned ready, unsigned shape, k_tid_t other)
{
    switch (kind) {
    case CROWD_LEAVE:
    case CROWD_WAIT:
        /* Behind the thread that wakes the driver again. */
        ready_start(ready - 1, PRIORITY_LOWEST);
        break;
    case CROWD_TAKE:
        /* With a list for each priority: of its own one it is the last. */
    case CROWD_MOVE:
        ready_start(ready - 1, PRIORITY_BELOW + 1);
        break;
    case CROWD_BACK:
        ready_start(ready - 1, PRIORITY_DRIVER);
        break;
    case CROWD_DROP:
    case CROWD_LOWER:
        /* Between the two priorities of the caller. */
        ready_start_once(ready - 1, PRIORITY_ABOVE);
        break;
    case CROWD_PASS:
        ready_start_once(ready - 1, PRIORITY_BELOW);
        break;
    default:
        ready_start(ready - 1, PRIORITY_BELOW);
    }
}

bool crowd_stop(void)
{
    if (k_current_get() == driver_thread)
        ready_stop();
    return false;
}

unsigned crowd_waiting(unsigned count)
{
    return count;
}

void crowd_wait(_wait_q_t *queue, unsigned count, unsigned ready, unsigned shape)
{
}

void measure_trees(void)
{
}

#endif
