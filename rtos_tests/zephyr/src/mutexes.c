/* Mutexes and condition variables. */
#include "helpers.h"

static K_MUTEX_DEFINE(mutex);
static K_CONDVAR_DEFINE(condvar);

/* ---- mutexes -------------------------------------------------------------------------------- */

static int lock_and_unlock(void *object, void *argument)
{
    const int result = k_mutex_lock(object, K_TICKS(1000));

    crowd_stop();
    if (result == 0)
        k_mutex_unlock(object);
    return result;
}

/* The driver holds the mutex, a more urgent thread waits: the driver has inherited its priority and
 * goes back to its own, behind `others` threads between the two priorities or of its own. */
static void measure_unlock_inherited(unsigned others, unsigned shape)
{
    int result;

    CHECK(k_mutex_lock(&mutex, K_NO_WAIT) == 0);
    helpers_start(1, PRIORITY_ABOVE - 1, 0);
    helper_order(0, lock_and_unlock, &mutex, NULL);
    CHECK(helper_busy(0) && k_thread_priority_get(driver_thread) == PRIORITY_ABOVE - 1);
    crowd_start(CROWD_DROP, others + 1, shape, NULL);
    wcet_param(0, others);
    MEASURE(SERVICE_K_MUTEX_UNLOCK_INHERITED, result = k_mutex_unlock(&mutex));
    CHECK(result == 0 && k_thread_priority_get(driver_thread) == PRIORITY_DRIVER);
    CHECK(IS_ENABLED(CONFIG_SCHED_SCALABLE) || ready_runs == others);
    crowd_stop();
    CHECK(!helper_busy(0) && helper_result(0) == 0);
    helpers_stop();
}

void measure_mutexes(void)
{
    int result;

    MEASURE(SERVICE_K_MUTEX_INIT, result = k_mutex_init(&mutex));
    CHECK(result == 0);
    MEASURE(SERVICE_K_MUTEX_LOCK, result = k_mutex_lock(&mutex, K_NO_WAIT));
    CHECK(result == 0 && mutex.owner == driver_thread && mutex.lock_count == 1);
    MEASURE(SERVICE_K_MUTEX_LOCK_AGAIN, result = k_mutex_lock(&mutex, K_NO_WAIT));
    CHECK(result == 0 && mutex.lock_count == 2);
    MEASURE(SERVICE_K_MUTEX_UNLOCK_AGAIN, result = k_mutex_unlock(&mutex));
    CHECK(result == 0 && mutex.lock_count == 1);
    MEASURE(SERVICE_K_MUTEX_UNLOCK, result = k_mutex_unlock(&mutex));
    CHECK(result == 0 && mutex.owner == NULL);

    FOR_CROWDS(CROWD_JOIN, ready, shape) {
        CHECK(k_mutex_lock(&mutex, K_NO_WAIT) == 0);
        MEASURE_WAITER(SERVICE_K_MUTEX_UNLOCK_WAITER, 0, ready, shape, lock_and_unlock, &mutex, NULL,
                       result = k_mutex_unlock(&mutex), 0);
        CHECK(result == 0 && mutex.owner == NULL);
    }
    for (unsigned others = 0; others <= READY_MAX; others++)
        for (unsigned shape = 0; shape < crowd_shapes(CROWD_DROP, others + 1); shape++)
            measure_unlock_inherited(others, shape);
}

/* ---- condition variables -------------------------------------------------------------------- */

static int wait_for_condition(void *object, void *argument)
{
    int result;

    k_mutex_lock(&mutex, K_FOREVER);
    result = k_condvar_wait(object, &mutex, K_TICKS(1000));
    k_mutex_unlock(&mutex);
    return result;
}

void measure_condvars(void)
{
    int result;

    MEASURE(SERVICE_K_CONDVAR_INIT, result = k_condvar_init(&condvar));
    CHECK(result == 0);
    MEASURE(SERVICE_K_CONDVAR_SIGNAL, result = k_condvar_signal(&condvar));
    CHECK(result == 0);
    MEASURE_WAKE(SERVICE_K_CONDVAR_SIGNAL_WAITER, SERVICE_K_CONDVAR_SIGNAL_SWITCH,
                 wait_for_condition, &condvar, NULL, result = k_condvar_signal(&condvar), 0);
    MEASURE_WAKE_ALL(SERVICE_K_CONDVAR_BROADCAST, SERVICE_K_CONDVAR_BROADCAST_SWITCH, PRIORITY_STEP,
                     wait_for_condition, &condvar, NULL, (void)0,
                     result = k_condvar_broadcast(&condvar), 0);
}
