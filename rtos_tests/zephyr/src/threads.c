/* Threads: create, start, suspend, resume, wake, abort, join, priority. */
#include "helpers.h"

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

static int join(void *object, void *argument)
{
    return k_thread_join(object, K_TICKS(1000));
}

static void create(k_thread_entry_t entry, int priority, k_timeout_t delay)
{
    ran = false;
    k_thread_create(&thread, thread_stack, STACK_BYTES, entry, NULL, NULL, NULL, priority, 0, delay);
}

static void measure_create(unsigned others)
{
    ran = false;
    ready_start(others, PRIORITY_BELOW);
    wcet_param(0, others + 1);
    MEASURE(SERVICE_K_THREAD_CREATE,
            k_thread_create(&thread, thread_stack, STACK_BYTES, runs, NULL, NULL, NULL,
                            PRIORITY_BELOW, 0, K_NO_WAIT));
    CHECK(!ran);
    k_thread_abort(&thread);

    create(runs, PRIORITY_BELOW, K_FOREVER);
    wcet_param(0, others + 1);
    MEASURE(SERVICE_K_THREAD_START, k_thread_start(&thread));
    CHECK(!ran);
    k_thread_abort(&thread);
    ready_stop();
}

/* The thread sleeps with a timeout, or is suspended while it is ready. */
static void measure_suspend(unsigned others)
{
    create(sleeps, PRIORITY_BELOW, K_NO_WAIT);
    settle();
    CHECK(ran);
    ready_start(others, PRIORITY_BELOW);
    wcet_param(0, others + 1);
    MEASURE(SERVICE_K_WAKEUP, k_wakeup(&thread));
    /* Ready now; it is the last one of the run queue. */
    MEASURE(SERVICE_K_THREAD_SUSPEND, k_thread_suspend(&thread));
    CHECK((thread.base.thread_state & _THREAD_SUSPENDED) != 0);
    wcet_param(0, others + 1);
    MEASURE(SERVICE_K_THREAD_RESUME, k_thread_resume(&thread));
    CHECK((thread.base.thread_state & _THREAD_SUSPENDED) == 0);
    k_thread_abort(&thread);
    ready_stop();
}

/* A ready thread goes from the head of the threads below the driver to the end. */
static void measure_priority(unsigned others)
{
    create(runs, PRIORITY_BELOW, K_NO_WAIT);
    ready_start(others, PRIORITY_BELOW + 1);
    wcet_param(0, others + 1);
    MEASURE(SERVICE_K_THREAD_PRIORITY_SET, k_thread_priority_set(&thread, PRIORITY_BELOW + 1));
    CHECK(k_thread_priority_get(&thread) == PRIORITY_BELOW + 1);
    k_thread_abort(&thread);
    ready_stop();
}

/* W threads wait for the end of one that sleeps with a timeout. */
static void measure_abort(unsigned waiting, unsigned others)
{
    create(sleeps, PRIORITY_BELOW, K_NO_WAIT);
    settle();
    helpers_start(waiting, PRIORITY_BELOW, 0);
    helpers_wait(waiting, join, &thread, NULL);
    ready_start(others, PRIORITY_BELOW);
    wcet_param(0, waiting);
    wcet_param(1, others + 1);
    MEASURE(SERVICE_K_THREAD_ABORT, k_thread_abort(&thread));
    ready_stop();
    helpers_woken(waiting, 0);
    helpers_stop();
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

    ran = false;
    MEASURE(SERVICE_K_THREAD_CREATE_SWITCH,
            k_thread_create(&thread, thread_stack, STACK_BYTES, runs, NULL, NULL, NULL,
                            PRIORITY_ABOVE, 0, K_NO_WAIT));
    CHECK(ran);
    k_thread_abort(&thread);

    for (unsigned others = 0; others <= READY_MAX; others++) {
        measure_create(others);
        measure_suspend(others);
        measure_priority(others);
    }
    create(sleeps, PRIORITY_BELOW, K_NO_WAIT);
    settle();
    MEASURE(SERVICE_K_THREAD_ABORT_ALONE, k_thread_abort(&thread));
    for (unsigned waiting = 1; waiting <= WAITING_MAX; waiting++)
        for (unsigned others = 0; others <= READY_MAX; others++)
            if (swept(waiting, 1, WAITING_MAX, others, 0, READY_MAX))
                measure_abort(waiting, others);
}
