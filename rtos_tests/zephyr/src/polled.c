/* Objects that somebody polls: the call that makes the event come wakes that thread, or submits the work that
 * waits for it. */
#include "helpers.h"
#include "pipe_states.h"

#define STACK_BYTES (512 + STACK_EXTRA)
#define PIPE_BYTES 64
#define EVENTS_MAX 2u
#define POLLERS_MAX 8u

static K_SEM_DEFINE(semaphore, 0, 1);
static K_QUEUE_DEFINE(queue);
static struct k_msgq messages;
static struct k_pipe pipe;
static struct k_poll_signal signal;
static struct k_poll_event events[EVENTS_MAX];
static struct k_poll_event helpers_events[HELPERS_MAX];
static struct k_work_q work_queue;
static K_THREAD_STACK_DEFINE(work_stack, STACK_BYTES);
static struct k_work_poll triggered;
static unsigned done;

/* Each thread has an event of its own; those that poll alone use the first one. */
static int poll(struct k_poll_event *event, uint32_t type, void *object)
{
    k_poll_event_init(event, type, K_POLL_MODE_NOTIFY_ONLY, object);
    return k_poll(event, 1, K_TICKS(1000));
}

static int poll_semaphore(void *object, void *argument)
{
    return poll(&helpers_events[0], K_POLL_TYPE_SEM_AVAILABLE, object);
}

static int poll_queue(void *object, void *argument)
{
    return poll(argument == NULL ? &helpers_events[0] : argument, K_POLL_TYPE_DATA_AVAILABLE, object);
}

static int poll_messages(void *object, void *argument)
{
    return poll(&helpers_events[0], K_POLL_TYPE_MSGQ_DATA_AVAILABLE, object);
}

static int poll_pipe(void *object, void *argument)
{
    return poll(argument == NULL ? &helpers_events[0] : argument, K_POLL_TYPE_PIPE_DATA_AVAILABLE,
                object);
}

/* Two threads poll the queue; the first one has been woken by the element that lies in it. */
static void measure_append(enum crowd kind, unsigned ready, unsigned shape)
{
    helpers_start(2, crowd_priority(kind, ready, shape), 0);
    for (unsigned i = 0; i < 2; i++) {
        helper_order(i, poll_queue, &queue, &helpers_events[i]);
        settle();
    }
    k_queue_append(&queue, &wcet_caller_data.words[1]);
    settle();
    CHECK(!helper_busy(0) && helper_busy(1));
    crowd_start(kind, ready, shape, NULL);
    wcet_param(0, ready);
    if (kind == CROWD_LEAD)
        MEASURE(SERVICE_K_QUEUE_APPEND_POLLER_SWITCH, k_queue_append(&queue, wcet_caller_data.words));
    else
        MEASURE(SERVICE_K_QUEUE_APPEND_POLLER, k_queue_append(&queue, wcet_caller_data.words));
    crowd_stop();
    CHECK(helper_busy(1) == (kind == CROWD_JOIN));
    helpers_woken(2, 0);
    helpers_stop();
    for (unsigned i = 0; i < 2; i++)
        CHECK(k_queue_get(&queue, K_NO_WAIT) != NULL);
    CHECK(k_queue_is_empty(&queue));
}

static void measure_semaphores_and_queues(void)
{
    FOR_CROWDS(CROWD_LEAD, ready, shape) {
        MEASURE_SWITCH(SERVICE_K_SEM_GIVE_POLLER_SWITCH, 0, ready, shape, poll_semaphore, &semaphore,
                       NULL, k_sem_give(&semaphore), 0);
        CHECK(k_sem_take(&semaphore, K_NO_WAIT) == 0);
        measure_append(CROWD_LEAD, ready, shape);
    }
    FOR_CROWDS(CROWD_JOIN, ready, shape) {
        measure_append(CROWD_JOIN, ready, shape);
    }
    MEASURE_WAKE(SERVICE_K_SEM_RESET_POLLER, SERVICE_K_SEM_RESET_POLLER_SWITCH, poll_semaphore,
                 &semaphore, NULL, k_sem_reset(&semaphore), 0);
    MEASURE_WAKE(SERVICE_K_QUEUE_CANCEL_WAIT_POLLER, SERVICE_K_QUEUE_CANCEL_WAIT_POLLER_SWITCH,
                 poll_queue, &queue, NULL, k_queue_cancel_wait(&queue), -EINTR);
}

/* One byte before the end of its buffer. */
static void empty_pipe(void)
{
    size_t moved;

    k_pipe_init(&pipe, wcet_storage, PIPE_BYTES);
    CHECK(k_pipe_put(&pipe, wcet_caller_data.bytes, PIPE_BYTES - 1, &moved, PIPE_BYTES - 1,
                     K_NO_WAIT) == 0);
    k_pipe_buffer_flush(&pipe);
    CHECK(k_pipe_read_avail(&pipe) == 0);
}

