/* Mailboxes. Messages are sent asynchronously, so that the caller does not wait. */
#include "helpers.h"

#define MESSAGES_MAX 8u

static K_MBOX_DEFINE(mailbox);
static struct k_mbox_msg sent, received;
static struct k_mbox_msg helper_message;

static void message(struct k_mbox_msg *to, unsigned size, k_tid_t target)
{
    *to = (struct k_mbox_msg){
        .size = size,
        .tx_data = wcet_caller_data.bytes,
        .tx_target_thread = target,
        .rx_source_thread = K_ANY,
    };
}

static int put_for_driver(void *object, void *size)
{
    message(&helper_message, (unsigned)(uintptr_t)size, driver_thread);
    k_mbox_async_put(object, &helper_message, NULL);
    return 0;
}

/* All messages are for the caller, who wants one of another thread than those of the first `others`, with room
 * for more than it has. */
static void measure_get(unsigned size, unsigned others)
{
    int result;

    for (unsigned i = 0; i < others; i++) {
        message(&sent, 0, driver_thread);
        k_mbox_async_put(&mailbox, &sent, NULL);
    }
    helper_order(0, put_for_driver, &mailbox, (void *)(uintptr_t)size);
    settle();
    CHECK(!helper_busy(0));
    message(&received, size + 1, K_ANY);
    received.rx_source_thread = helper_thread(0);
    wcet_param(0, size);
    wcet_param(1, others);
    MEASURE(SERVICE_K_MBOX_GET,
            result = k_mbox_get(&mailbox, &received, wcet_caller_data_2.bytes, K_NO_WAIT));
    CHECK(result == 0 && received.size == size);
    wcet_param(0, others);
    MEASURE(SERVICE_K_MBOX_GET_FAIL,
            result = k_mbox_get(&mailbox, &received, wcet_caller_data_2.bytes, K_NO_WAIT));
    CHECK(result == -ENOMSG);
    for (unsigned i = 0; i < others; i++) {
        message(&received, 0, K_ANY);
        CHECK(k_mbox_get(&mailbox, &received, NULL, K_NO_WAIT) == 0);
    }
}

void measure_mailboxes(void)
{
    int result;

    MEASURE(SERVICE_K_MBOX_INIT, k_mbox_init(&mailbox));

    FOR_CROWDS(CROWD_BEST, ready, shape) {
        message(&sent, 4, K_ANY);
        crowd_start(CROWD_BEST, ready, shape, NULL);
        wcet_param(0, ready);
        MEASURE(SERVICE_K_MBOX_ASYNC_PUT, k_mbox_async_put(&mailbox, &sent, NULL));
        crowd_stop();
        message(&received, 4, K_ANY);
        result = k_mbox_get(&mailbox, &received, NULL, K_NO_WAIT);
        CHECK(result == 0);
        MEASURE(SERVICE_K_MBOX_DATA_DISCARD, k_mbox_data_get(&received, NULL));
    }

    for (unsigned size = 1; size <= BYTES_MAX; size++) {
        message(&sent, size, K_ANY);
        k_mbox_async_put(&mailbox, &sent, NULL);
        message(&received, size, K_ANY);
        CHECK(k_mbox_get(&mailbox, &received, NULL, K_NO_WAIT) == 0);
        wcet_param(0, size);
        MEASURE(SERVICE_K_MBOX_DATA_GET, k_mbox_data_get(&received, wcet_caller_data_2.bytes));
    }

    /* Its messages come behind the driver's. */
    helpers_start(1, PRIORITY_BELOW, 0);
    for (unsigned size = 1; size <= BYTES_MAX; size++)
        for (unsigned others = 0; others <= MESSAGES_MAX; others++)
            if (swept(size, 1, BYTES_MAX, others, 0, MESSAGES_MAX))
                measure_get(size, others);
    helpers_stop();
}
