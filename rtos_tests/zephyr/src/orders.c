/* See orders.h. */
#include "orders.h"

#include "driver.h"
#include "heaps.h"

int order_sem_take(void *object, void *argument)
{
    return k_sem_take(object, K_FOREVER);
}

int order_condvar_wait(void *object, void *argument)
{
    int result;

    k_mutex_lock(argument, K_FOREVER);
    result = k_condvar_wait(object, argument, K_FOREVER);
    k_mutex_unlock(argument);
    return result;
}

int order_event_wait(void *object, void *argument)
{
    return (int)k_event_wait(object, 1, false, K_FOREVER);
}

int order_msgq_get(void *object, void *argument)
{
    return k_msgq_get(object, wcet_caller_data_2.bytes, K_FOREVER);
}

int order_msgq_put(void *object, void *argument)
{
    return k_msgq_put(object, wcet_caller_data_2.bytes, K_FOREVER);
}

int order_queue_get(void *object, void *argument)
{
    return k_queue_get(object, K_FOREVER) != NULL;
}

int order_stack_pop(void *object, void *argument)
{
    return k_stack_pop(object, (stack_data_t *)wcet_caller_data_2.words, K_FOREVER);
}

int order_pipe_get(void *object, void *argument)
{
    size_t got;

    return k_pipe_get(object, wcet_caller_data_2.bytes, 4, &got, 4, K_FOREVER);
}

int order_pipe_put(void *object, void *argument)
{
    size_t written;

    return k_pipe_put(object, wcet_caller_data_2.bytes, 4, &written, 4, K_FOREVER);
}

int order_slab_alloc(void *object, void *argument)
{
    void *block;

    return k_mem_slab_alloc(object, &block, K_FOREVER);
}

int order_heap_alloc(void *object, void *argument)
{
    void *memory = k_heap_alloc(object, WANTED_BYTES, K_FOREVER);

    k_heap_free(object, memory);
    return 0;
}

int order_join(void *object, void *argument)
{
    return k_thread_join(object, K_FOREVER);
}

int order_mutex_lock(void *object, void *argument)
{
    const int result = k_mutex_lock(object, K_FOREVER);

    k_mutex_unlock(object);
    return result;
}

int order_mbox_get(void *object, void *argument)
{
    struct k_mbox_msg own = {.size = BYTES_MAX, .rx_source_thread = K_ANY};

    return k_mbox_get(object, &own, wcet_caller_data_2.bytes, K_FOREVER);
}

int order_mbox_put(void *object, void *argument)
{
    struct k_mbox_msg own = {
        .size = 4, .tx_data = wcet_caller_data.bytes, .tx_target_thread = K_ANY};

    return k_mbox_put(object, &own, K_FOREVER);
}
