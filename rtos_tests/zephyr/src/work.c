/* Work items and delayable work. The work queue's thread is less urgent than the driver. */
#include "helpers.h"
#include "other_timeouts.h"

#define STACK_BYTES (512 + STACK_EXTRA)

static struct k_work_q queue, urgent_queue;
static K_THREAD_STACK_DEFINE(queue_stack, STACK_BYTES);
static K_THREAD_STACK_DEFINE(urgent_stack, STACK_BYTES);
static struct k_work works[CONFIG_WCET_LIST_LENGTH];
static struct k_work_delayable delayable;
static unsigned done;

static void handle(struct k_work *work)
{
    done++;
}

static bool again;

static void submits_itself(struct k_work *work)
{
    int result;

    if (!again)
        return;
    again = false;
    MEASURE(SERVICE_K_WORK_SUBMIT_RUNNING, result = k_work_submit_to_queue(&queue, work));
    CHECK(result == 2);
}

static void measure_items(void)
{
    int result;

    MEASURE(SERVICE_K_WORK_INIT, k_work_init(&works[0], handle));
    for (unsigned i = 1; i < LENGTH_MAX; i++)
        k_work_init(&works[i], handle);

    /* The queue's thread waits for work, and goes behind R ready ones. */
    FOR_CROWDS(CROWD_JOIN, ready, shape) {
        k_thread_priority_set(&queue.thread, crowd_priority(CROWD_JOIN, ready, shape));
        settle();
        crowd_start(CROWD_JOIN, ready, shape, NULL);
        wcet_param(0, ready);
        MEASURE(SERVICE_K_WORK_SUBMIT_WAITER, result = k_work_submit_to_queue(&queue, &works[0]));
        CHECK(result == 1);
        crowd_stop();
        done = 0;
        settle();
        CHECK(done == 1);
    }
    k_thread_priority_set(&queue.thread, PRIORITY_BELOW);
    FOR_CROWDS(CROWD_LEAD, ready, shape) {
        done = 0;
        crowd_start(CROWD_LEAD, ready, shape, NULL);
        wcet_param(0, ready);
        MEASURE(SERVICE_K_WORK_SUBMIT_SWITCH,
                result = k_work_submit_to_queue(&urgent_queue, &works[0]));
        crowd_stop();
        CHECK(result == 1 && done == 1);
    }

    /* The queue has work already, so that its thread is ready. */
    CHECK(k_work_submit_to_queue(&queue, &works[0]) == 1);
    MEASURE(SERVICE_K_WORK_SUBMIT, result = k_work_submit_to_queue(&queue, &works[1]));
    CHECK(result == 1);
    /* By its own handler, behind others; while the queue is drained and closed to others, or not: the greatest
     * of each count is published. */
    k_work_init(&works[2], submits_itself);
    for (unsigned drained = 0; drained < 2; drained++) {
        again = true;
        CHECK(k_work_submit_to_queue(&queue, &works[2]) > 0);
        CHECK(k_work_submit_to_queue(&queue, &works[3]) == 1);
        if (drained == 0)
            settle();
        else
            CHECK(k_work_queue_drain(&queue, true) > 0 && k_work_queue_unplug(&queue) == 0);
        CHECK(!again);
    }
    k_work_init(&works[2], handle);
    CHECK(k_work_submit_to_queue(&queue, &works[0]) == 1);
    CHECK(k_work_submit_to_queue(&queue, &works[1]) == 1);
    MEASURE(SERVICE_K_WORK_SUBMIT_AGAIN, result = k_work_submit_to_queue(&queue, &works[1]));
    CHECK(result == 0);
    MEASURE(SERVICE_K_WORK_BUSY_GET, result = k_work_busy_get(&works[1]));
    CHECK(result == K_WORK_QUEUED);
    settle();

    for (unsigned length = 1; length <= LENGTH_MAX; length++) {
        for (unsigned i = 0; i < length; i++)
            CHECK(k_work_submit_to_queue(&queue, &works[i]) == 1);
        wcet_param(0, length);
        MEASURE(SERVICE_K_WORK_CANCEL, result = k_work_cancel(&works[length - 1]));
        CHECK(result == 0);
        settle();
    }
}

static void measure_delayable(void)
{
    int result;

    MEASURE(SERVICE_K_WORK_INIT_DELAYABLE, k_work_init_delayable(&delayable, handle));
    for (unsigned count = 0; count <= TIMEOUTS_MAX; count++) {
        timeouts_start(count, AFTER_IT);
        wcet_param(0, count);
        MEASURE(SERVICE_K_WORK_SCHEDULE,
                result = k_work_schedule_for_queue(&queue, &delayable, K_TICKS(1000)));
        CHECK(result == 1);
        wcet_param(0, count);
        MEASURE(SERVICE_K_WORK_RESCHEDULE,
                result = k_work_reschedule_for_queue(&queue, &delayable, K_TICKS(1000)));
        CHECK(result == 1);
        if (count == 0) {
            MEASURE(SERVICE_K_WORK_DELAYABLE_BUSY_GET,
                    result = k_work_delayable_busy_get(&delayable));
            CHECK(result == K_WORK_DELAYED);
        }
        MEASURE(SERVICE_K_WORK_CANCEL_DELAYABLE, result = k_work_cancel_delayable(&delayable));
        CHECK(result == 0);
        timeouts_stop();
    }
}

/* The application's part of an item. */
static void does_nothing(struct k_work *work)
{
}

/* All items wait when the queue's thread is switched to; nobody flushes or cancels them. */
static void measure_queue_thread(unsigned items)
{
    for (unsigned i = 0; i < items; i++) {
        k_work_init(&works[i], does_nothing);
        CHECK(k_work_submit_to_queue(&queue, &works[i]) == 1);
    }
    wcet_param(0, items);
    MEASURE(SERVICE_WORK_QUEUE_ITEMS, settle());
    CHECK(k_work_busy_get(&works[items - 1]) == 0);
}

void measure_work(void)
{
    k_work_queue_init(&queue);
    k_work_queue_start(&queue, queue_stack, STACK_BYTES, PRIORITY_BELOW, NULL);
    k_work_queue_init(&urgent_queue);
    k_work_queue_start(&urgent_queue, urgent_stack, STACK_BYTES, PRIORITY_ABOVE, NULL);
    settle();
    measure_items();
    measure_delayable();
    for (unsigned items = 1; items <= LENGTH_MAX; items++)
        measure_queue_thread(items);
    k_thread_abort(&queue.thread);
    k_thread_abort(&urgent_queue.thread);
}
