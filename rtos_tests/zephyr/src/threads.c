/* Threads: create, start, suspend, resume, wake, abort, join, priority. */
#include "helpers.h"
#include "other_timeouts.h"

#define STACK_BYTES (512 + STACK_EXTRA)

static struct k_thread thread;
static K_THREAD_STACK_DEFINE(thread_stack, STACK_BYTES);
static volatile bool ran;

static void runs(void *unused, void *unused2, void *unused3)
{
    ran = true;
}

static void sleeps(void *unused, void *unused2, void *unused3)
{
    ran = true;
    for (;;)
        k_sleep(K_TICKS(1000));
}

static K_SEM_DEFINE(never, 0, 1);

/* For an object, with a timeout. */
static void waits(void *unused, void *unused2, void *unused3)
{
    ran = true;
    for (;;)
        k_sem_take(&never, K_TICKS(1000));
}

static void sleeps_and_says(void *unused, void *unused2, void *unused3)
{
    for (;;) {
        ran = true;
        k_sleep(K_TICKS(1000));
    }
}

static void suspends_itself(void *unused, void *unused2, void *unused3)
{
    for (;;) {
        ran = true;
        k_thread_suspend(k_current_get());
    }
}

static int join(void *object, void *argument)
{
    return k_thread_join(object, K_TICKS(1000));
}

static void create(k_thread_entry_t entry, int priority, k_timeout_t delay)
{
    ran = false;
    k_thread_create(&thread, thread_stack, STACK_BYTES, entry, NULL, NULL, NULL, priority, 0, delay);
}

static void measure_create(unsigned ready, unsigned shape)
{
    const int priority = crowd_priority(CROWD_JOIN, ready, shape);

    ran = false;
    crowd_start(CROWD_JOIN, ready, shape, NULL);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_THREAD_CREATE,
            k_thread_create(&thread, thread_stack, STACK_BYTES, runs, NULL, NULL, NULL, priority, 0,
                            K_NO_WAIT));
    crowd_stop();
    CHECK(!ran);
    k_thread_abort(&thread);

    create(runs, priority, K_FOREVER);
    crowd_start(CROWD_JOIN, ready, shape, NULL);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_THREAD_START, k_thread_start(&thread));
    crowd_stop();
    CHECK(!ran);
    k_thread_abort(&thread);
}

/* The thread sleeps with a timeout, or is suspended. */
static void measure_resume(unsigned ready, unsigned shape)
{
    create(sleeps, crowd_priority(CROWD_JOIN, ready, shape), K_NO_WAIT);
    settle();
    CHECK(ran);
    crowd_start(CROWD_JOIN, ready, shape, NULL);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_WAKEUP, k_wakeup(&thread));
    crowd_stop();
    k_thread_suspend(&thread);
    crowd_start(CROWD_JOIN, ready, shape, NULL);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_THREAD_RESUME, k_thread_resume(&thread));
    crowd_stop();
    CHECK((thread.base.thread_state & _THREAD_SUSPENDED) == 0);
    k_thread_abort(&thread);
}

/* The thread is more urgent than the caller, and runs at once. */
static void measure_lead(unsigned ready, unsigned shape)
{
    create(runs, PRIORITY_ABOVE, K_FOREVER);
    crowd_start(CROWD_LEAD, ready, shape, NULL);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_THREAD_START_SWITCH, k_thread_start(&thread));
    crowd_stop();
    CHECK(ran);
    k_thread_abort(&thread);

    create(sleeps_and_says, PRIORITY_ABOVE, K_NO_WAIT);
    CHECK(ran);
    ran = false;
    crowd_start(CROWD_LEAD, ready, shape, NULL);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_WAKEUP_SWITCH, k_wakeup(&thread));
    crowd_stop();
    CHECK(ran);
    k_thread_abort(&thread);

    create(suspends_itself, PRIORITY_ABOVE, K_NO_WAIT);
    CHECK(ran);
    ran = false;
    crowd_start(CROWD_LEAD, ready, shape, NULL);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_THREAD_RESUME_SWITCH, k_thread_resume(&thread));
    crowd_stop();
    CHECK(ran);
    k_thread_abort(&thread);
}

