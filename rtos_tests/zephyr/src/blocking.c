/* Calls that wait. The driver waits with a timeout of 1000 ticks and is woken by the least urgent
 * thread; W threads wait before it, which in lists are more urgent (one of another priority costs more to go
 * behind than one of the same), L timeouts come before its own. */
#include "behind.h"
#include "heaps.h"
#include "orders.h"
#include "other_timeouts.h"
#include "pollers.h"

#define TIMEOUT K_TICKS(1000)
#define STACK_BYTES (512 + STACK_EXTRA)

static K_SEM_DEFINE(semaphore, 0, 1);
static K_MUTEX_DEFINE(mutex);
static K_CONDVAR_DEFINE(condvar);
static K_EVENT_DEFINE(event);
static K_QUEUE_DEFINE(queue);
static struct k_msgq msgq;
static struct k_stack stack;
static struct k_pipe pipe;
static struct k_mem_slab slab;
static struct k_heap heap;
static struct k_timer timer;
static struct k_thread thread;
static K_THREAD_STACK_DEFINE(thread_stack, STACK_BYTES);
static void *taken, *enough[2];

/* One call behind W threads that wait in `wait`, for which `queue` is the kernel's; `prepare` comes when they
 * do, and `wake` lets one go on, or all. */
#define BLOCK(service, queue, wait, object, argument, prepare, wake, call)                         \
    do {                                                                                           \
        behind_start(at, wait, object, argument);                                                  \
        prepare;                                                                                   \
        wake_with(wake, object);                                                                   \
        behind_build(at, queue, 0);                                                                \
        MEASURE(service, call);                                                                    \
        crowd_stop();                                                                              \
        wake_with(NULL, NULL);                                                                     \
        timeouts_stop();                                                                           \
        behind_stop(at, false);                                                                    \
    } while (0)

/* The same where nobody waits for an object. */
#define BLOCK_ALONE(service, wake, object, call)                                                   \
    do {                                                                                           \
        timeouts_start(before, AFTER_IT);                                                          \
        wake_with(wake, object);                                                                   \
        crowd_start(CROWD_LEAVE, ready, shape, NULL);                                              \
        wcet_param(0, before);                                                                     \
        wcet_param(1, ready);                                                                      \
        MEASURE(service, call);                                                                    \
        crowd_stop();                                                                              \
        wake_with(NULL, NULL);                                                                     \
        timeouts_stop();                                                                           \
    } while (0)

/* ---- what wakes ------------------------------------------------------------------------------- */

static void sem_give(void *object)
{
    k_sem_give(object);
}

static void condvar_signal(void *object)
{
    k_condvar_signal(object);
}

static void event_post(void *object)
{
    k_event_post(object, 1);
}

static void msgq_put_one(void *object)
{
    k_msgq_put(object, wcet_caller_data.bytes, K_NO_WAIT);
}

static void msgq_get_one(void *object)
{
    k_msgq_get(object, wcet_caller_data.bytes, K_NO_WAIT);
}

static void queue_append(void *object)
{
    k_queue_append(object, wcet_caller_data.words);
}

static void stack_push(void *object)
{
    k_stack_push(object, 1);
}

static void pipe_put(void *object)
{
    size_t written;

    k_pipe_put(object, wcet_caller_data.bytes, 4, &written, 4, K_NO_WAIT);
}

static void slab_free(void *object)
{
    k_mem_slab_free(object, taken);
}

static void heap_free(void *object)
{
    heap_free_enough(object, enough);
}

/* k_thread_abort readies who waits for the end, but does not switch to it. */
static void thread_abort(void *object)
{
    k_thread_abort(object);
    k_yield();
}

static void wakeup(void *object)
{
    k_wakeup(object);
}

static void resume(void *object)
{
    k_thread_resume(object);
}

static void timer_stop(void *object)
{
    k_timer_stop(object);
}

/* k_pipe_put readies who polls, but does not switch to it. */
static void pipe_put_polled(void *object)
{
    pipe_put(object);
    k_yield();
}

static void sleeps(void *unused, void *unused2, void *unused3)
{
    for (;;)
        k_sleep(K_FOREVER);
}

/* ---- objects that threads wait for one behind the other --------------------------------------- */

