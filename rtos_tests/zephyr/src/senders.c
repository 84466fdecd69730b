/* Mailboxes and pipes where the caller waits, or wakes who waits. */
#include "behind.h"
#include "orders.h"
#include "other_timeouts.h"

#define TIMEOUT K_TICKS(1000)

static K_MBOX_DEFINE(mailbox);
static struct k_pipe pipe;
static struct k_mbox_msg sent, received, helper_message;
static size_t *const moved = (size_t *)&wcet_caller_data.words[16];

static void message(struct k_mbox_msg *to, unsigned size)
{
    *to = (struct k_mbox_msg){
        .size = size,
        .tx_data = wcet_caller_data.bytes,
        .tx_target_thread = K_ANY,
        .rx_source_thread = K_ANY,
    };
}

/* ---- the caller waits ------------------------------------------------------------------------- */

static void send(void *size)
{
    message(&sent, (unsigned)(uintptr_t)size);
    k_mbox_async_put(&mailbox, &sent, NULL);
}

static void receive(void *unused)
{
    message(&helper_message, BYTES_MAX);
    CHECK(k_mbox_get(&mailbox, &helper_message, NULL, K_NO_WAIT) == 0);
    k_mbox_data_get(&helper_message, NULL);
}

static void pipe_take(void *bytes)
{
    const size_t size = (size_t)(uintptr_t)bytes;
    size_t got;

    CHECK(k_pipe_get(&pipe, wcet_caller_data_2.bytes, size, &got, size, K_NO_WAIT) == 0);
}

/* Behind W receivers: the first messages are theirs. */
static void measure_get(unsigned size, const struct behind *at)
{
    int result;

    behind_start(at, order_mbox_get, &mailbox, NULL);
    message(&received, size);
    wake_with(send, (void *)(uintptr_t)size);
    wcet_param(0, size);
    behind_build(at, &mailbox.rx_msg_queue, 1);
    MEASURE(SERVICE_K_MBOX_GET_BLOCK,
            result = k_mbox_get(&mailbox, &received, wcet_caller_data_2.bytes, TIMEOUT));
    crowd_stop();
    wake_with(NULL, NULL);
    timeouts_stop();
    CHECK(result == 0 && received.size == size);
    behind_stop(at, false);
}

static void measure_pipe(unsigned size, unsigned before, unsigned ready, unsigned shape)
{
    int result;

    /* All bytes but one lie in the pipe's buffer when the call waits, on both sides of its end. */
    k_pipe_init(&pipe, wcet_storage, size);
    CHECK(k_pipe_put(&pipe, wcet_caller_data.bytes, 1, moved, 1, K_NO_WAIT) == 0);
    CHECK(k_pipe_get(&pipe, wcet_caller_data.bytes, 1, moved, 1, K_NO_WAIT) == 0);
    timeouts_start(before, AFTER_IT);
    wake_with(pipe_take, (void *)(uintptr_t)(size + 1));
    crowd_start(CROWD_LEAVE, ready, shape, NULL);
    wcet_param(0, size);
    wcet_param(1, before);
    wcet_param(2, ready);
    MEASURE(SERVICE_K_PIPE_PUT_BLOCK,
            result = k_pipe_put(&pipe, wcet_caller_data.bytes, size + 1, moved, size + 1, TIMEOUT));
    crowd_stop();
    wake_with(NULL, NULL);
    timeouts_stop();
    CHECK(result == 0 && *moved == size + 1);
}

/* Behind W senders. */
static void measure_put(const struct behind *at)
{
    int result;

    behind_start(at, order_mbox_put, &mailbox, NULL);
    message(&received, 4);
    wake_with(receive, NULL);
    behind_build(at, &mailbox.tx_msg_queue, 0);
    MEASURE(SERVICE_K_MBOX_PUT_BLOCK, result = k_mbox_put(&mailbox, &received, TIMEOUT));
    crowd_stop();
    wake_with(NULL, NULL);
    timeouts_stop();
    CHECK(result == 0);
    behind_stop(at, false);
}

/* ---- the caller wakes ------------------------------------------------------------------------- */

/* A message of the driver. */
static int get(void *object, void *argument)
{
    message(&helper_message, BYTES_MAX);
    helper_message.rx_source_thread = driver_thread;
    return k_mbox_get(object, &helper_message, NULL, K_TICKS(1000));
}

/* A sender waits until its message has been received. */
static int put_helper(void *object, void *argument)
{
    message(&helper_message, (unsigned)(uintptr_t)argument);
    return k_mbox_put(object, &helper_message, K_TICKS(1000));
}

static void take_message(unsigned size)
{
    message(&received, size);
    CHECK(k_mbox_get(&mailbox, &received, NULL, K_NO_WAIT) == 0);
}

/* The same with room for the message, which it takes at once: that wakes the sender. */
static int get_all(void *object, void *argument)
{
    struct k_mbox_msg own;

    message(&own, BYTES_MAX);
    own.rx_source_thread = argument;
    return k_mbox_get(object, &own, wcet_caller_data_2.bytes, K_TICKS(1000));
}

