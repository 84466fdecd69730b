/* Pipes that hold bytes. */
#ifndef PIPE_STATES_H
#define PIPE_STATES_H

#include "driver.h"

/* A pipe of four bytes, that has some: is full, has them before the end of its buffer, or on both sides of it. */
enum pipe_way { PIPE_FULL, PIPE_STRAIGHT, PIPE_WRAPPED, PIPE_WAYS };
void pipe_with_data(struct k_pipe *pipe, uint8_t *buffer, enum pipe_way way);

#endif
