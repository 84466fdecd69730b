/* See other_timeouts.h. */
#include "other_timeouts.h"

#include "driver.h"

static struct k_timer timers[CONFIG_WCET_TIMEOUTS];
static unsigned started;

void timeouts_start(unsigned count, unsigned first)
{
    CHECK(started == 0 && count <= TIMEOUTS_MAX);
    for (; started < count; started++) {
        k_timer_init(&timers[started], NULL, NULL);
        k_timer_start(&timers[started], K_TICKS(first + started), K_NO_WAIT);
    }
}

void timeouts_stop(void)
{
    while (started > 0) {
        started--;
        CHECK(k_timer_status_get(&timers[started]) == 0);
        k_timer_stop(&timers[started]);
    }
}

k_ticks_t timeouts_left(void)
{
    return started > 0 ? k_timer_remaining_ticks(&timers[started - 1]) : 0;
}

void timeouts_gone(void)
{
    while (started > 0)
        CHECK(k_timer_status_get(&timers[--started]) == 1);
}