/* A ready thread becomes more urgent than the caller. In trees the ready threads form what the kernel's own
 * insertions make of them. */
static void measure_raised(unsigned others)
{
    ready_start(others, PRIORITY_BELOW);
    /* Alone at its priority: with a list for each, that one is empty then. */
    create(runs, PRIORITY_BELOW + 1, K_NO_WAIT);
    wcet_param(0, others + 2);
    MEASURE(SERVICE_K_THREAD_PRIORITY_SET_SWITCH, k_thread_priority_set(&thread, PRIORITY_ABOVE));
    CHECK(ran);
    k_thread_abort(&thread);
    ready_stop();
}

/* The caller becomes less urgent than R - 1 ready threads, or as urgent. */
static void measure_own_priority(unsigned ready, unsigned shape)
{
    k_thread_priority_set(driver_thread, PRIORITY_ABOVE - 1);
    if (IS_ENABLED(CONFIG_SCHED_SCALABLE))
        ready_start(1, PRIORITY_DRIVER);
    crowd_start(CROWD_LOWER, ready, shape, ready_thread(0));
    CHECK(ready_runs == 0);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_THREAD_PRIORITY_SET_OWN,
            k_thread_priority_set(driver_thread, PRIORITY_DRIVER));
    CHECK(IS_ENABLED(CONFIG_SCHED_SCALABLE) ? ready_runs > 0 : ready_runs == ready - 1);
    crowd_stop();
    ready_stop();
}

/* The thread is ready. */
static void measure_suspend(unsigned ready, unsigned shape)
{
    create(runs, crowd_priority(CROWD_TAKE, ready, shape), K_NO_WAIT);
    crowd_start(CROWD_TAKE, ready, shape, &thread);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_THREAD_SUSPEND, k_thread_suspend(&thread));
    crowd_stop();
    CHECK((thread.base.thread_state & _THREAD_SUSPENDED) != 0);
    k_thread_resume(&thread);
    crowd_start(CROWD_TAKE, ready, shape, &thread);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_THREAD_ABORT_READY, k_thread_abort(&thread));
    crowd_stop();
    CHECK((thread.base.thread_state & _THREAD_DEAD) != 0);
}

/* The thread waits for an object, with a timeout. */
static void measure_pending(unsigned ready, unsigned shape)
{
    create(waits, PRIORITY_BELOW, K_NO_WAIT);
    settle();
    CHECK((thread.base.thread_state & _THREAD_SUSPENDED) == 0);
    crowd_start(CROWD_BEST, ready, shape, NULL);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_THREAD_SUSPEND_WAITING, k_thread_suspend(&thread));
    crowd_stop();
    CHECK((thread.base.thread_state & _THREAD_SUSPENDED) != 0);
    k_thread_abort(&thread);
    create(waits, PRIORITY_BELOW, K_NO_WAIT);
    settle();
    crowd_start(CROWD_BEST, ready, shape, NULL);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_THREAD_ABORT_ALONE, k_thread_abort(&thread));
    crowd_stop();
    CHECK((thread.base.thread_state & _THREAD_DEAD) != 0);
}

/* A ready thread is moved; in lists from the head of the threads below the driver to the end. */
static void measure_priority(unsigned ready, unsigned shape)
{
    const int priority = crowd_new_priority(ready, shape);

    create(runs, crowd_priority(CROWD_MOVE, ready, shape), K_NO_WAIT);
    crowd_start(CROWD_MOVE, ready, shape, &thread);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_THREAD_PRIORITY_SET, k_thread_priority_set(&thread, priority));
    crowd_stop();
    CHECK(k_thread_priority_get(&thread) == priority && !ran);
    k_thread_abort(&thread);
}

/* W threads wait for the end of one that waits for an object with a timeout; or is ready, the last of R and
 * alone at its priority. */
