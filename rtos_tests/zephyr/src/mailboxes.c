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

static int get(void *object, void *argument)
{
    message(&helper_message, BYTES_MAX, K_ANY);
    return k_mbox_get(object, &helper_message, NULL, K_TICKS(1000));
}

/* `others` messages for another thread lie before the one that is wanted. */
static void measure_get(unsigned size, unsigned others)
{
    int result;

    for (unsigned i = 0; i < others; i++) {
        message(&sent, 0, helper_thread(0));
        k_mbox_async_put(&mailbox, &sent, NULL);
    }
    message(&sent, size, K_ANY);
    k_mbox_async_put(&mailbox, &sent, NULL);
    message(&received, size, K_ANY);
    wcet_param(0, size);
    wcet_param(1, others);
    MEASURE(SERVICE_K_MBOX_GET,
            result = k_mbox_get(&mailbox, &received, wcet_caller_data_2.bytes, K_NO_WAIT));
    CHECK(result == 0 && received.size == size);
    for (unsigned i = 0; i < others; i++) {
        helper_order(0, get, &mailbox, NULL);
        settle();
        CHECK(!helper_busy(0) && helper_result(0) == 0);
        k_mbox_data_get(&helper_message, NULL);
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

    helpers_start(1, PRIORITY_ABOVE, 0);
    for (unsigned size = 1; size <= BYTES_MAX; size++)
        for (unsigned others = 0; others <= MESSAGES_MAX; others++)
            if (swept(size, 1, BYTES_MAX, others, 0, MESSAGES_MAX))
                measure_get(size, others);
    helpers_stop();
}
