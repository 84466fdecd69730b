/* Message queues. A queue has room for one message, so that its positions always wrap around. */
#include "helpers.h"

static struct k_msgq queue;

static int get(void *object, void *argument)
{
    return k_msgq_get(object, wcet_caller_data_2.bytes, K_TICKS(1000));
}

static int put(void *object, void *argument)
{
    return k_msgq_put(object, wcet_caller_data_2.bytes, K_TICKS(1000));
}

static void measure_alone(unsigned size)
{
    int result;

    k_msgq_init(&queue, (char *)wcet_storage, size, 1);
    wcet_param(0, size);
    MEASURE(SERVICE_K_MSGQ_PUT, result = k_msgq_put(&queue, wcet_caller_data.bytes, K_NO_WAIT));
    CHECK(result == 0 && k_msgq_num_used_get(&queue) == 1);
    wcet_param(0, size);
    MEASURE(SERVICE_K_MSGQ_PEEK, result = k_msgq_peek(&queue, wcet_caller_data.bytes));
    CHECK(result == 0);
    wcet_param(0, size);
    MEASURE(SERVICE_K_MSGQ_GET, result = k_msgq_get(&queue, wcet_caller_data.bytes, K_NO_WAIT));
    CHECK(result == 0 && k_msgq_num_used_get(&queue) == 0);

    /* The message lies behind the end of the buffer, at its beginning again. */
    k_msgq_init(&queue, (char *)wcet_storage, size, 2);
    for (unsigned i = 0; i < 2; i++)
        CHECK(k_msgq_put(&queue, wcet_caller_data.bytes, K_NO_WAIT) == 0);
    CHECK(k_msgq_get(&queue, wcet_caller_data.bytes, K_NO_WAIT) == 0);
    CHECK(k_msgq_put(&queue, wcet_caller_data.bytes, K_NO_WAIT) == 0);
    wcet_param(0, size);
    MEASURE(SERVICE_K_MSGQ_PEEK_AT, result = k_msgq_peek_at(&queue, wcet_caller_data.bytes, 1));
    CHECK(result == 0);
}

static void measure_waiter(unsigned size, unsigned ready, unsigned shape)
{
    int result;

    k_msgq_init(&queue, (char *)wcet_storage, size, 1);
    wcet_param(0, size);
    MEASURE_WAITER(SERVICE_K_MSGQ_PUT_WAITER, 1, ready, shape, get, &queue, NULL,
                   result = k_msgq_put(&queue, wcet_caller_data.bytes, K_NO_WAIT), 0);
    CHECK(result == 0 && k_msgq_num_used_get(&queue) == 0);
    CHECK(k_msgq_put(&queue, wcet_caller_data.bytes, K_NO_WAIT) == 0);
    wcet_param(0, size);
    MEASURE_WAITER(SERVICE_K_MSGQ_GET_WAITER, 1, ready, shape, put, &queue, NULL,
                   result = k_msgq_get(&queue, wcet_caller_data.bytes, K_NO_WAIT), 0);
    CHECK(result == 0 && k_msgq_num_used_get(&queue) == 1);
}

static void measure_switch(unsigned size, unsigned ready, unsigned shape)
{
    int result;

    k_msgq_init(&queue, (char *)wcet_storage, size, 1);
    wcet_param(0, size);
    MEASURE_SWITCH(SERVICE_K_MSGQ_PUT_SWITCH, 1, ready, shape, get, &queue, NULL,
                   result = k_msgq_put(&queue, wcet_caller_data.bytes, K_NO_WAIT), 0);
    CHECK(result == 0);
    CHECK(k_msgq_put(&queue, wcet_caller_data.bytes, K_NO_WAIT) == 0);
    wcet_param(0, size);
    MEASURE_SWITCH(SERVICE_K_MSGQ_GET_SWITCH, 1, ready, shape, put, &queue, NULL,
                   result = k_msgq_get(&queue, wcet_caller_data.bytes, K_NO_WAIT), 0);
    CHECK(result == 0);
}

void measure_msgqs(void)
{
    struct k_msgq_attrs *attributes = (struct k_msgq_attrs *)&wcet_caller_data;

    MEASURE(SERVICE_K_MSGQ_INIT, k_msgq_init(&queue, (char *)wcet_storage, 4, 1));
    MEASURE(SERVICE_K_MSGQ_GET_ATTRS, k_msgq_get_attrs(&queue, attributes));
    CHECK(attributes->max_msgs == 1);
    for (unsigned size = 1; size <= BYTES_MAX; size++) {
        measure_alone(size);
        FOR_CROWDS(CROWD_JOIN, ready, shape)
            if (swept_ready(size, 1, BYTES_MAX, ready))
                measure_waiter(size, ready, shape);
        FOR_CROWDS(CROWD_LEAD, ready, shape)
            if (swept_ready(size, 1, BYTES_MAX, ready))
                measure_switch(size, ready, shape);
    }
    k_msgq_init(&queue, (char *)wcet_storage, 4, 1);
    CHECK(k_msgq_put(&queue, wcet_caller_data.bytes, K_NO_WAIT) == 0);
    MEASURE_WAKE_ALL(SERVICE_K_MSGQ_PURGE, SERVICE_K_MSGQ_PURGE_SWITCH, PRIORITY_STEP, put, &queue, NULL,
                     (void)k_msgq_put(&queue, wcet_caller_data.bytes, K_NO_WAIT),
                     k_msgq_purge(&queue), -ENOMSG);
}
