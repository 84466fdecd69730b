/* The tick interrupt. In all of it the interrupted thread is the driver. */
#include "board.h"
#include "helpers.h"

static K_SEM_DEFINE(semaphore, 0, 1);
static struct k_timer timers[CONFIG_WCET_TIMEOUTS];

static int take(void *object, void *argument)
{
    return k_sem_take(object, K_TICKS(10));
}

static int rest(void *object, void *argument)
{
    return k_sleep(K_TICKS(10));
}

/* The tick that is measured is the one at which what was started for ten ticks comes: a timeout is
 * one tick longer than it says. */
static void pass_the_rest(void)
{
    pass_ticks(10);
}

static void expired(struct k_timer *timer)
{
}

static void measure_one_shot(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        k_timer_init(&timers[i], expired, NULL);
        k_timer_start(&timers[i], K_TICKS(10), K_NO_WAIT);
    }
    pass_ticks(9);
    wcet_param(0, count);
    MEASURE(SERVICE_TICK_TIMERS, board_tick());
    for (unsigned i = 0; i < count; i++)
        CHECK(k_timer_status_get(&timers[i]) == 1);
}

static void measure_periodic(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        k_timer_init(&timers[i], expired, NULL);
        k_timer_start(&timers[i], K_TICKS(10), K_TICKS(10));
    }
    pass_ticks(9);
    wcet_param(0, count);
    MEASURE(SERVICE_TICK_PERIODIC, board_tick());
    for (unsigned i = 0; i < count; i++) {
        CHECK(k_timer_status_get(&timers[i]) == 1);
        k_timer_stop(&timers[i]);
    }
}

/* Each woken thread waited for a semaphore too, and is less urgent than the driver; or the one whose timeout
 * comes first is more so. */
static void measure_woken(unsigned count, unsigned others, bool urgent)
{
    sleepers_start(count, PRIORITY_STEP, urgent);
    for (unsigned i = 0; i < count; i++)
        helper_order(i, take, &semaphore, NULL);
    settle();
    ready_start(others, PRIORITY_OTHERS);
    pass_the_rest();
    for (unsigned i = 0; i < count; i++)
        CHECK(helper_busy(i));
    wcet_param(0, count);
    wcet_param(1, others + 1);
    if (urgent)
        MEASURE(SERVICE_TICK_WOKEN_SWITCH, board_tick());
    else
        MEASURE(SERVICE_TICK_WOKEN, board_tick());
    sleepers_after(count, urgent);
    ready_stop();
    helpers_woken(count, -EAGAIN);
    helpers_stop();
}

static int sync(void *object, void *argument)
{
    return (int)k_timer_status_sync(object);
}

/* Each timer has a thread that waits for it, which is less urgent than the driver; or that of the first timer is
 * more so. */
static void measure_sync(unsigned count, unsigned others, bool urgent)
{
    sleepers_start(count, PRIORITY_STEP, urgent);
    for (unsigned i = 0; i < count; i++) {
        k_timer_init(&timers[i], expired, NULL);
        k_timer_start(&timers[i], K_TICKS(10), K_TICKS(10));
        helper_order(i, sync, &timers[i], NULL);
    }
    settle();
    ready_start(others, PRIORITY_OTHERS);
    pass_ticks(9);
    for (unsigned i = 0; i < count; i++)
        CHECK(helper_busy(i));
    wcet_param(0, count);
    wcet_param(1, others + 1);
    if (urgent)
        MEASURE(SERVICE_TICK_TIMER_SYNC_SWITCH, board_tick());
    else
        MEASURE(SERVICE_TICK_TIMER_SYNC, board_tick());
    sleepers_after(count, urgent);
    for (unsigned i = 0; i < count; i++)
        k_timer_stop(&timers[i]);
    ready_stop();
    helpers_woken(count, 1);
    helpers_stop();
}

static struct k_work_q queue;
static K_THREAD_STACK_DEFINE(queue_stack, 512 + STACK_EXTRA);
static struct k_work_delayable works[CONFIG_WCET_TIMEOUTS];
static unsigned worked;

static void handle(struct k_work *work)
{
    worked++;
}

/* Each is submitted to a queue whose thread waits for work and is less urgent than the driver, or more so; the
 * first one wakes it. */
static void measure_work_comes(unsigned count, unsigned others, bool urgent)
{
    k_thread_priority_set(&queue.thread, urgent ? PRIORITY_ABOVE : PRIORITY_BELOW);
    worked = 0;
    for (unsigned i = 0; i < count; i++) {
        k_work_init_delayable(&works[i], handle);
        CHECK(k_work_schedule_for_queue(&queue, &works[i], K_TICKS(10)) == 1);
    }
    ready_start(others, PRIORITY_OTHERS);
    pass_the_rest();
    CHECK(worked == 0);
    wcet_param(0, count);
    wcet_param(1, others + 1);
    if (urgent)
        MEASURE(SERVICE_TICK_WORK_SWITCH, board_tick());
    else
        MEASURE(SERVICE_TICK_WORK, board_tick());
    CHECK(worked == (urgent ? count : 0));
    CHECK(k_work_delayable_busy_get(&works[count - 1]) == (urgent ? 0 : K_WORK_QUEUED));
    ready_stop();
    settle();
    CHECK(worked == count);
}

void measure_ticks(void)
{
    MEASURE(SERVICE_TICK, board_tick());
    for (unsigned count = 1; count <= TIMEOUTS_MAX; count++) {
        measure_one_shot(count);
        measure_periodic(count);
    }
    for (unsigned count = 1; count <= WAITING_MAX; count++)
        for (unsigned others = 0; others <= READY_MAX; others++)
            if (swept(count, 1, WAITING_MAX, others, 0, READY_MAX)) {
                measure_woken(count, others, false);
                measure_woken(count, others, true);
            }
    k_work_queue_init(&queue);
    k_work_queue_start(&queue, queue_stack, K_THREAD_STACK_SIZEOF(queue_stack), PRIORITY_BELOW, NULL);
    settle();
    for (unsigned count = 1; count <= WAITING_MAX; count++)
        for (unsigned others = 0; others <= READY_MAX; others++)
            if (swept(count, 1, WAITING_MAX, others, 0, READY_MAX)) {
                measure_sync(count, others, false);
                measure_sync(count, others, true);
                measure_work_comes(count, others, false);
                measure_work_comes(count, others, true);
            }
    k_thread_abort(&queue.thread);

    /* A more urgent thread wakes up and runs when the interrupt is over. */
    FOR_CROWDS(CROWD_LEAD, ready, shape) {
        helpers_start(1, PRIORITY_ABOVE, 0);
        helpers_wait(1, rest, NULL, NULL);
        pass_the_rest();
        CHECK(helper_busy(0));
        crowd_start(CROWD_LEAD, ready, shape, NULL);
        wcet_param(0, ready);
        MEASURE(SERVICE_TICK_SWITCH, board_tick());
        crowd_stop();
        CHECK(!helper_busy(0));
        helpers_stop();
    }
}