static void measure_objects(const struct behind *at)
{
    struct k_event *events = &event;
    uint32_t found;
    void *got;
    int result;

    BLOCK(SERVICE_K_SEM_TAKE_BLOCK, &semaphore.wait_q, order_sem_take, &semaphore, NULL, (void)0,
          sem_give, result = k_sem_take(&semaphore, TIMEOUT));
    CHECK(result == 0);
    k_mutex_lock(&mutex, K_FOREVER);
    k_mutex_unlock(&mutex);
    BLOCK(SERVICE_K_CONDVAR_WAIT, &condvar.wait_q, order_condvar_wait, &condvar, &mutex,
          k_mutex_lock(&mutex, K_FOREVER), condvar_signal,
          result = k_condvar_wait(&condvar, &mutex, TIMEOUT));
    CHECK(result == 0 && mutex.owner == driver_thread);
    k_mutex_unlock(&mutex);

    k_event_clear(events, ~0u);
    BLOCK(SERVICE_K_EVENT_WAIT_BLOCK, &events->wait_q, order_event_wait, events, NULL, (void)0,
          event_post, found = k_event_wait(events, 1, true, TIMEOUT));
    CHECK(found == 1);

    k_msgq_init(&msgq, (char *)wcet_storage, 4, 1);
    BLOCK(SERVICE_K_MSGQ_GET_BLOCK, &msgq.wait_q, order_msgq_get, &msgq, NULL, (void)0,
          msgq_put_one, result = k_msgq_get(&msgq, wcet_caller_data_2.bytes, TIMEOUT));
    CHECK(result == 0);
    k_msgq_init(&msgq, (char *)wcet_storage, 4, 1);
    CHECK(k_msgq_put(&msgq, wcet_caller_data.bytes, K_NO_WAIT) == 0);
    BLOCK(SERVICE_K_MSGQ_PUT_BLOCK, &msgq.wait_q, order_msgq_put, &msgq, NULL, (void)0,
          msgq_get_one, result = k_msgq_put(&msgq, wcet_caller_data_2.bytes, TIMEOUT));
    CHECK(result == 0);

    BLOCK(SERVICE_K_QUEUE_GET_BLOCK, &queue.wait_q, order_queue_get, &queue, NULL, (void)0,
          queue_append, got = k_queue_get(&queue, TIMEOUT));
    CHECK(got == wcet_caller_data.words);

    k_stack_init(&stack, (stack_data_t *)wcet_storage, 4);
    BLOCK(SERVICE_K_STACK_POP_BLOCK, &stack.wait_q, order_stack_pop, &stack, NULL, (void)0,
          stack_push, result = k_stack_pop(&stack, (stack_data_t *)wcet_caller_data.words, TIMEOUT));
    CHECK(result == 0);

    k_pipe_init(&pipe, wcet_storage, 16);
    BLOCK(SERVICE_K_PIPE_GET_BLOCK, &pipe.wait_q.readers, order_pipe_get, &pipe, NULL, (void)0,
          pipe_put, result = k_pipe_get(&pipe, wcet_caller_data.bytes, 4,
                                        (size_t *)&wcet_caller_data.words[8], 4, TIMEOUT));
    CHECK(result == 0);

    CHECK(k_mem_slab_init(&slab, wcet_storage, 16, 1) == 0);
    CHECK(k_mem_slab_alloc(&slab, &taken, K_NO_WAIT) == 0);
    BLOCK(SERVICE_K_MEM_SLAB_ALLOC_BLOCK, &slab.wait_q, order_slab_alloc, &slab, NULL, (void)0,
          slab_free, result = k_mem_slab_alloc(&slab, &wcet_caller_data.pointers[0], TIMEOUT));
    CHECK(result == 0);

    heap_fill(&heap, NULL, enough);
    BLOCK(SERVICE_K_HEAP_ALLOC_BLOCK, &heap.wait_q, order_heap_alloc, &heap, NULL, (void)0,
          heap_free, got = k_heap_alloc(&heap, WANTED_BYTES, TIMEOUT));
    CHECK(got != NULL);

    k_thread_create(&thread, thread_stack, STACK_BYTES, sleeps, NULL, NULL, NULL, PRIORITY_BELOW, 0,
                    K_NO_WAIT);
    BLOCK(SERVICE_K_THREAD_JOIN_BLOCK, &thread.join_queue, order_join, &thread, NULL, (void)0,
          thread_abort, result = k_thread_join(&thread, TIMEOUT));
    CHECK(result == 0);
}

/* ---- mutexes ---------------------------------------------------------------------------------- */

static K_SEM_DEFINE(held, 0, 1);
static K_SEM_DEFINE(release, 0, 1);

