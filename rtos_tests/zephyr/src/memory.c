/* Memory slabs and heaps. */
#include "helpers.h"

#define BLOCK_BYTES 16

static struct k_mem_slab slab;
static K_QUEUE_DEFINE(allocated);

static int slab_alloc(void *object, void *argument)
{
    void *block;

    return k_mem_slab_alloc(object, &block, K_TICKS(1000));
}

void measure_slabs(void)
{
    void **block = &wcet_caller_data.pointers[0];
    int result;

    for (unsigned blocks = 1; blocks <= LENGTH_MAX; blocks++) {
        wcet_param(0, blocks);
        MEASURE(SERVICE_K_MEM_SLAB_INIT,
                result = k_mem_slab_init(&slab, wcet_storage, BLOCK_BYTES, blocks));
        CHECK(result == 0 && k_mem_slab_num_free_get(&slab) == blocks);
    }
    MEASURE(SERVICE_K_MEM_SLAB_ALLOC, result = k_mem_slab_alloc(&slab, block, K_NO_WAIT));
    CHECK(result == 0 && k_mem_slab_num_used_get(&slab) == 1);
    MEASURE(SERVICE_K_MEM_SLAB_FREE, k_mem_slab_free(&slab, *block));
    CHECK(k_mem_slab_num_used_get(&slab) == 0);

    CHECK(k_mem_slab_init(&slab, wcet_storage, BLOCK_BYTES, 1) == 0);
    CHECK(k_mem_slab_alloc(&slab, block, K_NO_WAIT) == 0);
    /* The last block is out and nobody waits: the wait queue is looked at in vain. */
    MEASURE(SERVICE_K_MEM_SLAB_FREE_LAST, k_mem_slab_free(&slab, *block));
    CHECK(k_mem_slab_alloc(&slab, block, K_NO_WAIT) == 0);
    MEASURE_WAKE(SERVICE_K_MEM_SLAB_FREE_WAITER, SERVICE_K_MEM_SLAB_FREE_SWITCH, slab_alloc, &slab,
                 NULL, k_mem_slab_free(&slab, *block), 0);
}

/* ---- heaps ---------------------------------------------------------------------------------- */

/* Chunks are counted in units of eight bytes, four of which are the header. Free chunks of n units
 * are in the list of floor(log2(n)); at most three of the list of the wanted size are tried. */
#define HEAP_BYTES 1024
#define TRIED_MAX 3u

static struct k_heap heap;

static int heap_alloc(void *object, void *argument)
{
    void *memory = k_heap_alloc(object, 600, K_TICKS(1000));

    if (memory == NULL)
        return -ENOMEM;
    k_heap_free(object, memory);
    return 0;
}

/* Free chunks of 8 units, each between two that are used: too small for 9 units or more, and in the
 * same list. The rest of the heap is one large chunk. */
static void fragment(void)
{
    const unsigned tried = TRIED_MAX + 1;
    void *gaps[TRIED_MAX + 1];

    k_heap_init(&heap, wcet_storage, HEAP_BYTES);
    for (unsigned i = 0; i < tried; i++) {
        gaps[i] = k_heap_alloc(&heap, 8 * 8 - 4, K_NO_WAIT);
        CHECK(gaps[i] != NULL);
        CHECK(k_heap_alloc(&heap, 1, K_NO_WAIT) != NULL);
    }
    for (unsigned i = 0; i < tried; i++)
        k_heap_free(&heap, gaps[i]);
}

void measure_heaps(void)
{
    void *memory, *left, *right, *behind;

    MEASURE(SERVICE_K_HEAP_INIT, k_heap_init(&heap, wcet_storage, HEAP_BYTES));

    fragment();
    MEASURE(SERVICE_K_HEAP_ALLOC, memory = k_heap_alloc(&heap, 9 * 8 - 4, K_NO_WAIT));
    CHECK(memory != NULL);
    fragment();
    MEASURE(SERVICE_K_HEAP_ALIGNED_ALLOC, memory = k_heap_aligned_alloc(&heap, 16, 64, K_NO_WAIT));
    CHECK(memory != NULL && ((uintptr_t)memory & 15) == 0);

    /* Free on both sides; the lists of both sides have other chunks as well. */
    k_heap_init(&heap, wcet_storage, HEAP_BYTES);
    {
        void *other[4];

        for (unsigned i = 0; i < 4; i++) {
            other[i] = k_heap_alloc(&heap, i < 2 ? 60 : 28, K_NO_WAIT);
            CHECK(other[i] != NULL && k_heap_alloc(&heap, 1, K_NO_WAIT) != NULL);
        }
        left = k_heap_alloc(&heap, 60, K_NO_WAIT);
        memory = k_heap_alloc(&heap, 60, K_NO_WAIT);
        right = k_heap_alloc(&heap, 28, K_NO_WAIT);
        behind = k_heap_alloc(&heap, 1, K_NO_WAIT);
        CHECK(left != NULL && memory != NULL && right != NULL && behind != NULL);
        for (unsigned i = 0; i < 4; i++)
            k_heap_free(&heap, other[i]);
        k_heap_free(&heap, left);
        k_heap_free(&heap, right);
    }
    MEASURE(SERVICE_K_HEAP_FREE, k_heap_free(&heap, memory));

    /* All who wait are woken; each tries again. */
    for (unsigned waiting = 1; waiting <= WAITING_MAX; waiting++) {
        for (unsigned others = 0; others <= READY_MAX; others++) {
            if (!swept(waiting, 1, WAITING_MAX, others, 0, READY_MAX))
                continue;
            k_heap_init(&heap, wcet_storage, HEAP_BYTES);
            memory = k_heap_alloc(&heap, 600, K_NO_WAIT);
            CHECK(memory != NULL);
            helpers_start(waiting, PRIORITY_BELOW, 0);
            helpers_wait(waiting, heap_alloc, &heap, NULL);
            ready_start(others, PRIORITY_BELOW);
            wcet_param(0, waiting);
            wcet_param(1, others + 1);
            MEASURE(SERVICE_K_HEAP_FREE_WAITERS, k_heap_free(&heap, memory));
            ready_stop();
            helpers_woken(waiting, 0);
            helpers_stop();
        }
    }

    /* Queues that allocate their nodes from the caller's resource pool. */
    fragment();
    k_thread_heap_assign(driver_thread, &heap);
    {
        int result;

        MEASURE(SERVICE_K_QUEUE_ALLOC_APPEND, result = k_queue_alloc_append(&allocated, &heap));
        CHECK(result == 0);
        MEASURE(SERVICE_K_QUEUE_GET_ALLOCATED, memory = k_queue_get(&allocated, K_NO_WAIT));
        CHECK(memory == &heap);
    }
    k_thread_heap_assign(driver_thread, NULL);
}
