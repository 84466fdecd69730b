/* Calls that allocate from the caller's resource pool or a heap, statistics, and what is left. */
#include "heaps.h"
#include "helpers.h"
#include "other_timeouts.h"

static struct k_heap heap;
static struct k_msgq msgq;
static struct k_pipe pipe;
static struct k_stack stack;
static struct k_mem_slab slab;
static K_QUEUE_DEFINE(queue);
static struct k_thread thread;
static K_THREAD_STACK_DEFINE(thread_stack, 512 + STACK_EXTRA);

static void measure_pool(void)
{
    /* With the pool's header of 4 bytes and the one of the heap, 9 units. */
    const size_t bytes = 60;
    int result;

    heap_fragment(&heap);
    k_thread_heap_assign(driver_thread, &heap);
    MEASURE(SERVICE_K_QUEUE_ALLOC_PREPEND, result = k_queue_alloc_prepend(&queue, &heap));
    CHECK(result == 0 && k_queue_get(&queue, K_NO_WAIT) == &heap);
    heap_fragment_longer(&heap);
    MEASURE(SERVICE_K_QUEUE_ALLOC_PREPEND, result = k_queue_alloc_prepend(&queue, &heap));
    CHECK(result == 0 && k_queue_get(&queue, K_NO_WAIT) == &heap);
    heap_fragment(&heap);
    MEASURE(SERVICE_K_MSGQ_ALLOC_INIT, result = k_msgq_alloc_init(&msgq, bytes / 4, 4));
    CHECK(result == 0);
    result = k_msgq_cleanup(&msgq);
    CHECK(result == 0);
    heap_gap(&heap);
    result = k_msgq_alloc_init(&msgq, bytes / 4, 4);
    CHECK(result == 0);
    heap_gap_between(&heap);
    MEASURE(SERVICE_K_MSGQ_CLEANUP, result = k_msgq_cleanup(&msgq));
    CHECK(result == 0);
    heap_fragment(&heap);
    MEASURE(SERVICE_K_PIPE_ALLOC_INIT, result = k_pipe_alloc_init(&pipe, bytes));
    CHECK(result == 0);
    result = k_pipe_cleanup(&pipe);
    CHECK(result == 0);
    heap_gap(&heap);
    result = k_pipe_alloc_init(&pipe, bytes);
    CHECK(result == 0);
    heap_gap_between(&heap);
    MEASURE(SERVICE_K_PIPE_CLEANUP, result = k_pipe_cleanup(&pipe));
    CHECK(result == 0);
    heap_fragment(&heap);
    MEASURE(SERVICE_K_STACK_ALLOC_INIT, result = k_stack_alloc_init(&stack, bytes / 4));
    CHECK(result == 0);
    result = k_stack_cleanup(&stack);
    CHECK(result == 0);
    heap_gap(&heap);
    result = k_stack_alloc_init(&stack, bytes / 4);
    CHECK(result == 0);
    heap_gap_between(&heap);
    MEASURE(SERVICE_K_STACK_CLEANUP, result = k_stack_cleanup(&stack));
    CHECK(result == 0);
    k_thread_heap_assign(driver_thread, NULL);
}

/* The chunk cannot grow where it is, though the one behind it is free: a new one is searched as for
 * k_heap_alloc, all is copied, and the old one is freed between two free ones. */
static void measure_realloc(unsigned words)
{
    const unsigned units[] = {8, 1 + words, 1, 1, 0};
    void *used[4], *moved;

    heap_fragment_behind(&heap, units, used);
    k_heap_free(&heap, used[0]);
    k_heap_free(&heap, used[2]);
    wcet_param(0, words);
    MEASURE(SERVICE_K_HEAP_REALLOC, moved = k_heap_realloc(&heap, used[1], WANTED_BYTES, K_NO_WAIT));
    CHECK(moved != NULL && moved != used[1]);
}

static void sleeps(void *unused, void *unused2, void *unused3)
{
    for (;;)
        k_sleep(K_TICKS(1000));
}

static void measure_thread_times(unsigned before)
{
    k_ticks_t ticks;

    timeouts_start(before, AFTER_IT);
    wcet_param(0, before);
    MEASURE(SERVICE_K_THREAD_TIMEOUT_REMAINING_TICKS,
            ticks = k_thread_timeout_remaining_ticks(&thread));
    CHECK(ticks > 0);
    wcet_param(0, before);
    MEASURE(SERVICE_K_THREAD_TIMEOUT_EXPIRES_TICKS, ticks = k_thread_timeout_expires_ticks(&thread));
    CHECK(ticks > 0);
    timeouts_stop();
}

void measure_allocation(void)
{
    struct sys_memory_stats *stats = (struct sys_memory_stats *)&wcet_caller_data;
    int result;

    measure_pool();
    for (unsigned words = 0; words <= 3; words++)
        measure_realloc(words);
    CHECK(k_mem_slab_init(&slab, wcet_storage, 16, 4) == 0);
    MEASURE(SERVICE_K_MEM_SLAB_RUNTIME_STATS_GET,
            result = k_mem_slab_runtime_stats_get(&slab, stats));
    CHECK(result == 0 && stats->free_bytes == 64);
    k_thread_create(&thread, thread_stack, 512 + STACK_EXTRA, sleeps, NULL, NULL, NULL, PRIORITY_BELOW, 0,
                    K_NO_WAIT);
    settle();
    for (unsigned before = 0; before <= TIMEOUTS_MAX; before++)
        measure_thread_times(before);
    k_thread_abort(&thread);
    MEASURE(SERVICE_K_IS_PREEMPT_THREAD, result = k_is_preempt_thread());
    CHECK(result);
    MEASURE(SERVICE_K_CAN_YIELD, result = k_can_yield());
    CHECK(result);
}
