/* Time slices (overlay-timeslicing.conf). L timeouts come before the end of a slice. */
#include "board.h"
#include "helpers.h"
#include "other_timeouts.h"

/* Ticks of a slice: more than there are timeouts. */
#define SLICE 20

BUILD_ASSERT(CONFIG_WCET_TIMEOUTS < SLICE - 4);

/* The kernel's own function: every change of the running thread calls it. */
void z_reset_time_slice(struct k_thread *thread);

static void slices(bool on)
{
    k_sched_time_slice_set(on ? (int32_t)k_ticks_to_ms_ceil32(SLICE) : 0, PRIORITY_DRIVER);
}

/* A slice runs already, so that it is taken out of the list of timeouts first. */
static void measure_set(unsigned before)
{
    const int32_t milliseconds = (int32_t)k_ticks_to_ms_ceil32(SLICE);
    unsigned key;

    slices(true);
    timeouts_start(before, 1);
    wcet_param(0, before);
    MEASURE(SERVICE_K_SCHED_TIME_SLICE_SET,
            k_sched_time_slice_set(milliseconds, PRIORITY_DRIVER));
    /* Its callers have masked interrupts. */
    key = irq_lock();
    driver_invocations++;
    wcet_param(0, before);
    wcet_begin(SERVICE_Z_RESET_TIME_SLICE);
    z_reset_time_slice(driver_thread);
    wcet_end(SERVICE_Z_RESET_TIME_SLICE);
    irq_unlock(key);
    timeouts_stop();
    slices(false);
}

/* While the thread that runs is the last that has waited, the kernel takes the end of its slice for one
 * that comes between its wait and the switch: so another one has to wait meanwhile. */
static int returns(void *object, void *argument)
{
    return 0;
}

static volatile unsigned turns;

static void takes_turns(void *unused, void *unused2, void *unused3)
{
    for (;;) {
        turns++;
        k_yield();
    }
}

#define STACK_BYTES (384 + STACK_EXTRA)

static struct k_thread others[CONFIG_WCET_READY_THREADS];
static K_THREAD_STACK_ARRAY_DEFINE(stacks, CONFIG_WCET_READY_THREADS, STACK_BYTES);

/* The slice of the driver ends, and it goes behind E threads of its priority, for the first of which a
 * slice begins; the timeouts come before the end of that one. */
static void measure_end(unsigned count, unsigned before)
{
    helper_order(0, returns, NULL, NULL);
    CHECK(!helper_busy(0));
    slices(true);
    timeouts_start(before, SLICE + 1);
    pass_ticks(SLICE - 1);
    for (unsigned i = 0; i < count; i++)
        k_thread_create(&others[i], stacks[i], STACK_BYTES, takes_turns, NULL, NULL, NULL,
                        PRIORITY_DRIVER, 0, K_NO_WAIT);
    turns = 0;
    wcet_param(0, count);
    wcet_param(1, before);
    MEASURE(SERVICE_TICK_SLICE, board_tick());
    CHECK(turns == count);
    CHECK(timeouts_left() < SLICE);
    for (unsigned i = 0; i < count; i++)
        k_thread_abort(&others[i]);
    timeouts_stop();
    slices(false);
}

void measure_option(void)
{
    for (unsigned before = 0; before <= TIMEOUTS_MAX; before++)
        measure_set(before);
    helpers_start(1, PRIORITY_ABOVE, 0);
    for (unsigned count = 1; count <= READY_MAX; count++)
        for (unsigned before = 0; before <= TIMEOUTS_MAX; before++)
            if (swept(count, 1, READY_MAX, before, 0, TIMEOUTS_MAX))
                measure_end(count, before);
    helpers_stop();
}
