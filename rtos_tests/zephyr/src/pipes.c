/* Pipes. */
#include "helpers.h"

#define PIPE_BYTES 64

static struct k_pipe pipe;
static size_t moved;
static unsigned helper_bytes;

static int get(void *object, void *argument)
{
    size_t got;

    return k_pipe_get(object, wcet_caller_data_2.bytes, helper_bytes, &got, helper_bytes,
                      K_TICKS(1000));
}

static int put(void *object, void *argument)
{
    size_t written;

    return k_pipe_put(object, wcet_caller_data_2.bytes, helper_bytes, &written, helper_bytes,
                      K_TICKS(1000));
}

/* Brings both positions of the empty pipe there. */
static void empty_at(unsigned position)
{
    k_pipe_init(&pipe, wcet_storage, PIPE_BYTES);
    CHECK(k_pipe_put(&pipe, wcet_caller_data.bytes, position, &moved, position, K_NO_WAIT) == 0);
    CHECK(k_pipe_get(&pipe, wcet_caller_data.bytes, position, &moved, position, K_NO_WAIT) == 0);
}

/* One byte before the end of the buffer. */
static void before_the_end(void)
{
    empty_at(PIPE_BYTES - 1);
}

static void measure_alone(unsigned size)
{
    size_t *count = (size_t *)&wcet_caller_data_2;
    int result;

    before_the_end();
    wcet_param(0, size);
    MEASURE(SERVICE_K_PIPE_PUT,
            result = k_pipe_put(&pipe, wcet_caller_data.bytes, size, count, size, K_NO_WAIT));
    CHECK(result == 0 && *count == size);
    wcet_param(0, size);
    MEASURE(SERVICE_K_PIPE_GET,
            result = k_pipe_get(&pipe, wcet_caller_data.bytes, size, count, size, K_NO_WAIT));
    CHECK(result == 0 && *count == size && k_pipe_read_avail(&pipe) == 0);
}

/* All bytes go to a thread that waits for them. */
static void measure_waiter(unsigned size, unsigned ready, unsigned shape)
{
    int result;

    before_the_end();
    helper_bytes = size;
    wcet_param(0, size);
    MEASURE_WAITER(SERVICE_K_PIPE_PUT_WAITER, 1, ready, shape, get, &pipe, NULL,
                   result = k_pipe_put(&pipe, wcet_caller_data.bytes, size, &moved, size, K_NO_WAIT),
                   0);
    CHECK(result == 0 && moved == size);

    /* The pipe has no buffer, so that the bytes come from the waiting thread. */
    k_pipe_init(&pipe, NULL, 0);
    wcet_param(0, size);
    MEASURE_WAITER(SERVICE_K_PIPE_GET_WAITER, 1, ready, shape, put, &pipe, NULL,
                   result = k_pipe_get(&pipe, wcet_caller_data.bytes, size, &moved, size, K_NO_WAIT),
                   0);
    CHECK(result == 0 && moved == size);
}

static void full_from(unsigned position)
{
    empty_at(position);
    CHECK(k_pipe_put(&pipe, wcet_caller_data.bytes, PIPE_BYTES, &moved, PIPE_BYTES, K_NO_WAIT) == 0);
    CHECK(k_pipe_write_avail(&pipe) == 0);
}

static void get_bytes(unsigned size)
{
    CHECK(k_pipe_get(&pipe, wcet_caller_data.bytes, size, &moved, size, K_NO_WAIT) == 0);
    CHECK(moved == size && k_pipe_write_avail(&pipe) == 0);
}

/* The bytes of a thread that waits fill the buffer again, and the kernel lets that thread wait until somebody
 * reads again. Threads 0 to `waiting` - 1, which are started, have waited since then; the last one waits to put
 * more. */
static void full_again(unsigned waiting, unsigned each, unsigned size)
{
    full_from(PIPE_BYTES - 1 - waiting * each);
    helper_bytes = each;
    helpers_wait(waiting, put, &pipe, NULL);
    if (waiting > 0)
        get_bytes(waiting * each);
    helper_bytes = size;
    helper_order(waiting, put, &pipe, NULL);
    settle();
    for (unsigned i = 0; i <= waiting; i++)
        CHECK(helper_busy(i));
}