/* A thread that is less urgent than the driver holds the mutex until it is released. */
static void holder(void *unused, void *unused2, void *unused3)
{
    k_mutex_lock(&mutex, K_FOREVER);
    k_sem_give(&held);
    k_sem_take(&release, K_FOREVER);
    k_mutex_unlock(&mutex);
    k_sleep(K_FOREVER);
}

static void start_holder(int priority)
{
    k_thread_create(&thread, thread_stack, STACK_BYTES, holder, NULL, NULL, NULL, priority, 0,
                    K_NO_WAIT);
    CHECK(k_sem_take(&held, K_FOREVER) == 0);
    CHECK(mutex.owner == &thread);
}

static void let_go(void *object)
{
    k_sem_give(&release);
}

static void measure_mutex_block(const struct behind *at)
{
    int result;

    start_holder(PRIORITY_LOWEST - 1);
    BLOCK(SERVICE_K_MUTEX_LOCK_BLOCK, &mutex.wait_q, order_mutex_lock, &mutex, NULL, (void)0,
          let_go, result = k_mutex_lock(&mutex, TIMEOUT));
    CHECK(result == 0 && mutex.owner == driver_thread);
    k_mutex_unlock(&mutex);
    k_thread_abort(&thread);
    k_sem_reset(&release);
}

/* The holder is ready, so that it is put behind E threads of the driver's priority. */
static void measure_mutex_inherit(unsigned others, unsigned before)
{
    const int own = PRIORITY_LOWEST - 1;
    int result;

    start_holder(own);
    /* Behind the driver. */
    helpers_start(1, PRIORITY_LOWEST - 1, 0);
    helpers_wait(1, order_mutex_lock, &mutex, NULL);
    k_sem_give(&release);
    ready_start(others, PRIORITY_DRIVER);
    timeouts_start(before, AFTER_IT);
    wcet_param(0, others);
    wcet_param(1, before);
    MEASURE(SERVICE_K_MUTEX_LOCK_INHERIT, result = k_mutex_lock(&mutex, TIMEOUT));
    CHECK(result == 0 && mutex.owner == driver_thread);
    CHECK(k_thread_priority_get(&thread) == own && helper_busy(0));
    k_mutex_unlock(&mutex);
    timeouts_stop();
    ready_stop();
    helpers_woken(1, 0);
    helpers_stop();
    k_thread_abort(&thread);
}

/* ---- the rest --------------------------------------------------------------------------------- */

static struct k_poll_event events[10];

static void measure_poll_block(unsigned count, const struct behind *at)
{
    _wait_q_t *const queue = pollers_queue();
    int result;

    k_pipe_init(&pipe, wcet_storage, 4);
    for (unsigned i = 0; i < count; i++)
        k_poll_event_init(&events[i], K_POLL_TYPE_PIPE_DATA_AVAILABLE, K_POLL_MODE_NOTIFY_ONLY, &pipe);
    behind_start(at, pollers_poll, NULL, NULL);
    wake_with(pipe_put_polled, &pipe);
    wcet_param(0, count);
    behind_build(at, queue, 1);
    MEASURE(SERVICE_K_POLL_BLOCK, result = k_poll(events, (int)count, TIMEOUT));
    crowd_stop();
    wake_with(NULL, NULL);
    timeouts_stop();
    CHECK(result == 0);
    pollers_end(crowd_waiting(at->waiting));
    behind_stop(at, false);
}

static void measure_sleep(unsigned before, unsigned ready, unsigned shape)
{
    int32_t left;

    BLOCK_ALONE(SERVICE_K_SLEEP, wakeup, driver_thread, left = k_sleep(TIMEOUT));
    CHECK(left > 0);
    BLOCK_ALONE(SERVICE_K_USLEEP, wakeup, driver_thread, left = k_usleep(10000000));
    CHECK(left > 0);
}

/* The queue's thread runs while the driver waits. */
static void do_nothing(struct k_work *work)
{
    crowd_stop();
}

static struct k_work_q work_queue;
static struct k_work works[CONFIG_WCET_LIST_LENGTH];
static struct k_work_sync work_sync;

static void measure_flush(unsigned length, unsigned ready, unsigned shape)
{
    bool waited;

    for (unsigned i = 0; i < length; i++) {
        k_work_init(&works[i], do_nothing);
        CHECK(k_work_submit_to_queue(&work_queue, &works[i]) == 1);
    }
    crowd_start(CROWD_LEAVE, ready, shape, &work_queue.thread);
    wcet_param(0, length);
    wcet_param(1, ready);
    MEASURE(SERVICE_K_WORK_FLUSH, waited = k_work_flush(&works[length - 1], &work_sync));
    crowd_stop();
    CHECK(waited);
    settle();
}

