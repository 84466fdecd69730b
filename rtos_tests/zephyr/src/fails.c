/* Calls with K_NO_WAIT that fail: what they want is not there. */
#include "heaps.h"
#include "helpers.h"

static K_MUTEX_DEFINE(mutex);
static K_QUEUE_DEFINE(queue);
static K_EVENT_DEFINE(event);
static K_MBOX_DEFINE(mailbox);
static struct k_msgq msgq;
static struct k_stack stack;
static struct k_pipe pipe;
static struct k_mem_slab slab;
static struct k_heap heap;
static struct k_mbox_msg message;

static int lock(void *object, void *argument)
{
    return k_mutex_lock(object, K_FOREVER);
}

/* A message of the thread that lets time pass, which sends none. */
static int get_of_passer(void *object, void *argument)
{
    struct k_mbox_msg own = {.size = BYTES_MAX, .rx_source_thread = driver_passer};

    return k_mbox_get(object, &own, wcet_caller_data_2.bytes, K_FOREVER);
}

static void measure_mutex_and_join(void)
{
    int result;

    helpers_start(1, PRIORITY_ABOVE, 0);
    helper_order(0, lock, &mutex, NULL);
    CHECK(mutex.owner == helper_thread(0));
    MEASURE(SERVICE_K_MUTEX_LOCK_FAIL, result = k_mutex_lock(&mutex, K_NO_WAIT));
    CHECK(result == -EBUSY);
    MEASURE(SERVICE_K_THREAD_JOIN_FAIL, result = k_thread_join(helper_thread(0), K_NO_WAIT));
    CHECK(result == -EBUSY);
    helpers_stop();
}

static void measure_messages(void)
{
    int result;

    k_msgq_init(&msgq, (char *)wcet_storage, 4, 1);
    MEASURE(SERVICE_K_MSGQ_GET_FAIL,
            result = k_msgq_get(&msgq, wcet_caller_data_2.bytes, K_NO_WAIT));
    CHECK(result == -ENOMSG);
    MEASURE(SERVICE_K_MSGQ_PEEK_FAIL, result = k_msgq_peek(&msgq, wcet_caller_data_2.bytes));
    CHECK(result == -ENOMSG);
    CHECK(k_msgq_put(&msgq, wcet_caller_data.bytes, K_NO_WAIT) == 0);
    MEASURE(SERVICE_K_MSGQ_PUT_FAIL, result = k_msgq_put(&msgq, wcet_caller_data.bytes, K_NO_WAIT));
    CHECK(result == -ENOMSG);
}

/* W others want a message of another thread; this one is for anybody, or for the first of them. */
static void measure_mailbox(unsigned waiting)
{
    int result;

    helpers_start(waiting, PRIORITY_ABOVE, 0);
    helpers_wait(waiting, get_of_passer, &mailbox, NULL);
    message = (struct k_mbox_msg){
        .size = 4, .tx_data = wcet_caller_data.bytes, .tx_target_thread = K_ANY};
    wcet_param(0, waiting);
    MEASURE(SERVICE_K_MBOX_PUT_FAIL, result = k_mbox_put(&mailbox, &message, K_NO_WAIT));
    CHECK(result == -ENOMSG);
    if (waiting > 0) {
        message.tx_target_thread = helper_thread(0);
        wcet_param(0, waiting);
        MEASURE(SERVICE_K_MBOX_PUT_FAIL, result = k_mbox_put(&mailbox, &message, K_NO_WAIT));
        CHECK(result == -ENOMSG);
    }
    helpers_stop();
}

/* All W threads that wait together, with the pipe's bytes on both sides of its end, have one less than the call
 * wants. */
#define PIPE_BYTES 4u

static int put_one(void *object, void *argument)
{
    size_t moved;

    return k_pipe_put(object, wcet_caller_data.bytes, 1, &moved, 1, K_FOREVER);
}

static int get_one(void *object, void *argument)
{
    size_t moved;

    return k_pipe_get(object, wcet_caller_data_2.bytes, 1, &moved, 1, K_FOREVER);
}

