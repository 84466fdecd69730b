/* Calls that wait until their timeout comes, behind W threads that wait already, which in lists are more
 * urgent; L timeouts come before. The least urgent thread makes the ticks. */
#include "behind.h"
#include "board.h"
#include "heaps.h"
#include "orders.h"
#include "other_timeouts.h"
#include "pollers.h"

#define TICKS 15
#define TIMEOUT K_TICKS(TICKS)
#define STACK_BYTES (512 + STACK_EXTRA)

BUILD_ASSERT(CONFIG_WCET_TIMEOUTS < TICKS);

static K_SEM_DEFINE(semaphore, 0, 1);
static K_MUTEX_DEFINE(mutex);
static K_CONDVAR_DEFINE(condvar);
static K_EVENT_DEFINE(event);
static K_QUEUE_DEFINE(queue);
static K_MBOX_DEFINE(mailbox);
static struct k_msgq msgq;
static struct k_stack stack;
static struct k_pipe pipe;
static struct k_mem_slab slab;
static struct k_heap heap;
static struct k_thread thread;
static K_THREAD_STACK_DEFINE(thread_stack, STACK_BYTES);
static struct k_poll_event poll_events[10];
static struct k_mbox_msg message;

/* One call behind W threads that wait in `wait`, for which `queue` is the kernel's; `prepare` comes when they
 * do. */
#define EXPIRE(service, queue, wait, object, argument, prepare, call, expected)                    \
    do {                                                                                           \
        behind_start(at, wait, object, argument);                                                  \
        prepare;                                                                                   \
        behind_build(at, queue, 0);                                                                \
        MEASURE(service, call);                                                                    \
        crowd_stop();                                                                              \
        timeouts_gone();                                                                           \
        CHECK(expected);                                                                           \
        behind_stop(at, true);                                                                     \
    } while (0)

/* The same where nobody waits for an object. */
#define EXPIRE_ALONE(service, call, expected)                                                      \
    do {                                                                                           \
        timeouts_start(before, 1);                                                                 \
        crowd_start(CROWD_LEAVE, ready, shape, NULL);                                              \
        wcet_param(0, before);                                                                     \
        wcet_param(1, ready);                                                                      \
        MEASURE(service, call);                                                                    \
        crowd_stop();                                                                              \
        timeouts_gone();                                                                           \
        CHECK(expected);                                                                           \
    } while (0)

static void sleeps(void *unused, void *unused2, void *unused3)
{
    for (;;)
        k_sleep(K_FOREVER);
}

