/* What helpers are told to wait in, without a timeout; the object is the one that they wait for. */
#ifndef ORDERS_H
#define ORDERS_H

int order_sem_take(void *object, void *argument);
/* `argument`: the mutex. */
int order_condvar_wait(void *object, void *argument);
int order_event_wait(void *object, void *argument);
int order_msgq_get(void *object, void *argument);
int order_msgq_put(void *object, void *argument);
int order_queue_get(void *object, void *argument);
int order_stack_pop(void *object, void *argument);
int order_pipe_get(void *object, void *argument);
int order_pipe_put(void *object, void *argument);
int order_slab_alloc(void *object, void *argument);
/* WANTED_BYTES, which are given back at once. */
int order_heap_alloc(void *object, void *argument);
int order_join(void *object, void *argument);
/* It is given back at once. */
int order_mutex_lock(void *object, void *argument);
/* A message of any sender, of at most BYTES_MAX bytes, with its data. */
int order_mbox_get(void *object, void *argument);
/* A message of 4 bytes for anybody. */
int order_mbox_put(void *object, void *argument);

#endif