/* `others` receivers wait for a message of another thread, before the one that takes this one, and that wants
 * one of the caller. It goes behind R ready threads, of another priority and less urgent than the caller, who
 * waits then until the message was taken. The message is for that receiver, or for anybody. */
static void measure_put_waiter(unsigned others, unsigned ready, bool named)
{
    int result;

    helpers_start(others + 1, PRIORITY_BELOW + 1, 0);
    for (unsigned i = 0; i <= others; i++) {
        helper_order(i, get_all, &mailbox, i < others ? driver_passer : driver_thread);
        settle();
        CHECK(helper_busy(i));
    }
    message(&sent, 4);
    if (named)
        sent.tx_target_thread = helper_thread(others);
    ready_start_once(ready - 1, PRIORITY_BELOW);
    wcet_param(0, others);
    wcet_param(1, ready);
    MEASURE(SERVICE_K_MBOX_PUT_WAITER, result = k_mbox_put(&mailbox, &sent, TIMEOUT));
    CHECK(result == 0 && ready_runs == ready - 1);
    ready_stop();
    settle();
    CHECK(!helper_busy(others) && helper_result(others) == 0);
    for (unsigned i = 0; i < others; i++)
        CHECK(helper_busy(i));
    helpers_stop();
}

#define MEASURE_SENDER(kind, service)                                                              \
    do {                                                                                           \
        helpers_start(1, crowd_priority(kind, ready, shape), 0);                                   \
        helpers_wait(1, put_helper, &mailbox, (void *)(uintptr_t)size);                            \
        take_message(size);                                                                        \
        CHECK(helper_busy(0));                                                                     \
        crowd_start(kind, ready, shape, NULL);                                                     \
        wcet_param(0, size);                                                                       \
        wcet_param(1, ready);                                                                      \
        MEASURE(service, k_mbox_data_get(&received, wcet_caller_data_2.bytes));                    \
        crowd_stop();                                                                              \
        CHECK(helper_busy(0) == (kind == CROWD_JOIN));                                             \
        helpers_woken(1, 0);                                                                       \
        helpers_stop();                                                                            \
    } while (0)

static void measure_wakes(void)
{
    FOR_CROWDS(CROWD_JOIN, ready, shape) {
        message(&sent, 4);
        sent.tx_target_thread = helper_thread(0);
        MEASURE_WAITER(SERVICE_K_MBOX_ASYNC_PUT_WAITER, 0, ready, shape, get, &mailbox, NULL,
                       k_mbox_async_put(&mailbox, &sent, NULL), 0);
        k_mbox_data_get(&helper_message, NULL);
        for (unsigned size = 1; size <= BYTES_MAX; size++)
            if (swept_ready(size, 1, BYTES_MAX, ready))
                MEASURE_SENDER(CROWD_JOIN, SERVICE_K_MBOX_DATA_GET_WAITER);
    }
    FOR_CROWDS(CROWD_LEAD, ready, shape) {
        message(&sent, 4);
        sent.tx_target_thread = helper_thread(0);
        MEASURE_SWITCH(SERVICE_K_MBOX_ASYNC_PUT_SWITCH, 0, ready, shape, get, &mailbox, NULL,
                       k_mbox_async_put(&mailbox, &sent, NULL), 0);
        k_mbox_data_get(&helper_message, NULL);
        for (unsigned size = 1; size <= BYTES_MAX; size++)
            if (swept_ready(size, 1, BYTES_MAX, ready))
                MEASURE_SENDER(CROWD_LEAD, SERVICE_K_MBOX_DATA_GET_SWITCH);
    }
}

void measure_senders(void)
{
    for (unsigned size = 2; size <= BYTES_MAX; size++)
        for (unsigned before = 0; before <= TIMEOUTS_MAX; before++)
            FOR_CROWDS(CROWD_LEAVE, ready, shape)
                if (swept_three(size, 2, BYTES_MAX, before, TIMEOUTS_MAX, ready)) {
                    const struct behind at = {0, before, AFTER_IT, ready, shape};

                    measure_get(size, &at);
                    measure_pipe(size, before, ready, shape);
                }
    for (unsigned waiting = 0; waiting <= WAITING_MAX; waiting++)
        for (unsigned before = 0; before <= TIMEOUTS_MAX; before++)
            FOR_CROWDS(crowd_of_waiting(waiting), ready, shape)
                if (swept_three(waiting, 0, WAITING_MAX, before, TIMEOUTS_MAX, ready)) {
                    const struct behind at = {waiting, before, AFTER_IT, ready, shape};

                    measure_put(&at);
                    if (waiting > 0)
                        measure_get(2, &at);
                    if (waiting == WAITING_MAX && (before == 0 || before == TIMEOUTS_MAX))
                        measure_get(BYTES_MAX, &at);
                }
    measure_wakes();
    for (unsigned others = 0; others < WAITING_MAX; others++)
        for (unsigned ready = 1; ready <= READY_COUNT_MAX; ready++)
            if (swept(others, 0, WAITING_MAX - 1, ready, 1, READY_COUNT_MAX))
                for (unsigned named = 0; named < 2; named++)
                    measure_put_waiter(others, ready, named);
}