/* The first `waiting` have been woken; the last one has not, although all its bytes are in the buffer. */
static void filled_again(unsigned waiting)
{
    settle();
    for (unsigned i = 0; i < waiting; i++)
        CHECK(!helper_busy(i) && helper_result(i) == 0);
    CHECK(helper_busy(waiting) && k_pipe_write_avail(&pipe) == 0);
    CHECK(k_pipe_get(&pipe, wcet_caller_data.bytes, 1, &moved, 1, K_NO_WAIT) == 0);
    settle();
    CHECK(!helper_busy(waiting) && helper_result(waiting) == 0);
    helpers_stop();
}

static void measure_refill(unsigned size)
{
    int result;

    helpers_start(1, PRIORITY_BELOW, 0);
    full_again(0, 0, size);
    wcet_param(0, size);
    MEASURE(SERVICE_K_PIPE_GET_REFILL,
            result = k_pipe_get(&pipe, wcet_caller_data.bytes, size, &moved, size, K_NO_WAIT));
    CHECK(result == 0 && moved == size);
    filled_again(0);
}

static void measure_refill_waiter(enum crowd kind, unsigned size, unsigned ready, unsigned shape)
{
    int result;

    helpers_start(2, crowd_priority(kind, ready, shape), 0);
    full_again(1, size, size);
    crowd_start(kind, ready, shape, NULL);
    wcet_param(0, size);
    wcet_param(1, ready);
    if (kind == CROWD_JOIN)
        MEASURE(SERVICE_K_PIPE_GET_REFILL_WAITER,
                result = k_pipe_get(&pipe, wcet_caller_data.bytes, size, &moved, size, K_NO_WAIT));
    else
        MEASURE(SERVICE_K_PIPE_GET_REFILL_SWITCH,
                result = k_pipe_get(&pipe, wcet_caller_data.bytes, size, &moved, size, K_NO_WAIT));
    crowd_stop();
    CHECK(result == 0 && moved == size && helper_busy(0) == (kind == CROWD_JOIN));
    filled_again(1);
}

static void measure_refill_waiters(unsigned waiting, unsigned others, bool urgent)
{
    int result;

    sleepers_start(waiting + 1, PRIORITY_STEP, urgent);
    full_again(waiting, 4, 4);
    ready_start(others, PRIORITY_OTHERS);
    wcet_param(0, waiting - urgent);
    wcet_param(1, others + 1);
    if (urgent)
        MEASURE(SERVICE_K_PIPE_GET_REFILL_WAITERS_SWITCH,
                result = k_pipe_get(&pipe, wcet_caller_data.bytes, 4, &moved, 4, K_NO_WAIT));
    else
        MEASURE(SERVICE_K_PIPE_GET_REFILL_WAITERS,
                result = k_pipe_get(&pipe, wcet_caller_data.bytes, 4, &moved, 4, K_NO_WAIT));
    sleepers_after(waiting, urgent);
    ready_stop();
    CHECK(result == 0 && moved == 4);
    filled_again(waiting);
}

/* As for a waiter that is no more urgent. */
static void measure_switch(unsigned size, unsigned ready, unsigned shape)
{
    int result;

    before_the_end();
    helper_bytes = size;
    wcet_param(0, size);
    MEASURE_SWITCH(SERVICE_K_PIPE_PUT_SWITCH, 1, ready, shape, get, &pipe, NULL,
                   result = k_pipe_put(&pipe, wcet_caller_data.bytes, size, &moved, size, K_NO_WAIT),
                   0);
    CHECK(result == 0 && moved == size);
    k_pipe_init(&pipe, NULL, 0);
    wcet_param(0, size);
    MEASURE_SWITCH(SERVICE_K_PIPE_GET_SWITCH, 1, ready, shape, put, &pipe, NULL,
                   result = k_pipe_get(&pipe, wcet_caller_data.bytes, size, &moved, size, K_NO_WAIT),
                   0);
    CHECK(result == 0 && moved == size);
    measure_refill_waiter(CROWD_LEAD, size, ready, shape);
}