static void measure_objects(const struct behind *at)
{
    size_t *moved = (size_t *)&wcet_caller_data.words[8];
    struct k_event *events = &event;
    uint32_t found;
    void *got;
    int result;

    EXPIRE(SERVICE_K_SEM_TAKE_TIMEOUT, &semaphore.wait_q, order_sem_take, &semaphore, NULL, (void)0,
           result = k_sem_take(&semaphore, TIMEOUT), result == -EAGAIN);
    EXPIRE(SERVICE_K_CONDVAR_WAIT_TIMEOUT, &condvar.wait_q, order_condvar_wait, &condvar, &mutex,
           k_mutex_lock(&mutex, K_FOREVER), result = k_condvar_wait(&condvar, &mutex, TIMEOUT),
           result == -EAGAIN && mutex.owner == driver_thread);
    k_mutex_unlock(&mutex);
    EXPIRE(SERVICE_K_EVENT_WAIT_TIMEOUT, &events->wait_q, order_event_wait, events, NULL, (void)0,
           found = k_event_wait(events, 1, true, TIMEOUT), found == 0);

    k_msgq_init(&msgq, (char *)wcet_storage, 4, 1);
    EXPIRE(SERVICE_K_MSGQ_GET_TIMEOUT, &msgq.wait_q, order_msgq_get, &msgq, NULL, (void)0,
           result = k_msgq_get(&msgq, wcet_caller_data_2.bytes, TIMEOUT), result == -EAGAIN);
    CHECK(k_msgq_put(&msgq, wcet_caller_data.bytes, K_NO_WAIT) == 0);
    EXPIRE(SERVICE_K_MSGQ_PUT_TIMEOUT, &msgq.wait_q, order_msgq_put, &msgq, NULL, (void)0,
           result = k_msgq_put(&msgq, wcet_caller_data_2.bytes, TIMEOUT), result == -EAGAIN);
    EXPIRE(SERVICE_K_QUEUE_GET_TIMEOUT, &queue.wait_q, order_queue_get, &queue, NULL, (void)0,
           got = k_queue_get(&queue, TIMEOUT), got == NULL);
    k_stack_init(&stack, (stack_data_t *)wcet_storage, 4);
    EXPIRE(SERVICE_K_STACK_POP_TIMEOUT, &stack.wait_q, order_stack_pop, &stack, NULL, (void)0,
           result = k_stack_pop(&stack, (stack_data_t *)wcet_caller_data.words, TIMEOUT),
           result == -EAGAIN);

    k_pipe_init(&pipe, wcet_storage, 4);
    EXPIRE(SERVICE_K_PIPE_GET_TIMEOUT, &pipe.wait_q.readers, order_pipe_get, &pipe, NULL, (void)0,
           result = k_pipe_get(&pipe, wcet_caller_data.bytes, 4, moved, 4, TIMEOUT),
           result == -EAGAIN && *moved == 0);
    CHECK(k_pipe_put(&pipe, wcet_caller_data.bytes, 4, moved, 4, K_NO_WAIT) == 0);
    EXPIRE(SERVICE_K_PIPE_PUT_TIMEOUT, &pipe.wait_q.writers, order_pipe_put, &pipe, NULL, (void)0,
           result = k_pipe_put(&pipe, wcet_caller_data.bytes, 4, moved, 4, TIMEOUT),
           result == -EAGAIN && *moved == 0);

    CHECK(k_mem_slab_init(&slab, wcet_storage, 16, 1) == 0);
    CHECK(k_mem_slab_alloc(&slab, &got, K_NO_WAIT) == 0);
    EXPIRE(SERVICE_K_MEM_SLAB_ALLOC_TIMEOUT, &slab.wait_q, order_slab_alloc, &slab, NULL, (void)0,
           result = k_mem_slab_alloc(&slab, &wcet_caller_data.pointers[0], TIMEOUT),
           result == -EAGAIN);
    heap_fill(&heap, NULL, NULL);
    EXPIRE(SERVICE_K_HEAP_ALLOC_TIMEOUT, &heap.wait_q, order_heap_alloc, &heap, NULL, (void)0,
           got = k_heap_alloc(&heap, WANTED_BYTES, TIMEOUT), got == NULL);

    k_thread_create(&thread, thread_stack, STACK_BYTES, sleeps, NULL, NULL, NULL, PRIORITY_BELOW, 0,
                    K_NO_WAIT);
    settle();
    EXPIRE(SERVICE_K_THREAD_JOIN_TIMEOUT, &thread.join_queue, order_join, &thread, NULL, (void)0,
           result = k_thread_join(&thread, TIMEOUT), result == -EAGAIN);
    k_thread_abort(&thread);

    message = (struct k_mbox_msg){
        .size = 4, .tx_data = wcet_caller_data.bytes, .rx_source_thread = K_ANY};
    EXPIRE(SERVICE_K_MBOX_GET_TIMEOUT, &mailbox.rx_msg_queue, order_mbox_get, &mailbox, NULL, (void)0,
           result = k_mbox_get(&mailbox, &message, wcet_caller_data_2.bytes, TIMEOUT),
           result == -EAGAIN);
    message = (struct k_mbox_msg){
        .size = 4, .tx_data = wcet_caller_data.bytes, .tx_target_thread = K_ANY};
    EXPIRE(SERVICE_K_MBOX_PUT_TIMEOUT, &mailbox.tx_msg_queue, order_mbox_put, &mailbox, NULL, (void)0,
           result = k_mbox_put(&mailbox, &message, TIMEOUT), result == -EAGAIN);
}

static void measure_sleep(unsigned before, unsigned ready, unsigned shape)
{
    int result;

    EXPIRE_ALONE(SERVICE_K_SLEEP_TIMEOUT, result = k_sleep(TIMEOUT), result == 0);
    EXPIRE_ALONE(SERVICE_K_USLEEP_TIMEOUT,
                 result = k_usleep((TICKS * 1000000) / CONFIG_SYS_CLOCK_TICKS_PER_SEC), result == 0);
}

static void measure_poll_timeout(unsigned count, const struct behind *at)
{
    _wait_q_t *const queue = pollers_queue();
    int result;

    k_pipe_init(&pipe, wcet_storage, 4);
    for (unsigned i = 0; i < count; i++)
        k_poll_event_init(&poll_events[i], K_POLL_TYPE_PIPE_DATA_AVAILABLE, K_POLL_MODE_NOTIFY_ONLY,
                          &pipe);
    behind_start(at, pollers_poll, NULL, NULL);
    wcet_param(0, count);
    behind_build(at, queue, 1);
    MEASURE(SERVICE_K_POLL_TIMEOUT, result = k_poll(poll_events, (int)count, TIMEOUT));
    crowd_stop();
    timeouts_gone();
    CHECK(result == -EAGAIN);
    pollers_end(crowd_waiting(at->waiting));
    behind_stop(at, false);
}

/* ---- mutexes ---------------------------------------------------------------------------------- */

static volatile bool holding;

static volatile bool ticking;

/* Holds the mutex; inherits the driver's priority, and makes the ticks while the driver waits. */
static void holds(void *unused, void *unused2, void *unused3)
{
    k_mutex_lock(&mutex, K_FOREVER);
    holding = true;
    while (!ticking)
        k_sleep(K_FOREVER);
    for (;;) {
        board_tick();
        k_yield();
    }
}

