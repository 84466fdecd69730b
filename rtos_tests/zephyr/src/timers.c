/* Timers and the list of timeouts. The kernel's list has one more timeout, which never comes. */
#include "helpers.h"
#include "other_timeouts.h"

static struct k_timer timer;

static int sync(void *object, void *argument)
{
    return (int)k_timer_status_sync(object);
}

static void stopped(struct k_timer *of)
{
}

void measure_timers(void)
{
    k_ticks_t ticks;
    uint32_t status;

    MEASURE(SERVICE_K_TIMER_INIT, k_timer_init(&timer, NULL, NULL));
    for (unsigned count = 0; count <= TIMEOUTS_MAX; count++) {
        timeouts_start(count, AFTER_IT);
        /* It runs already, so that it is taken out of the list first. */
        k_timer_start(&timer, K_TICKS(1000), K_TICKS(10));
        wcet_param(0, count);
        MEASURE(SERVICE_K_TIMER_START, k_timer_start(&timer, K_TICKS(1000), K_TICKS(10)));
        wcet_param(0, count);
        MEASURE(SERVICE_K_TIMER_REMAINING_TICKS, ticks = k_timer_remaining_ticks(&timer));
        CHECK(ticks > 0 && ticks <= 1001);
        wcet_param(0, count);
        MEASURE(SERVICE_K_TIMER_EXPIRES_TICKS, ticks = k_timer_expires_ticks(&timer));
        CHECK(ticks >= 1000);
        k_timer_stop(&timer);
        timeouts_stop();
    }
    /* The first of the list: the system timer is set anew. */
    k_timer_start(&timer, K_TICKS(50), K_NO_WAIT);
    MEASURE(SERVICE_K_TIMER_START_FIRST, k_timer_start(&timer, K_TICKS(40), K_NO_WAIT));
    k_timer_stop(&timer);
    k_timer_init(&timer, NULL, stopped);
    k_timer_start(&timer, K_TICKS(50), K_NO_WAIT);
    MEASURE(SERVICE_K_TIMER_STOP, k_timer_stop(&timer));
    k_timer_init(&timer, NULL, NULL);
    MEASURE(SERVICE_K_TIMER_STATUS_GET, status = k_timer_status_get(&timer));
    CHECK(status == 0);
    k_timer_start(&timer, K_TICKS(0), K_NO_WAIT);
    pass_ticks(2);
    MEASURE(SERVICE_K_TIMER_STATUS_SYNC, status = k_timer_status_sync(&timer));
    CHECK(status == 1);

    k_timer_init(&timer, NULL, stopped);
    FOR_CROWDS(CROWD_JOIN, ready, shape) {
        k_timer_start(&timer, K_TICKS(1000), K_NO_WAIT);
        MEASURE_WAITER(SERVICE_K_TIMER_STOP_WAITER, 0, ready, shape, sync, &timer, NULL,
                       k_timer_stop(&timer), 0);
    }
    FOR_CROWDS(CROWD_LEAD, ready, shape) {
        k_timer_start(&timer, K_TICKS(1000), K_NO_WAIT);
        MEASURE_SWITCH(SERVICE_K_TIMER_STOP_SWITCH, 0, ready, shape, sync, &timer, NULL,
                       k_timer_stop(&timer), 0);
    }
    MEASURE(SERVICE_K_UPTIME_TICKS, ticks = k_uptime_ticks());
    CHECK(ticks >= 2);
}
