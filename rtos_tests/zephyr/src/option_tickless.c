/* The tickless kernel (overlay-tickless.conf): SysTick is set to the next timeout, and its counter is read to
 * know how much time has passed. The counter stands still but where this file lets it run. */
#include <zephyr/drivers/timer/system_timer.h>

#include "board.h"
#include "helpers.h"
#include "other_timeouts.h"

/* Ticks after which a tick comes. */
#define MANY 20
/* Longest that the functions of the timer take, in cycles of the counter. */
#define LONGEST 160u

static struct k_timer timer;
static struct k_timer timers[CONFIG_WCET_TIMEOUTS];

static void expired(struct k_timer *of)
{
}

/* The counter has wrapped once since it was read. That is time for the kernel: as much as the counter was
 * set to. */
static void wrap(void)
{
    board_counter_wrap();
}

/* The kernel is told how much time has passed. */
static void tell(void)
{
    board_tick();
}

static void measure_start(unsigned before)
{
    k_ticks_t ticks;

    k_timer_init(&timer, NULL, NULL);
    k_timer_start(&timer, K_TICKS(1000), K_NO_WAIT);
    timeouts_start(before, AFTER_IT);
    wrap();
    wcet_param(0, before);
    MEASURE(SERVICE_K_TIMER_START_TICKLESS, k_timer_start(&timer, K_TICKS(1000), K_TICKS(10)));
    wrap();
    wcet_param(0, before);
    MEASURE(SERVICE_K_TIMER_REMAINING_TICKS_TICKLESS, ticks = k_timer_remaining_ticks(&timer));
    CHECK(ticks > 100 && ticks <= 1001);
    timeouts_stop();
    k_timer_stop(&timer);
    tell();
}

/* It is the first of the list, so that the system timer is set anew. */
static void measure_start_first(k_timeout_t duration)
{
    k_timer_start(&timer, K_TICKS(1000), K_NO_WAIT);
    wrap();
    MEASURE(SERVICE_K_TIMER_START_FIRST_TICKLESS, k_timer_start(&timer, duration, K_TICKS(10)));
    k_timer_stop(&timer);
    tell();
}

/* `count` timers come at a tick that is told to the kernel together with MANY - 1 before. Then the system
 * timer is set to the next timeout: soon, or later than it can count. */
static void measure_tick(unsigned count, bool soon)
{
    const k_ticks_t start = k_uptime_ticks();
    k_ticks_t passed;

    for (unsigned i = 0; i < count; i++) {
        k_timer_init(&timers[i], expired, NULL);
        k_timer_start(&timers[i], K_TICKS(MANY - 1), K_NO_WAIT);
    }
    k_timer_init(&timer, NULL, NULL);
    if (soon)
        k_timer_start(&timer, K_TICKS(MANY + 2), K_NO_WAIT);
    if (count == 0 && !soon)
        k_timer_start(&timer, K_TICKS(1000), K_NO_WAIT);
    board_count_down();
    if (count > 0) {
        wcet_param(0, count);
        MEASURE(SERVICE_TICK_TICKLESS, board_counted());
    } else {
        board_counted();
    }
    passed = k_uptime_ticks() - start;
    CHECK(passed >= (count == 0 && soon ? MANY : MANY - 1));
    for (unsigned i = 0; i < count; i++)
        CHECK(k_timer_status_get(&timers[i]) == 1);
    k_timer_stop(&timer);
}

/* The counter wraps at any point of the functions, or was read already, or has wrapped before. */
static void measure_timer(void)
{
    static const int32_t ticks[] = {1, 10, 1000, K_TICKS_FOREVER};
    k_ticks_t now;

    for (unsigned cycles = 0; cycles <= LONGEST; cycles++) {
        board_counter_run(cycles);
        MEASURE(SERVICE_SYS_CLOCK_ELAPSED, (void)sys_clock_elapsed());
        board_counter_stop();
        tell();
        board_counter_run(cycles);
        MEASURE(SERVICE_K_UPTIME_TICKS_TICKLESS, now = k_uptime_ticks());
        board_counter_stop();
        CHECK(now > 0);
        tell();
        for (unsigned i = 0; i < ARRAY_SIZE(ticks); i++) {
            board_counter_run(cycles);
            MEASURE(SERVICE_SYS_CLOCK_SET_TIMEOUT, sys_clock_set_timeout(ticks[i], false));
            board_counter_stop();
            tell();
        }
    }
}

void measure_option(void)
{
    for (unsigned before = 0; before <= TIMEOUTS_MAX; before++)
        measure_start(before);
    measure_start_first(K_TICKS(40));
    measure_start_first(K_TICKS(1));
    measure_start_first(K_TICKS(900));
    for (unsigned count = 1; count <= TIMEOUTS_MAX; count++) {
        measure_tick(count, false);
        measure_tick(count, true);
    }
    measure_timer();
}