static void measure_abort(unsigned waiting, unsigned others, bool is_ready)
{
    create(waits, PRIORITY_LOWEST - 1, K_NO_WAIT);
    settle();
    sleepers_start(waiting, PRIORITY_STEP, false);
    helpers_wait(waiting, join, &thread, NULL);
    ready_start(others - is_ready, PRIORITY_OTHERS);
    if (is_ready)
        k_sem_give(&never);
    CHECK(((thread.base.thread_state & _THREAD_QUEUED) != 0) == is_ready);
    wcet_param(0, waiting);
    wcet_param(1, others + 1);
    if (is_ready)
        MEASURE(SERVICE_K_THREAD_ABORT_READY_WAITERS, k_thread_abort(&thread));
    else
        MEASURE(SERVICE_K_THREAD_ABORT, k_thread_abort(&thread));
    sleepers_after(waiting, false);
    ready_stop();
    helpers_woken(waiting, 0);
    helpers_stop();
}

/* The kernel does not switch then, however urgent who waits is: that would only go behind fewer threads. */
static void check_no_switch_at_abort(void)
{
    create(sleeps, PRIORITY_BELOW, K_NO_WAIT);
    settle();
    sleepers_start(1, 0, true);
    helpers_wait(1, join, &thread, NULL);
    k_thread_abort(&thread);
    sleepers_after(1, false);
    helpers_woken(1, 0);
    helpers_stop();
}

/* It is to start after all L timeouts of others. */
static void measure_create_delayed(unsigned before)
{
    timeouts_start(before, AFTER_IT);
    wcet_param(0, before);
    MEASURE(SERVICE_K_THREAD_CREATE_DELAYED,
            k_thread_create(&thread, thread_stack, STACK_BYTES, runs, NULL, NULL, NULL,
                            PRIORITY_BELOW, 0, K_TICKS(1000)));
    timeouts_stop();
    k_thread_abort(&thread);
}

void measure_threads(void)
{
    int result;

    MEASURE(SERVICE_K_THREAD_CREATE_FOREVER,
            k_thread_create(&thread, thread_stack, STACK_BYTES, runs, NULL, NULL, NULL,
                            PRIORITY_BELOW, 0, K_FOREVER));
    MEASURE(SERVICE_K_THREAD_PRIORITY_GET, result = k_thread_priority_get(&thread));
    CHECK(result == PRIORITY_BELOW);
    k_thread_abort(&thread);
    MEASURE(SERVICE_K_THREAD_JOIN, result = k_thread_join(&thread, K_NO_WAIT));
    CHECK(result == 0);

    for (unsigned before = 0; before <= TIMEOUTS_MAX; before++)
        measure_create_delayed(before);
    FOR_CROWDS(CROWD_LEAD, ready, shape) {
        ran = false;
        crowd_start(CROWD_LEAD, ready, shape, NULL);
        wcet_param(0, ready);
        MEASURE(SERVICE_K_THREAD_CREATE_SWITCH,
                k_thread_create(&thread, thread_stack, STACK_BYTES, runs, NULL, NULL, NULL,
                                PRIORITY_ABOVE, 0, K_NO_WAIT));
        crowd_stop();
        CHECK(ran);
        k_thread_abort(&thread);
        measure_lead(ready, shape);
    }
    for (unsigned others = 0; others < READY_MAX; others++)
        measure_raised(others);
    for (unsigned ready = 2; ready <= READY_COUNT_MAX; ready++)
        for (unsigned shape = 0; shape < crowd_shapes(CROWD_LOWER, ready); shape++)
            measure_own_priority(ready, shape);
    FOR_CROWDS(CROWD_JOIN, ready, shape) {
        measure_create(ready, shape);
        measure_resume(ready, shape);
    }
    FOR_CROWDS(CROWD_TAKE, ready, shape)
        measure_suspend(ready, shape);
    FOR_CROWDS(CROWD_BEST, ready, shape)
        measure_pending(ready, shape);
    FOR_CROWDS(CROWD_MOVE, ready, shape)
        measure_priority(ready, shape);
    for (unsigned waiting = 1; waiting <= WAITING_MAX; waiting++)
        for (unsigned others = 0; others <= READY_MAX; others++)
            if (swept(waiting, 1, WAITING_MAX, others, 0, READY_MAX))
                measure_abort(waiting, others, false);
    for (unsigned waiting = 1; waiting <= WAITING_MAX; waiting++)
        for (unsigned others = 1; others <= READY_MAX; others++)
            if (swept(waiting, 1, WAITING_MAX, others, 1, READY_MAX))
                measure_abort(waiting, others, true);
    check_no_switch_at_abort();
}
