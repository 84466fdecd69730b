/* Calls from an interrupt handler that wake a thread, which waits with a timeout. None of them switches: the
 * interrupt asks for that at its end. */
#include "helpers.h"

#define STACK_BYTES (512 + STACK_EXTRA)

static K_SEM_DEFINE(semaphore, 0, 1);
static K_EVENT_DEFINE(event);
static K_QUEUE_DEFINE(queue);
static struct k_msgq msgq;
static struct k_stack stack;
static struct k_mem_slab slab;
static struct k_poll_signal signal;
static struct k_work_q work_queue;
static K_THREAD_STACK_DEFINE(work_stack, STACK_BYTES);
static struct k_work work;
static void *block;
static bool worked;

/* ---- what the thread waits in ----------------------------------------------------------------- */

#define WAIT K_TICKS(1000)

static int sem_take(void *object, void *argument)
{
    return k_sem_take(object, WAIT);
}

static int msgq_get(void *object, void *argument)
{
    return k_msgq_get(object, wcet_caller_data_2.bytes, WAIT);
}

static int msgq_put(void *object, void *argument)
{
    return k_msgq_put(object, wcet_caller_data_2.bytes, WAIT);
}

static int queue_get(void *object, void *argument)
{
    return k_queue_get(object, WAIT) == NULL;
}

static int stack_pop(void *object, void *argument)
{
    return k_stack_pop(object, (stack_data_t *)wcet_caller_data_2.words, WAIT);
}

static int event_wait(void *object, void *argument)
{
    return k_event_wait(object, 1, false, WAIT) == 0;
}

static int slab_alloc(void *object, void *argument)
{
    void *got;

    return k_mem_slab_alloc(object, &got, WAIT);
}

static int poll_signal(void *object, void *argument)
{
    struct k_poll_event own;

    k_poll_event_init(&own, K_POLL_TYPE_SIGNAL, K_POLL_MODE_NOTIFY_ONLY, object);
    return k_poll(&own, 1, WAIT);
}

static int sleeps(void *object, void *argument)
{
    return k_sleep(WAIT) == 0;
}

/* ---- the handlers ------------------------------------------------------------------------------ */

static enum crowd kind_now;
static unsigned ready_now;
static unsigned size_now; /* S, the first parameter; 0: there is none */

/* In a handler nothing is unmasked. */
#define HANDLER(name, waiter, urgent, call)                                                        \
    static void name(void)                                                                         \
    {                                                                                              \
        if (size_now > 0)                                                                          \
            wcet_param(0, size_now);                                                               \
        wcet_param(size_now > 0, ready_now);                                                       \
        if (kind_now == CROWD_JOIN)                                                                \
            MEASURE_AS_MASKED(waiter, call);                                                       \
        else                                                                                       \
            MEASURE_AS_MASKED(urgent, call);                                                       \
    }

HANDLER(give, SERVICE_K_SEM_GIVE_ISR, SERVICE_K_SEM_GIVE_ISR_SWITCH, k_sem_give(&semaphore))
HANDLER(put, SERVICE_K_MSGQ_PUT_ISR, SERVICE_K_MSGQ_PUT_ISR_SWITCH,
        k_msgq_put(&msgq, wcet_caller_data.bytes, K_NO_WAIT))
HANDLER(get, SERVICE_K_MSGQ_GET_ISR, SERVICE_K_MSGQ_GET_ISR_SWITCH,
        k_msgq_get(&msgq, wcet_caller_data.bytes, K_NO_WAIT))
HANDLER(append, SERVICE_K_QUEUE_APPEND_ISR, SERVICE_K_QUEUE_APPEND_ISR_SWITCH,
        k_queue_append(&queue, wcet_caller_data.words))
HANDLER(push, SERVICE_K_STACK_PUSH_ISR, SERVICE_K_STACK_PUSH_ISR_SWITCH, k_stack_push(&stack, 1))
HANDLER(post, SERVICE_K_EVENT_POST_ISR, SERVICE_K_EVENT_POST_ISR_SWITCH, k_event_post(&event, 1))
HANDLER(slab_free, SERVICE_K_MEM_SLAB_FREE_ISR, SERVICE_K_MEM_SLAB_FREE_ISR_SWITCH,
        k_mem_slab_free(&slab, block))
