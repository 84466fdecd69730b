/* Work: calls that wait, and work that waits for events. */
#include "helpers.h"
#include "other_timeouts.h"
#include "pipe_states.h"

#define STACK_BYTES (512 + STACK_EXTRA)
#define EVENTS_MAX 10u

static struct k_work_q queue;
static K_THREAD_STACK_DEFINE(queue_stack, STACK_BYTES);
static struct k_work works[CONFIG_WCET_LIST_LENGTH];
static struct k_work_delayable delayable;
static struct k_work_sync sync;
static struct k_work_poll polled;
static struct k_poll_event events[EVENTS_MAX], former_events[EVENTS_MAX];
static K_SEM_DEFINE(go_on, 0, K_SEM_MAX_LIMIT);
K_PIPE_DEFINE(nothing_pipe, 4, 4);
static struct k_pipe pipe;
static unsigned done;

static void handle(struct k_work *work)
{
    crowd_stop();
    done++;
}

/* Runs until it is let go on. */
static void handle_long(struct k_work *work)
{
    k_sem_take(&go_on, K_FOREVER);
}

static void let_go_on(void *unused)
{
    k_sem_give(&go_on);
}

/* The work runs and waits; N others are queued, and it is queued again behind them. */
static void measure_cancel(unsigned length, unsigned ready, unsigned shape)
{
    struct k_work *last = &works[length - 1];
    bool waited;

    for (unsigned i = 0; i + 1 < length; i++)
        k_work_init(&works[i], handle);
    k_work_init(last, handle_long);
    CHECK(k_work_submit_to_queue(&queue, last) == 1);
    settle();
    CHECK(k_work_busy_get(last) == K_WORK_RUNNING);
    for (unsigned i = 0; i < length; i++)
        CHECK(k_work_submit_to_queue(&queue, &works[i]) > 0);
    wake_with(let_go_on, NULL);
    crowd_start(CROWD_LEAVE, ready, shape, NULL);
    wcet_param(0, length);
    wcet_param(1, ready);
    MEASURE(SERVICE_K_WORK_CANCEL_SYNC, waited = k_work_cancel_sync(last, &sync));
    crowd_stop();
    wake_with(NULL, NULL);
    CHECK(waited && k_work_busy_get(last) == 0);
    settle();
    k_sem_reset(&go_on);
}

/* Not yet queued: it is queued at once, for the queue's thread, which goes behind R ready ones. */
static void measure_flush_delayable(unsigned ready, unsigned shape)
{
    bool waited;

    k_work_init_delayable(&delayable, handle);
    CHECK(k_work_schedule_for_queue(&queue, &delayable, K_TICKS(1000)) == 1);
    done = 0;
    k_thread_priority_set(&queue.thread, crowd_priority(CROWD_PASS, ready, shape));
    crowd_start(CROWD_PASS, ready, shape, NULL);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_WORK_FLUSH_DELAYABLE, waited = k_work_flush_delayable(&delayable, &sync));
    crowd_stop();
    CHECK(waited && done == 1 && (IS_ENABLED(CONFIG_SCHED_SCALABLE) || ready_runs == ready - 1));
    /* The queue's thread has to wait for work again. */
    settle();
    k_thread_priority_set(&queue.thread, PRIORITY_BELOW);
}

/* It runs and waits, and is to run again. */
static void measure_cancel_delayable(unsigned ready, unsigned shape)
{
    bool waited;

    k_work_init_delayable(&delayable, handle_long);
    CHECK(k_work_schedule_for_queue(&queue, &delayable, K_NO_WAIT) == 1);
    settle();
    CHECK(k_work_reschedule_for_queue(&queue, &delayable, K_TICKS(1000)) == 1);
    wake_with(let_go_on, NULL);
    crowd_start(CROWD_LEAVE, ready, shape, NULL);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_WORK_CANCEL_DELAYABLE_SYNC,
            waited = k_work_cancel_delayable_sync(&delayable, &sync));
    crowd_stop();
    wake_with(NULL, NULL);
    CHECK(waited && k_work_delayable_busy_get(&delayable) == 0);
    k_sem_reset(&go_on);
}

