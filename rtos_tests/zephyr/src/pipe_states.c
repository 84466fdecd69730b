/* See pipe_states.h. */
#include "pipe_states.h"

#define BYTES 4u

static void put(struct k_pipe *pipe, size_t size)
{
    size_t moved;

    CHECK(k_pipe_put(pipe, wcet_caller_data.bytes, size, &moved, size, K_NO_WAIT) == 0);
}

void pipe_with_data(struct k_pipe *pipe, uint8_t *buffer, enum pipe_way way)
{
    size_t moved;

    k_pipe_init(pipe, buffer, BYTES);
    put(pipe, way == PIPE_STRAIGHT ? 2 : BYTES - (way == PIPE_WRAPPED));
    if (way == PIPE_WRAPPED) {
        CHECK(k_pipe_get(pipe, wcet_caller_data.bytes, BYTES - 2, &moved, BYTES - 2, K_NO_WAIT) == 0);
        put(pipe, 2);
        CHECK(pipe->read_index > pipe->write_index);
    }
    CHECK((pipe->read_index == pipe->write_index) == (way == PIPE_FULL));
    CHECK(k_pipe_read_avail(pipe) > 0);
}
