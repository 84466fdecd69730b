/* Calls that wait a second time: they are woken, and what they want has been taken meanwhile. The least
 * urgent thread does what wakes them. W threads wait before the caller: in lists more urgent ones; in trees the
 * dearest trees of them, which the waker builds before the caller runs again, and those of the run queue that go
 * with them. Else, queues are what the kernel's own insertions make of them. */
#include "heaps.h"
#include "helpers.h"
#include "other_timeouts.h"

#define TIMEOUT K_TICKS(1000)
#define STACK_BYTES (512 + STACK_EXTRA)

static K_MUTEX_DEFINE(mutex);
static K_CONDVAR_DEFINE(condvar);
static K_SEM_DEFINE(go, 0, 1);
static struct k_heap heap;
static struct k_thread thread;
static K_THREAD_STACK_DEFINE(thread_stack, STACK_BYTES);
static unsigned number; /* of threads that the waker needs */
static bool woken;

/* ---- the mutex of a condition variable -------------------------------------------------------- */

static int lock_and_unlock(void *object, void *argument)
{
    const int result = k_mutex_lock(object, K_FOREVER);

    k_mutex_unlock(object);
    return result;
}

/* Less urgent than the driver; it does not run while others wait for the mutex that it holds. */
static void holder(void *unused, void *unused2, void *unused3)
{
    for (;;) {
        k_sem_take(&go, K_FOREVER);
        k_mutex_lock(&mutex, K_FOREVER);
        k_sem_take(&go, K_FOREVER);
        k_mutex_unlock(&mutex);
    }
}

/* Before the caller waits again behind `number` threads. */
static unsigned shape;
static _wait_q_t *waited_for;

static void build_again(void)
{
    if (IS_ENABLED(CONFIG_SCHED_SCALABLE)) {
        crowd_wait(waited_for, number, 1, shape);
        crowd_start_for(driver_thread, crowd_of_waiting(number), 1, shape, NULL);
    }
}

/* Wakes the caller, who waits again at once. */
static void wake_in_vain(void (*wake)(void *), void *argument)
{
    k_sched_lock();
    wake(argument);
    build_again();
    k_sched_unlock();
    crowd_stop();
    if (IS_ENABLED(CONFIG_SCHED_SCALABLE))
        k_yield();
}

static void signal_condvar(void *unused)
{
    k_condvar_signal(&condvar);
}

/* The holder takes the mutex, the helpers wait for it, the driver is signalled and waits behind them. */
static void take_and_signal(void *unused)
{
    if (woken)
        return;
    woken = true;
    k_sem_give(&go);
    CHECK(mutex.owner == &thread);
    for (unsigned i = 0; i < crowd_waiting(number); i++) {
        helper_order(i, lock_and_unlock, &mutex, NULL);
        CHECK(helper_busy(i));
    }
    /* Who waits has given its own priority to the holder. */
    if (IS_ENABLED(CONFIG_SCHED_SCALABLE))
        k_thread_priority_set(&thread, PRIORITY_DRIVER);
    wake_in_vain(signal_condvar, NULL);
    CHECK(mutex.owner == &thread && driver_thread->base.pended_on == &mutex.wait_q);
    k_sem_give(&go);
}

static void measure_relock(unsigned waiting)
{
    int result;

    number = waiting;
    waited_for = &mutex.wait_q;
    woken = false;
    helpers_start(crowd_waiting(waiting), PRIORITY_ABOVE, 0);
    k_mutex_lock(&mutex, K_FOREVER);
    wake_with(take_and_signal, NULL);
    wcet_param(0, waiting);
    MEASURE(SERVICE_K_CONDVAR_WAIT_RELOCK, result = k_condvar_wait(&condvar, &mutex, TIMEOUT));
    wake_with(NULL, NULL);
    CHECK(result == 0 && woken && mutex.owner == driver_thread);
    for (unsigned i = 0; i < crowd_waiting(waiting); i++)
        CHECK(!helper_busy(i));
    k_mutex_unlock(&mutex);
    helpers_stop();
}