/* The queue's thread is ready and has one work item. */
static void measure_drain(unsigned ready, unsigned shape)
{
    int result;

    k_work_init(&works[0], handle);
    CHECK(k_work_submit_to_queue(&queue, &works[0]) == 1);
    crowd_start(CROWD_LEAVE, ready, shape, &queue.thread);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_WORK_QUEUE_DRAIN, result = k_work_queue_drain(&queue, true));
    crowd_stop();
    CHECK(result >= 0);
    MEASURE(SERVICE_K_WORK_QUEUE_UNPLUG, result = k_work_queue_unplug(&queue));
    CHECK(result == 0);
}

/* Not ready. */
static void init_events(struct k_poll_event *first, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        k_poll_event_init(&first[i], K_POLL_TYPE_PIPE_DATA_AVAILABLE, K_POLL_MODE_NOTIFY_ONLY,
                          &nothing_pipe);
}

static void measure_polled(unsigned count, unsigned before)
{
    int result;

    init_events(events, count);
    timeouts_start(before, AFTER_IT);
    MEASURE(SERVICE_K_WORK_POLL_INIT, k_work_poll_init(&polled, handle));
    wcet_param(0, count);
    wcet_param(1, before);
    MEASURE(SERVICE_K_WORK_POLL_SUBMIT,
            result = k_work_poll_submit_to_queue(&queue, &polled, events, (int)count,
                                                 K_TICKS(1000)));
    CHECK(result == 0);
    wcet_param(0, count);
    MEASURE(SERVICE_K_WORK_POLL_CANCEL, result = k_work_poll_cancel(&polled));
    CHECK(result == 0);
    timeouts_stop();
}

/* It waits for `former` events already. */
static void measure_polled_again(unsigned count, unsigned former, unsigned before)
{
    int result;

    k_work_poll_init(&polled, handle);
    init_events(former_events, former);
    init_events(events, count);
    CHECK(k_work_poll_submit_to_queue(&queue, &polled, former_events, (int)former, K_TICKS(1000)) == 0);
    timeouts_start(before, AFTER_IT);
    wcet_param(0, count);
    wcet_param(1, former);
    wcet_param(2, before);
    MEASURE(SERVICE_K_WORK_POLL_SUBMIT_AGAIN,
            result = k_work_poll_submit_to_queue(&queue, &polled, events, (int)count,
                                                 K_TICKS(1000)));
    CHECK(result == 0);
    timeouts_stop();
    CHECK(k_work_poll_cancel(&polled) == 0);
}

/* The work is queued at once, for the queue's thread: the last event is ready, in one of the ways that a pipe
 * has bytes; or none is and it does not wait. */
static void measure_polled_at_once(enum crowd kind, unsigned count, unsigned ready, unsigned shape,
                                   enum pipe_way way)
{
    int result;

    k_thread_priority_set(&queue.thread, crowd_priority(kind, ready, shape));
    settle();
    k_work_poll_init(&polled, handle);
    init_events(events, count);
    if (way < PIPE_WAYS) {
        pipe_with_data(&pipe, wcet_storage, way);
        events[count - 1].pipe = &pipe;
    }
    done = 0;
    crowd_start(kind, ready, shape, NULL);
    wcet_param(0, count);
    wcet_param(1, ready);
    if (way == PIPE_WAYS && kind == CROWD_LEAD)
        MEASURE(SERVICE_K_WORK_POLL_SUBMIT_NO_WAIT_SWITCH,
                result = k_work_poll_submit_to_queue(&queue, &polled, events, (int)count, K_NO_WAIT));
    else if (way == PIPE_WAYS)
        MEASURE(SERVICE_K_WORK_POLL_SUBMIT_NO_WAIT,
                result = k_work_poll_submit_to_queue(&queue, &polled, events, (int)count, K_NO_WAIT));
    else if (kind == CROWD_LEAD)
        MEASURE(SERVICE_K_WORK_POLL_SUBMIT_SWITCH,
                result = k_work_poll_submit_to_queue(&queue, &polled, events, (int)count,
                                                     K_TICKS(1000)));
    else
        MEASURE(SERVICE_K_WORK_POLL_SUBMIT_READY,
                result = k_work_poll_submit_to_queue(&queue, &polled, events, (int)count,
                                                     K_TICKS(1000)));
    crowd_stop();
    CHECK(result == 0 && done == (kind == CROWD_LEAD));
    settle();
    CHECK(done == 1 && (events[count - 1].state == K_POLL_STATE_PIPE_DATA_AVAILABLE) == (way < PIPE_WAYS));
}