/* Several threads wait, each for four bytes. */
static void measure_waiters(void)
{
    const unsigned each = 4;
    int result = -1;

    BUILD_ASSERT(4 * CONFIG_WCET_WAITING_THREADS < PIPE_BYTES);
    helper_bytes = each;
    MEASURE_WAKE_ALL(SERVICE_K_PIPE_PUT_WAITERS, SERVICE_K_PIPE_PUT_WAITERS_SWITCH, PRIORITY_STEP, get,
                     &pipe, NULL, before_the_end(),
                     result = k_pipe_put(&pipe, wcet_caller_data.bytes, waiting_ * each, &moved,
                                         waiting_ * each, K_NO_WAIT), 0);
    CHECK(result == 0);
    MEASURE_WAKE_ALL(SERVICE_K_PIPE_GET_WAITERS, SERVICE_K_PIPE_GET_WAITERS_SWITCH, PRIORITY_STEP, put,
                     &pipe, NULL, k_pipe_init(&pipe, NULL, 0),
                     result = k_pipe_get(&pipe, wcet_caller_data.bytes, waiting_ * each, &moved,
                                         waiting_ * each, K_NO_WAIT), 0);
    CHECK(result == 0);
    for (unsigned waiting = 1; waiting < WAITING_MAX; waiting++)
        for (unsigned others = 0; others <= READY_MAX; others++)
            if (swept(waiting, 1, WAITING_MAX - 1, others, 0, READY_MAX)) {
                measure_refill_waiters(waiting, others, false);
                measure_refill_waiters(waiting, others, true);
            }
    MEASURE_WAKE_ALL(SERVICE_K_PIPE_FLUSH_WAITERS, SERVICE_K_PIPE_FLUSH_WAITERS_SWITCH, PRIORITY_STEP,
                     put, &pipe, NULL, full_from(PIPE_BYTES - 1), k_pipe_flush(&pipe), 0);
    CHECK(k_pipe_read_avail(&pipe) == 0);
}

void measure_pipes(void)
{
    size_t avail;

    MEASURE(SERVICE_K_PIPE_INIT, k_pipe_init(&pipe, wcet_storage, PIPE_BYTES));
    for (unsigned size = 2; size <= BYTES_MAX; size++) {
        measure_alone(size);
        measure_refill(size);
        FOR_CROWDS(CROWD_JOIN, ready, shape)
            if (swept_ready(size, 2, BYTES_MAX, ready)) {
                measure_waiter(size, ready, shape);
                measure_refill_waiter(CROWD_JOIN, size, ready, shape);
            }
        FOR_CROWDS(CROWD_LEAD, ready, shape)
            if (swept_ready(size, 2, BYTES_MAX, ready))
                measure_switch(size, ready, shape);
    }
    measure_waiters();
    before_the_end();
    CHECK(k_pipe_put(&pipe, wcet_caller_data.bytes, 8, &moved, 8, K_NO_WAIT) == 0);
    MEASURE(SERVICE_K_PIPE_READ_AVAIL, avail = k_pipe_read_avail(&pipe));
    CHECK(avail == 8);
    MEASURE(SERVICE_K_PIPE_WRITE_AVAIL, avail = k_pipe_write_avail(&pipe));
    CHECK(avail == PIPE_BYTES - 8);
    /* And with all bytes on one side of the end: the greatest of each count is published. */
    k_pipe_init(&pipe, wcet_storage, PIPE_BYTES);
    CHECK(k_pipe_put(&pipe, wcet_caller_data.bytes, 8, &moved, 8, K_NO_WAIT) == 0);
    MEASURE(SERVICE_K_PIPE_WRITE_AVAIL, avail = k_pipe_write_avail(&pipe));
    CHECK(avail == PIPE_BYTES - 8);
    before_the_end();
    CHECK(k_pipe_put(&pipe, wcet_caller_data.bytes, 8, &moved, 8, K_NO_WAIT) == 0);
    MEASURE(SERVICE_K_PIPE_FLUSH, k_pipe_flush(&pipe));
    CHECK(k_pipe_read_avail(&pipe) == 0);
    before_the_end();
    CHECK(k_pipe_put(&pipe, wcet_caller_data.bytes, 8, &moved, 8, K_NO_WAIT) == 0);
    MEASURE(SERVICE_K_PIPE_BUFFER_FLUSH, k_pipe_buffer_flush(&pipe));
    CHECK(k_pipe_read_avail(&pipe) == 0);
}
