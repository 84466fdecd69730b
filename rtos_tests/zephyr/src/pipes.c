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

/* Brings both positions of the empty pipe one byte before the end of its buffer. */
static void before_the_end(void)
{
    k_pipe_init(&pipe, wcet_storage, PIPE_BYTES);
    CHECK(k_pipe_put(&pipe, wcet_caller_data.bytes, PIPE_BYTES - 1, &moved, PIPE_BYTES - 1,
                     K_NO_WAIT) == 0);
    CHECK(k_pipe_get(&pipe, wcet_caller_data.bytes, PIPE_BYTES - 1, &moved, PIPE_BYTES - 1,
                     K_NO_WAIT) == 0);
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

void measure_pipes(void)
{
    size_t avail;

    MEASURE(SERVICE_K_PIPE_INIT, k_pipe_init(&pipe, wcet_storage, PIPE_BYTES));
    for (unsigned size = 2; size <= BYTES_MAX; size++) {
        measure_alone(size);
        FOR_CROWDS(CROWD_JOIN, ready, shape)
            if (swept_ready(size, 2, BYTES_MAX, ready))
                measure_waiter(size, ready, shape);
    }
    before_the_end();
    CHECK(k_pipe_put(&pipe, wcet_caller_data.bytes, 8, &moved, 8, K_NO_WAIT) == 0);
    MEASURE(SERVICE_K_PIPE_READ_AVAIL, avail = k_pipe_read_avail(&pipe));
    CHECK(avail == 8);
    MEASURE(SERVICE_K_PIPE_WRITE_AVAIL, avail = k_pipe_write_avail(&pipe));
    CHECK(avail == PIPE_BYTES - 8);
    MEASURE(SERVICE_K_PIPE_FLUSH, k_pipe_flush(&pipe));
    CHECK(k_pipe_read_avail(&pipe) == 0);
    before_the_end();
    CHECK(k_pipe_put(&pipe, wcet_caller_data.bytes, 8, &moved, 8, K_NO_WAIT) == 0);
    MEASURE(SERVICE_K_PIPE_BUFFER_FLUSH, k_pipe_buffer_flush(&pipe));
    CHECK(k_pipe_read_avail(&pipe) == 0);
}
