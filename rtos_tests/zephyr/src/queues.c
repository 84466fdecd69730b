/* Queues, and what is built of them: k_fifo_put is k_queue_append, k_lifo_put is k_queue_prepend,
 * and k_fifo_get and k_lifo_get are k_queue_get. */
#include "helpers.h"

static K_QUEUE_DEFINE(queue);

/* Element i; its first word is the kernel's. */
static void *element(unsigned i)
{
    return &wcet_caller_data.words[i];
}

static int get(void *object, void *argument)
{
    return k_queue_get(object, K_TICKS(1000)) != NULL;
}

static void fill(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        k_queue_append(&queue, element(i));
}

static void drain(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        CHECK(k_queue_get(&queue, K_NO_WAIT) != NULL);
    CHECK(k_queue_is_empty(&queue));
}

/* A list of `count` elements as k_queue_append_list takes it. */
static void link_elements(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        wcet_caller_data.pointers[i] = i + 1 < count ? element(i + 1) : NULL;
}

/* One element more than threads wait. */
static void measure_list_waiters(unsigned waiting, unsigned others, bool urgent)
{
    int result;

    sleepers_start(waiting, PRIORITY_STEP, urgent);
    helpers_wait(waiting, get, &queue, NULL);
    ready_start(others, PRIORITY_OTHERS);
    link_elements(waiting + 1);
    wcet_param(0, waiting - urgent);
    wcet_param(1, others + 1);
    if (urgent)
        MEASURE(SERVICE_K_QUEUE_APPEND_LIST_WAITERS_SWITCH,
                result = k_queue_append_list(&queue, element(0), element(waiting)));
    else
        MEASURE(SERVICE_K_QUEUE_APPEND_LIST_WAITERS,
                result = k_queue_append_list(&queue, element(0), element(waiting)));
    sleepers_after(waiting, urgent);
    ready_stop();
    CHECK(result == 0);
    helpers_woken(waiting, true);
    helpers_stop();
    drain(1);
}

static void measure_lists(void)
{
    bool found;
    int result;

    for (unsigned length = 1; length <= LENGTH_MAX; length++) {
        fill(length);
        wcet_param(0, length);
        MEASURE(SERVICE_K_QUEUE_REMOVE, found = k_queue_remove(&queue, element(length - 1)));
        CHECK(found);
        drain(length - 1);
        fill(length);
        wcet_param(0, length);
        MEASURE(SERVICE_K_QUEUE_UNIQUE_APPEND,
                found = k_queue_unique_append(&queue, element(length)));
        CHECK(found);
        drain(length + 1);
    }
    fill(1);
    link_elements(3);
    MEASURE(SERVICE_K_QUEUE_APPEND_LIST,
            result = k_queue_append_list(&queue, element(0), element(2)));
    CHECK(result == 0);
    z_impl_k_queue_init(&queue);
    {
        sys_slist_t *list = (sys_slist_t *)&wcet_caller_data_2;

        fill(1);
        sys_slist_init(list);
        sys_slist_append(list, element(2));
        sys_slist_append(list, element(4));
        MEASURE(SERVICE_K_QUEUE_MERGE_SLIST, result = k_queue_merge_slist(&queue, list));
        CHECK(result == 0 && sys_slist_is_empty(list));
        drain(3);
    }
    for (unsigned waiting = 1; waiting <= WAITING_MAX; waiting++)
        for (unsigned others = 0; others <= READY_MAX; others++)
            if (swept(waiting, 1, WAITING_MAX, others, 0, READY_MAX)) {
                measure_list_waiters(waiting, others, false);
                measure_list_waiters(waiting, others, true);
            }
}

void measure_queues(void)
{
    void *got;

    MEASURE(SERVICE_K_QUEUE_INIT, k_queue_init(&queue));
    /* The only element is the last one as well. */
    MEASURE(SERVICE_K_QUEUE_PREPEND, k_queue_prepend(&queue, element(0)));
    CHECK(k_queue_peek_head(&queue) == element(0) && k_queue_peek_tail(&queue) == element(0));
    MEASURE(SERVICE_K_QUEUE_APPEND, k_queue_append(&queue, element(1)));
    CHECK(k_queue_peek_tail(&queue) == element(1));
    /* Behind the last one. */
    MEASURE(SERVICE_K_QUEUE_INSERT, k_queue_insert(&queue, element(1), element(2)));
    CHECK(k_queue_peek_tail(&queue) == element(2));
    for (unsigned i = 0; i < 2; i++)
        CHECK(k_queue_get(&queue, K_NO_WAIT) != NULL);
    /* The last element, so that the tail has to be set. */
    MEASURE(SERVICE_K_QUEUE_GET, got = k_queue_get(&queue, K_NO_WAIT));
    CHECK(got == element(2) && k_queue_is_empty(&queue));
    MEASURE_WAKE(SERVICE_K_QUEUE_APPEND_WAITER, SERVICE_K_QUEUE_APPEND_SWITCH, get, &queue, NULL,
                 k_queue_append(&queue, element(0)), true);
    MEASURE_WAKE(SERVICE_K_QUEUE_CANCEL_WAIT, SERVICE_K_QUEUE_CANCEL_WAIT_SWITCH, get, &queue, NULL,
                 k_queue_cancel_wait(&queue), false);
    measure_lists();
}