static void measure_all_polled_at_once(enum crowd kind, unsigned ready, unsigned shape)
{
    for (unsigned count = 2; count <= EVENTS_MAX; count++)
        if (swept_ready(count, 2, EVENTS_MAX, ready))
            for (unsigned way = 0; way <= PIPE_WAYS; way++)
                measure_polled_at_once(kind, count, ready, shape, way);
}

/* The queue's thread is not more urgent than the caller. */
static void measure_start(unsigned ready, unsigned shape)
{
    static struct k_work_q started;
    static K_THREAD_STACK_DEFINE(stack, STACK_BYTES);
    const int priority = crowd_priority(CROWD_JOIN, ready, shape);

    MEASURE(SERVICE_K_WORK_QUEUE_INIT, k_work_queue_init(&started));
    crowd_start(CROWD_JOIN, ready, shape, NULL);
    wcet_param(0, ready);
    MEASURE(SERVICE_K_WORK_QUEUE_START,
            k_work_queue_start(&started, stack, STACK_BYTES, priority, NULL));
    crowd_stop();
    CHECK(k_thread_priority_get(&started.thread) == priority);
    k_thread_abort(&started.thread);
}

void measure_work_waits(void)
{
    FOR_CROWDS(CROWD_JOIN, ready, shape)
        measure_start(ready, shape);
    k_work_queue_init(&queue);
    k_work_queue_start(&queue, queue_stack, STACK_BYTES, PRIORITY_BELOW, NULL);
    settle();
    for (unsigned length = 1; length <= LENGTH_MAX; length++)
        FOR_CROWDS(CROWD_LEAVE, ready, shape)
            if (swept_ready(length, 1, LENGTH_MAX, ready))
                measure_cancel(length, ready, shape);
    FOR_CROWDS(CROWD_LEAVE, ready, shape) {
        measure_cancel_delayable(ready, shape);
        measure_drain(ready, shape);
    }
    FOR_CROWDS(CROWD_PASS, ready, shape)
        measure_flush_delayable(ready, shape);
    for (unsigned count = 2; count <= EVENTS_MAX; count++)
        for (unsigned before = 0; before <= TIMEOUTS_MAX; before++)
            if (swept(count, 2, EVENTS_MAX, before, 0, TIMEOUTS_MAX))
                measure_polled(count, before);
    for (unsigned count = 2; count <= EVENTS_MAX; count++)
        for (unsigned former = 2; former <= EVENTS_MAX; former++)
            if (swept(count, 2, EVENTS_MAX, former, 2, EVENTS_MAX)) {
                measure_polled_again(count, former, 0);
                measure_polled_again(count, former, TIMEOUTS_MAX);
            }
    for (unsigned before = 1; before < TIMEOUTS_MAX; before++) {
        measure_polled_again(2, 2, before);
        measure_polled_again(EVENTS_MAX, EVENTS_MAX, before);
    }
    FOR_CROWDS(CROWD_JOIN, ready, shape)
        measure_all_polled_at_once(CROWD_JOIN, ready, shape);
    FOR_CROWDS(CROWD_LEAD, ready, shape)
        measure_all_polled_at_once(CROWD_LEAD, ready, shape);
    k_thread_abort(&queue.thread);
}