HANDLER(raise_signal, SERVICE_K_POLL_SIGNAL_RAISE_ISR, SERVICE_K_POLL_SIGNAL_RAISE_ISR_SWITCH,
        k_poll_signal_raise(&signal, 1))
HANDLER(wake, SERVICE_K_WAKEUP_ISR, SERVICE_K_WAKEUP_ISR_SWITCH, k_wakeup(helper_thread(0)))
HANDLER(submit, SERVICE_K_WORK_SUBMIT_ISR, SERVICE_K_WORK_SUBMIT_ISR_SWITCH,
        k_work_submit_to_queue(&work_queue, &work))

/* ---- the calls --------------------------------------------------------------------------------- */

static void interrupt(enum crowd kind, unsigned ready, unsigned shape, void (*handler)(void))
{
    kind_now = kind;
    ready_now = ready;
    board_on_interrupt(handler);
    crowd_start(kind, ready, shape, NULL);
    /* As in MEASURE, for the handler. */
    board_unmask();
    board_interrupt();
    crowd_stop();
    board_on_interrupt(NULL);
}

static void measure(enum crowd kind, unsigned ready, unsigned shape, order_fn wait, void *object,
                    void (*handler)(void))
{
    helpers_start(1, crowd_priority(kind, ready, shape), 0);
    helpers_wait(1, wait, object, NULL);
    interrupt(kind, ready, shape, handler);
    CHECK(helper_busy(0) == (kind == CROWD_JOIN));
    helpers_woken(1, 0);
    helpers_stop();
}

static void measure_sized(enum crowd kind, unsigned size, unsigned ready, unsigned shape)
{
    size_now = size;
    k_msgq_init(&msgq, (char *)wcet_storage, size, 1);
    measure(kind, ready, shape, msgq_get, &msgq, put);
    CHECK(k_msgq_put(&msgq, wcet_caller_data.bytes, K_NO_WAIT) == 0);
    measure(kind, ready, shape, msgq_put, &msgq, get);
    size_now = 0;
}

static void handle(struct k_work *unused)
{
    worked = true;
}

static void measure_all_of(enum crowd kind, unsigned ready, unsigned shape)
{
    measure(kind, ready, shape, sem_take, &semaphore, give);
    measure(kind, ready, shape, queue_get, &queue, append);
    k_stack_init(&stack, (stack_data_t *)wcet_storage, 4);
    measure(kind, ready, shape, stack_pop, &stack, push);
    measure(kind, ready, shape, event_wait, &event, post);
    k_event_clear(&event, ~0u);
    CHECK(k_mem_slab_init(&slab, wcet_storage, 16, 1) == 0);
    CHECK(k_mem_slab_alloc(&slab, &block, K_NO_WAIT) == 0);
    measure(kind, ready, shape, slab_alloc, &slab, slab_free);
    measure(kind, ready, shape, poll_signal, &signal, raise_signal);
    k_poll_signal_reset(&signal);
    measure(kind, ready, shape, sleeps, NULL, wake);

    worked = false;
    k_thread_priority_set(&work_queue.thread, crowd_priority(kind, ready, shape));
    settle();
    interrupt(kind, ready, shape, submit);
    CHECK(worked == (kind != CROWD_JOIN));
    settle();
    CHECK(worked);

    for (unsigned size = 1; size <= BYTES_MAX; size++)
        if (swept_ready(size, 1, BYTES_MAX, ready))
            measure_sized(kind, size, ready, shape);
}

void measure_from_interrupt(void)
{
    k_poll_signal_init(&signal);
    k_work_init(&work, handle);
    k_work_queue_init(&work_queue);
    k_work_queue_start(&work_queue, work_stack, STACK_BYTES, PRIORITY_BELOW, NULL);
    settle();
    FOR_CROWDS(CROWD_JOIN, ready, shape)
        measure_all_of(CROWD_JOIN, ready, shape);
    FOR_CROWDS(CROWD_LEAD, ready, shape)
        measure_all_of(CROWD_LEAD, ready, shape);
    k_thread_abort(&work_queue.thread);
}
