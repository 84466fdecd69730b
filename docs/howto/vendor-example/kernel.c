/* The kernel that is characterized: one service. */
#include "kernel.h"

unsigned timer_next(const struct timer *list)
{
    unsigned soonest = ~0u;

    for (; list != 0; list = list->next)
        if (list->due < soonest)
            soonest = list->due;
    return soonest;
}