/* All R - 1 others are as urgent as the driver, so that the holder goes behind them when it inherits that
 * priority, and again when the timeout comes and it goes back to its own one. The driver waits before one that
 * is less urgent, too. */
static void measure_mutex_timeout(unsigned before, unsigned ready)
{
    int result;

    holding = ticking = false;
    k_thread_create(&thread, thread_stack, STACK_BYTES, holds, NULL, NULL, NULL,
                    PRIORITY_LOWEST - 1, 0, K_NO_WAIT);
    settle();
    CHECK(holding);
    helpers_start(1, PRIORITY_LOWEST - 1, 0);
    helpers_wait(1, order_mutex_lock, &mutex, NULL);
    ticking = true;
    k_wakeup(&thread);
    ready_start(ready - 1, PRIORITY_DRIVER);
    timeouts_start(before, 1);
    wcet_param(0, before);
    wcet_param(1, ready);
    MEASURE(SERVICE_K_MUTEX_LOCK_TIMEOUT, result = k_mutex_lock(&mutex, TIMEOUT));
    CHECK(result == -EAGAIN && mutex.owner == &thread);
    CHECK(k_thread_priority_get(&thread) == PRIORITY_LOWEST - 1);
    timeouts_gone();
    ready_stop();
    CHECK(helper_busy(0));
    helpers_stop();
    k_thread_abort(&thread);
    k_mutex_init(&mutex);
}

/* Holds the mutex, and waits for good. */
static void holds_waiting(void *unused, void *unused2, void *unused3)
{
    k_mutex_lock(&mutex, K_FOREVER);
    holding = true;
    k_sleep(K_FOREVER);
}

/* W threads wait for the mutex already. Where these are real, the holder is as urgent as they are. */
static void measure_mutex_behind(const struct behind *at)
{
    int result;

    holding = false;
    k_thread_create(&thread, thread_stack, STACK_BYTES, holds_waiting, NULL, NULL, NULL,
                    PRIORITY_ABOVE, 0, K_NO_WAIT);
    CHECK(holding);
    EXPIRE(SERVICE_K_MUTEX_LOCK_TIMEOUT_BEHIND, &mutex.wait_q, order_mutex_lock, &mutex, NULL, (void)0,
           result = k_mutex_lock(&mutex, TIMEOUT), result == -EAGAIN && mutex.owner == &thread);
    CHECK(k_thread_priority_get(&thread) == PRIORITY_ABOVE);
    k_thread_abort(&thread);
    k_mutex_init(&mutex);
}

/* Every tick takes long, so that there are fewer values of L than elsewhere. */
static bool few(unsigned before)
{
    return before <= 4 || before == 6 || before == 9 || before == TIMEOUTS_MAX;
}

void measure_timeouts(void)
{
    for (unsigned before = 0; before <= TIMEOUTS_MAX; before++) {
        if (!few(before))
            continue;
        for (unsigned waiting = 0; waiting <= WAITING_MAX; waiting++)
            FOR_CROWDS(crowd_of_waiting(waiting), ready, shape)
                if (swept_three(waiting, 0, WAITING_MAX, before, TIMEOUTS_MAX, ready)) {
                    const struct behind at = {waiting, before, 1, ready, shape};

                    measure_objects(&at);
                }
        for (unsigned waiting = 1; waiting <= WAITING_MAX; waiting++)
            FOR_CROWDS(CROWD_WAIT, ready, shape)
                if (swept_three(waiting, 1, WAITING_MAX, before, TIMEOUTS_MAX, ready)) {
                    const struct behind at = {waiting, before, 1, ready, shape};

                    measure_mutex_behind(&at);
                }
        FOR_CROWDS(CROWD_LEAVE, ready, shape)
            if (swept_ready(before, 0, TIMEOUTS_MAX, ready))
                measure_sleep(before, ready, shape);
        for (unsigned ready = 1; ready <= READY_COUNT_MAX; ready++)
            if (swept(before, 0, TIMEOUTS_MAX, ready, 1, READY_COUNT_MAX))
                measure_mutex_timeout(before, ready);
        for (unsigned count = 2; count <= 10; count++)
            FOR_CROWDS(CROWD_LEAVE, ready, shape)
                if (swept_three(count, 2, 10, before, TIMEOUTS_MAX, ready)) {
                    const struct behind at = {0, before, 1, ready, shape};

                    measure_poll_timeout(count, &at);
                }
        for (unsigned waiting = 1; waiting <= WAITING_MAX; waiting++)
            FOR_CROWDS(CROWD_WAIT, ready, shape)
                if (swept_three(waiting, 0, WAITING_MAX, before, TIMEOUTS_MAX, ready)) {
                    const struct behind at = {waiting, before, 1, ready, shape};

                    measure_poll_timeout(2, &at);
                    if (waiting == WAITING_MAX && (before == 0 || before == TIMEOUTS_MAX))
                        measure_poll_timeout(10, &at);
                }
    }
}
