/* See behind.h. */
#include "behind.h"

#include "other_timeouts.h"

void behind_start(const struct behind *at, order_fn wait, void *object, void *argument)
{
    const unsigned real = crowd_waiting(at->waiting);

    helpers_start(real, PRIORITY_ABOVE, 0);
    helpers_wait(real, wait, object, argument);
}

void behind_build(const struct behind *at, _wait_q_t *queue, unsigned index)
{
    timeouts_start(at->before, at->first);
    crowd_wait(queue, at->waiting, at->ready, at->shape);
    crowd_start(crowd_of_waiting(at->waiting), at->ready, at->shape, NULL);
    wcet_param(index, at->waiting);
    wcet_param(index + 1, at->before);
    wcet_param(index + 2, at->ready);
}

void behind_stop(const struct behind *at, bool still)
{
    settle();
    for (unsigned i = 0; i < crowd_waiting(at->waiting); i++)
        CHECK(helper_busy(i) == still);
    helpers_stop();
}