/* The waker holds the mutex itself, and is ready when it inherits the driver's priority: it goes behind
 * the threads of that priority, which it starts while they cannot run yet. */
static void hold_and_signal(void *unused)
{
    if (woken)
        return;
    woken = true;
    k_mutex_lock(&mutex, K_FOREVER);
    k_sched_lock();
    k_condvar_signal(&condvar);
    ready_start(number, PRIORITY_DRIVER);
    k_sched_unlock();
    CHECK(k_thread_priority_get(driver_passer) == PRIORITY_DRIVER);
    CHECK(driver_thread->base.pended_on == &mutex.wait_q);
    k_mutex_unlock(&mutex);
}

static void measure_inherit(unsigned others)
{
    int result;

    number = others;
    woken = false;
    k_mutex_lock(&mutex, K_FOREVER);
    wake_with(hold_and_signal, NULL);
    wcet_param(0, others);
    MEASURE(SERVICE_K_CONDVAR_WAIT_INHERIT, result = k_condvar_wait(&condvar, &mutex, TIMEOUT));
    wake_with(NULL, NULL);
    CHECK(result == 0 && woken && mutex.owner == driver_thread);
    CHECK(k_thread_priority_get(driver_passer) == PRIORITY_LOWEST);
    k_mutex_unlock(&mutex);
    ready_stop();
}

/* ---- memory ----------------------------------------------------------------------------------- */

static void *small, *enough[2];

static int alloc(void *object, void *argument)
{
    void *memory = k_heap_alloc(object, WANTED_BYTES, K_FOREVER);

    k_heap_free(object, memory);
    return 0;
}

static void free_memory(void *of)
{
    void **memory = of;
    void *const given = *memory;

    *memory = NULL;
    if (given != NULL)
        k_heap_free(&heap, given);
}

/* First memory that is too small, which wakes all in vain; then enough. */
static void free_twice(void *unused)
{
    if (woken) {
        heap_free_enough(&heap, enough);
        return;
    }
    woken = true;
    wake_in_vain(free_memory, &small);
}

static void measure_alloc(unsigned waiting, unsigned before)
{
    const unsigned real = crowd_waiting(waiting);
    void *got;

    number = waiting;
    waited_for = &heap.wait_q;
    woken = false;
    heap_fill(&heap, &small, enough);
    helpers_start(real, PRIORITY_ABOVE, 0);
    helpers_wait(real, alloc, &heap, NULL);
    timeouts_start(before, AFTER_IT);
    wake_with(free_twice, NULL);
    build_again();
    wcet_param(0, waiting);
    wcet_param(1, before);
    MEASURE(SERVICE_K_HEAP_ALLOC_AGAIN, got = k_heap_alloc(&heap, WANTED_BYTES, TIMEOUT));
    wake_with(NULL, NULL);
    CHECK(got != NULL && small == NULL && enough[0] == NULL);
    timeouts_stop();
    for (unsigned i = 0; i < real; i++)
        CHECK(!helper_busy(i));
    helpers_stop();
}

void measure_waits_again(void)
{
    k_thread_create(&thread, thread_stack, STACK_BYTES, holder, NULL, NULL, NULL, PRIORITY_LOWEST - 1,
                    0, K_NO_WAIT);
    settle();
    for (unsigned waiting = 1; waiting <= WAITING_MAX; waiting++)
        for (shape = 0; shape < crowd_shapes(crowd_of_waiting(waiting), 1); shape++)
            measure_relock(waiting);
    k_thread_abort(&thread);
    for (unsigned others = 0; others <= READY_MAX; others++)
        measure_inherit(others);
    for (unsigned waiting = 0; waiting <= WAITING_MAX; waiting++)
        for (unsigned before = 0; before <= TIMEOUTS_MAX; before++)
            for (shape = 0; shape < crowd_shapes(crowd_of_waiting(waiting), 1); shape++)
                if (swept(waiting, 0, WAITING_MAX, before, 0, TIMEOUTS_MAX))
                    measure_alloc(waiting, before);
}