/* Neither asks for a switch, however urgent who polls it is. */
static void measure_bytes(unsigned size, unsigned ready, unsigned shape)
{
    size_t *moved = (size_t *)&wcet_caller_data_2;
    int result;

    k_msgq_init(&messages, (char *)wcet_storage, size, 1);
    wcet_param(0, size);
    MEASURE_WAITER(SERVICE_K_MSGQ_PUT_POLLER, 1, ready, shape, poll_messages, &messages, NULL,
                   result = k_msgq_put(&messages, wcet_caller_data.bytes, K_NO_WAIT), 0);
    CHECK(result == 0 && k_msgq_num_used_get(&messages) == 1);
    if (size < 2)
        return;
    empty_pipe();
    wcet_param(0, size);
    MEASURE_WAITER(SERVICE_K_PIPE_PUT_POLLER, 1, ready, shape, poll_pipe, &pipe, NULL,
                   result = k_pipe_put(&pipe, wcet_caller_data.bytes, size, moved, size, K_NO_WAIT),
                   0);
    CHECK(result == 0 && *moved == size && k_pipe_read_avail(&pipe) == size);
}

/* Others that are as urgent as the caller poll the pipe already: the caller's events go behind theirs. */
static void measure_behind(unsigned others)
{
    const unsigned count = 2;
    static struct k_pipe ready_pipe;
    size_t moved;
    int result;

    empty_pipe();
    helpers_start(others, PRIORITY_DRIVER, 0);
    for (unsigned i = 0; i < others; i++)
        helper_order(i, poll_pipe, &pipe, &helpers_events[i]);
    settle();
    for (unsigned i = 0; i < count; i++)
        k_poll_event_init(&events[i], K_POLL_TYPE_PIPE_DATA_AVAILABLE, K_POLL_MODE_NOTIFY_ONLY, &pipe);
    events[count - 1].pipe = &ready_pipe;
    for (unsigned way = 0; way < PIPE_WAYS; way++) {
        pipe_with_data(&ready_pipe, wcet_storage + PIPE_BYTES, way);
        events[count - 1].state = K_POLL_STATE_NOT_READY;
        wcet_param(0, others);
        MEASURE(SERVICE_K_POLL_BEHIND, result = k_poll(events, (int)count, K_FOREVER));
        CHECK(result == 0 && events[count - 1].state == K_POLL_STATE_PIPE_DATA_AVAILABLE);
    }
    /* Each byte wakes the next one; a thread that is ended while it polls would leave its event behind. */
    for (unsigned i = 0; i < others; i++) {
        CHECK(helper_busy(i));
        CHECK(k_pipe_put(&pipe, wcet_caller_data.bytes, 1, &moved, 1, K_NO_WAIT) == 0);
    }
    helpers_woken(others, 0);
    helpers_stop();
}

static void handle(struct k_work *work)
{
    done++;
}

/* The thread of the work queue waits for work. */
static void measure_triggered(enum crowd kind, unsigned ready, unsigned shape)
{
    int result;

    k_thread_priority_set(&work_queue.thread, crowd_priority(kind, ready, shape));
    settle();
    k_work_poll_init(&triggered, handle);
    k_poll_event_init(&events[0], K_POLL_TYPE_SIGNAL, K_POLL_MODE_NOTIFY_ONLY, &signal);
    CHECK(k_work_poll_submit_to_queue(&work_queue, &triggered, events, 1, K_TICKS(1000)) == 0);
    done = 0;
    crowd_start(kind, ready, shape, NULL);
    wcet_param(0, ready);
    if (kind == CROWD_LEAD)
        MEASURE(SERVICE_K_POLL_SIGNAL_RAISE_WORK_SWITCH, result = k_poll_signal_raise(&signal, 1));
    else
        MEASURE(SERVICE_K_POLL_SIGNAL_RAISE_WORK, result = k_poll_signal_raise(&signal, 1));
    crowd_stop();
    CHECK(result == 0 && done == (kind == CROWD_LEAD));
    settle();
    CHECK(done == 1);
    k_poll_signal_reset(&signal);
}

void measure_polled_objects(void)
{
    k_poll_signal_init(&signal);
    measure_semaphores_and_queues();
    for (unsigned size = 1; size <= BYTES_MAX; size++)
        FOR_CROWDS(CROWD_JOIN, ready, shape)
            if (swept_ready(size, 1, BYTES_MAX, ready))
                measure_bytes(size, ready, shape);
    for (unsigned others = 0; others <= POLLERS_MAX; others++)
        measure_behind(others);

    k_work_queue_init(&work_queue);
    k_work_queue_start(&work_queue, work_stack, STACK_BYTES, PRIORITY_BELOW, NULL);
    FOR_CROWDS(CROWD_JOIN, ready, shape)
        measure_triggered(CROWD_JOIN, ready, shape);
    FOR_CROWDS(CROWD_LEAD, ready, shape)
        measure_triggered(CROWD_LEAD, ready, shape);
    k_thread_abort(&work_queue.thread);
}