/* Its positions are one byte before the end. */
static void pipe_at_end(void)
{
    size_t moved;

    k_pipe_init(&pipe, wcet_storage, PIPE_BYTES);
    CHECK(k_pipe_put(&pipe, wcet_caller_data.bytes, PIPE_BYTES - 1, &moved, PIPE_BYTES - 1,
                     K_NO_WAIT) == 0);
    CHECK(k_pipe_get(&pipe, wcet_caller_data.bytes, PIPE_BYTES - 1, &moved, PIPE_BYTES - 1,
                     K_NO_WAIT) == 0);
}

static void measure_pipe(unsigned waiting)
{
    size_t *moved = (size_t *)&wcet_caller_data.words[8];
    const size_t wanted = PIPE_BYTES + waiting + 1;
    int result;

    pipe_at_end();
    CHECK(k_pipe_put(&pipe, wcet_caller_data.bytes, PIPE_BYTES, moved, PIPE_BYTES, K_NO_WAIT) == 0);
    helpers_start(waiting, PRIORITY_ABOVE, 0);
    helpers_wait(waiting, put_one, &pipe, NULL);
    wcet_param(0, waiting);
    MEASURE(SERVICE_K_PIPE_GET_FAIL,
            result = k_pipe_get(&pipe, wcet_caller_data_2.bytes, wanted, moved, wanted, K_NO_WAIT));
    CHECK(result == -EIO && *moved == 0);
    helpers_stop();

    pipe_at_end();
    helpers_start(waiting, PRIORITY_ABOVE, 0);
    helpers_wait(waiting, get_one, &pipe, NULL);
    wcet_param(0, waiting);
    MEASURE(SERVICE_K_PIPE_PUT_FAIL,
            result = k_pipe_put(&pipe, wcet_caller_data.bytes, wanted, moved, wanted, K_NO_WAIT));
    CHECK(result == -EIO && *moved == 0);
    helpers_stop();
}

static void measure_memory(void)
{
    void *got;
    int result;

    CHECK(k_mem_slab_init(&slab, wcet_storage, 16, 1) == 0);
    CHECK(k_mem_slab_alloc(&slab, &got, K_NO_WAIT) == 0);
    MEASURE(SERVICE_K_MEM_SLAB_ALLOC_FAIL,
            result = k_mem_slab_alloc(&slab, &wcet_caller_data.pointers[0], K_NO_WAIT));
    CHECK(result == -ENOMEM);
    heap_fill(&heap, NULL, NULL);
    MEASURE(SERVICE_K_HEAP_ALLOC_FAIL, got = k_heap_alloc(&heap, WANTED_BYTES, K_NO_WAIT));
    CHECK(got == NULL);
}

void measure_fails(void)
{
    uint32_t found;
    void *got;
    int result;

    measure_mutex_and_join();
    measure_messages();
    MEASURE(SERVICE_K_QUEUE_GET_FAIL, got = k_queue_get(&queue, K_NO_WAIT));
    CHECK(got == NULL);
    k_stack_init(&stack, (stack_data_t *)wcet_storage, 1);
    MEASURE(SERVICE_K_STACK_POP_FAIL,
            result = k_stack_pop(&stack, (stack_data_t *)wcet_caller_data.words, K_NO_WAIT));
    CHECK(result == -EBUSY);
    CHECK(k_stack_push(&stack, 1) == 0);
    MEASURE(SERVICE_K_STACK_PUSH_FAIL, result = k_stack_push(&stack, 1));
    CHECK(result == -ENOMEM);
    MEASURE(SERVICE_K_EVENT_WAIT_FAIL, found = k_event_wait(&event, 1, true, K_NO_WAIT));
    CHECK(found == 0);
    measure_memory();
    for (unsigned waiting = 0; waiting <= WAITING_MAX; waiting++) {
        measure_mailbox(waiting);
        measure_pipe(waiting);
    }
}