/* A thread that ends itself; the driver runs next. */
static unsigned ready_now, shape_now;

static void ends(void *unused, void *unused2, void *unused3)
{
    crowd_start(CROWD_LEAVE, ready_now, shape_now, driver_thread);
    driver_invocations++;
    wcet_param(0, ready_now);
    wcet_begin(SERVICE_K_THREAD_ABORT_SELF);
    board_unmask();
    k_thread_abort(k_current_get());
    driver_failed(__FILE__, __LINE__, "a thread that has ended does not go on");
}

static void measure_self(unsigned ready, unsigned shape)
{
    uint32_t status;

    k_timer_init(&timer, NULL, NULL);
    k_timer_start(&timer, K_TICKS(1000), K_NO_WAIT);
    wake_with(timer_stop, &timer);
    crowd_start(CROWD_LEAVE, ready, shape, NULL);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_TIMER_STATUS_SYNC_BLOCK, status = k_timer_status_sync(&timer));
    crowd_stop();
    wake_with(NULL, NULL);
    CHECK(status == 0);

    wake_with(resume, driver_thread);
    crowd_start(CROWD_LEAVE, ready, shape, NULL);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_THREAD_SUSPEND_SELF, k_thread_suspend(driver_thread));
    crowd_stop();
    wake_with(NULL, NULL);

    ready_now = ready;
    shape_now = shape;
    k_thread_create(&thread, thread_stack, STACK_BYTES, ends, NULL, NULL, NULL, PRIORITY_ABOVE, 0,
                    K_NO_WAIT);
    wcet_end(SERVICE_K_THREAD_ABORT_SELF);
    crowd_stop();
}

void measure_blocking(void)
{
    for (unsigned waiting = 0; waiting <= WAITING_MAX; waiting++)
        for (unsigned before = 0; before <= TIMEOUTS_MAX; before++)
            FOR_CROWDS(crowd_of_waiting(waiting), ready, shape)
                if (swept_three(waiting, 0, WAITING_MAX, before, TIMEOUTS_MAX, ready)) {
                    const struct behind at = {waiting, before, AFTER_IT, ready, shape};

                    measure_objects(&at);
                    measure_mutex_block(&at);
                }
    for (unsigned others = 0; others <= READY_MAX; others++)
        for (unsigned before = 0; before <= TIMEOUTS_MAX; before++)
            if (swept(others, 0, READY_MAX, before, 0, TIMEOUTS_MAX))
                measure_mutex_inherit(others, before);
    for (unsigned count = 2; count <= 10; count++)
        for (unsigned before = 0; before <= TIMEOUTS_MAX; before++)
            FOR_CROWDS(CROWD_LEAVE, ready, shape)
                if (swept_three(count, 2, 10, before, TIMEOUTS_MAX, ready)) {
                    const struct behind at = {0, before, AFTER_IT, ready, shape};

                    measure_poll_block(count, &at);
                }
    for (unsigned waiting = 1; waiting <= WAITING_MAX; waiting++)
        for (unsigned before = 0; before <= TIMEOUTS_MAX; before++)
            FOR_CROWDS(CROWD_WAIT, ready, shape)
                if (swept_three(waiting, 0, WAITING_MAX, before, TIMEOUTS_MAX, ready)) {
                    const struct behind at = {waiting, before, AFTER_IT, ready, shape};

                    measure_poll_block(2, &at);
                    if (waiting == WAITING_MAX && (before == 0 || before == TIMEOUTS_MAX))
                        measure_poll_block(10, &at);
                }
    for (unsigned before = 0; before <= TIMEOUTS_MAX; before++)
        FOR_CROWDS(CROWD_LEAVE, ready, shape)
            if (swept_ready(before, 0, TIMEOUTS_MAX, ready))
                measure_sleep(before, ready, shape);

    k_work_queue_init(&work_queue);
    k_work_queue_start(&work_queue, thread_stack, STACK_BYTES, PRIORITY_BELOW, NULL);
    settle();
    for (unsigned length = 1; length <= LENGTH_MAX; length++)
        FOR_CROWDS(CROWD_LEAVE, ready, shape)
            if (swept_ready(length, 1, LENGTH_MAX, ready))
                measure_flush(length, ready, shape);
    k_thread_abort(&work_queue.thread);

    FOR_CROWDS(CROWD_LEAVE, ready, shape)
        measure_self(ready, shape);
}
