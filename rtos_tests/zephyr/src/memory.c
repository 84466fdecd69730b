/* Memory slabs and heaps. */
#include "heaps.h"
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

#define ALIGNED_TO 32u

static struct k_heap heap;

static int heap_alloc(void *object, void *argument)
{
    void *memory = k_heap_alloc(object, MERGED_BYTES, K_TICKS(1000));

    if (memory == NULL)
        return -ENOMEM;
    k_heap_free(object, memory);
    return 0;
}

/* In units: too small for what is wanted, and in its list; two that it is taken out of; and one for each list
 * that what is left of a chunk goes to. */
static const unsigned char free_units[] = {8, 8, 8, 8, 16, 16, 7, 3, 3, 1};
BUILD_ASSERT(ARRAY_SIZE(free_units) > TRIED_MAX + 1);

/* Free chunks of these units, each between two that are used. */
static void free_between(struct k_heap *of, const unsigned char *units, unsigned count)
{
    void *gaps[ARRAY_SIZE(free_units)];

    CHECK(count <= ARRAY_SIZE(gaps));
    for (unsigned i = 0; i < count; i++) {
        gaps[i] = k_heap_alloc(of, units[i] * 8 - 4, K_NO_WAIT);
        CHECK(gaps[i] != NULL);
        CHECK(k_heap_alloc(of, 1, K_NO_WAIT) != NULL);
    }
    for (unsigned i = 0; i < count; i++)
        k_heap_free(of, gaps[i]);
}

/* `rest`: chunks of these units, one behind the other, which stay used; 0 ends them. */
static void fragment_at(struct k_heap *of, void *memory, const unsigned *rest, void **used)
{

    k_heap_init(of, memory, HEAP_BYTES);
    for (; *rest > 0; rest++, used++) {
        *used = k_heap_alloc(of, *rest * 8 - 4, K_NO_WAIT);
        CHECK(*used != NULL);
    }
    free_between(of, free_units, ARRAY_SIZE(free_units));
}

/* Two units are taken from the first of the list of four to seven, and the rest goes back to that list. */
void heap_fragment_longer(struct k_heap *of)
{
    static const unsigned char units[] = {7, 7, 5, 16, 16};

    k_heap_init(of, wcet_storage, HEAP_BYTES);
    free_between(of, units, ARRAY_SIZE(units));
}

static const unsigned no_rest[] = {0};

void heap_fragment(struct k_heap *of)
{
    fragment_at(of, wcet_storage, no_rest, NULL);
}

void heap_fragment_behind(struct k_heap *of, const unsigned *units, void **used)
{
    fragment_at(of, wcet_storage, units, used);
}

/* The largest chunk that there is. */
static void *alloc_largest(struct k_heap *of)
{
    void *large = NULL;

    for (unsigned units = HEAP_BYTES / 8; large == NULL && units > 9; units--)
        large = k_heap_alloc(of, units * 8 - 4, K_NO_WAIT);
    CHECK(large != NULL);
    return large;
}

void heap_fill(struct k_heap *of, void **small, void *enough[2])
{
    void *memory;

    heap_fragment(of);
    if (small != NULL) {
        *small = k_heap_alloc(of, 1, K_NO_WAIT);
        CHECK(*small != NULL);
    }
    for (unsigned i = 0; i < 2; i++) {
        memory = k_heap_alloc(of, 16 * 8 - 4, K_NO_WAIT);
        CHECK(memory != NULL);
        if (enough != NULL)
            enough[i] = memory;
    }
    alloc_largest(of);
    memory = k_heap_alloc(of, WANTED_BYTES, K_NO_WAIT);
    CHECK(memory == NULL);
}

void heap_free_enough(struct k_heap *of, void *enough[2])
{
    k_sched_lock();
    for (unsigned i = 0; i < 2; i++) {
        if (enough[i] != NULL)
            k_heap_free(of, enough[i]);
        enough[i] = NULL;
    }
    k_sched_unlock();
}

/* What is free in the end: two chunks in each list that the neighbours are taken out of, one in the list
 * that the merged chunk comes to; and the neighbours. */
static const unsigned char around_units[] = {8, 8, 4, 4, 18, 8, 4};
static void *around[ARRAY_SIZE(around_units)];

static void *alloc_units(struct k_heap *of, unsigned units)
{
    void *memory = k_heap_alloc(of, units * 8 - 4, K_NO_WAIT);

    CHECK(memory != NULL);
    return memory;
}

void heap_gap(struct k_heap *of)
{
    const unsigned left = ARRAY_SIZE(around_units) - 2;
    void *gap;

    k_heap_init(of, wcet_storage, HEAP_BYTES);
    for (unsigned i = 0; i < left; i++) {
        around[i] = alloc_units(of, around_units[i]);
        alloc_units(of, 1);
    }
    around[left] = alloc_units(of, around_units[left]);
    gap = alloc_units(of, GAP_UNITS);
    around[left + 1] = alloc_units(of, around_units[left + 1]);
    alloc_units(of, 1);
    alloc_largest(of);
    k_heap_free(of, gap);
}

void heap_gap_between(struct k_heap *of)
{
    void *none;

    for (unsigned i = 0; i < ARRAY_SIZE(around); i++)
        k_heap_free(of, around[i]);
    none = k_heap_alloc(of, MERGED_BYTES, K_NO_WAIT);
    CHECK(none == NULL);
}

void *heap_between(struct k_heap *of)
{
    void *memory;

    heap_gap(of);
    memory = alloc_units(of, GAP_UNITS);
    heap_gap_between(of);
    return memory;
}

/* The smallest heap that has room for memory, and the largest that wcet_storage holds. */
#define HEAP_LISTS_MIN 4u
#define HEAP_LISTS_MAX 10u
BUILD_ASSERT(8u << HEAP_LISTS_MAX == STORAGE_BYTES);

/* What the kernel made of the memory: all of it that can be had is one chunk, in the last list. */
static unsigned heap_lists(struct k_heap *of)
{
    unsigned units = STORAGE_BYTES / 8;
    void *all = NULL;

    for (; all == NULL && units > 0; units--)
        all = k_heap_alloc(of, units * 8 - 4, K_NO_WAIT);
    CHECK(all != NULL);
    /* And the control block with the lists before it. */
    units += 1 + (unsigned)((uint8_t *)all - 4 - wcet_storage) / 8;
    return 32u - (unsigned)__builtin_clz(units);
}

void measure_heaps(void)
{
    void *memory;

    /* As large as a heap with so many lists can be, in units of eight bytes: 2^lists - 1, and the end marker. */
    for (unsigned lists = HEAP_LISTS_MIN; lists <= HEAP_LISTS_MAX; lists++) {
        wcet_param(0, lists);
        MEASURE(SERVICE_K_HEAP_INIT, k_heap_init(&heap, wcet_storage, 8u << lists));
        CHECK(heap_lists(&heap) == lists);
    }

    heap_fragment(&heap);
    MEASURE(SERVICE_K_HEAP_ALLOC, memory = k_heap_alloc(&heap, WANTED_BYTES, K_NO_WAIT));
    CHECK(memory != NULL);
    /* Where the chunk lies decides what is given back before and behind the memory. */
    for (unsigned offset = 0; offset < ALIGNED_TO; offset += 8) {
        fragment_at(&heap, wcet_storage + offset, no_rest, NULL);
        MEASURE(SERVICE_K_HEAP_ALIGNED_ALLOC,
                memory = k_heap_aligned_alloc(&heap, ALIGNED_TO, 64, K_NO_WAIT));
        CHECK(memory != NULL && ((uintptr_t)memory & (ALIGNED_TO - 1)) == 0);
    }

    memory = heap_between(&heap);
    MEASURE(SERVICE_K_HEAP_FREE, k_heap_free(&heap, memory));

    /* All who wait are woken; each tries again. */
    MEASURE_WAKE_ALL(SERVICE_K_HEAP_FREE_WAITERS, SERVICE_K_HEAP_FREE_WAITERS_SWITCH, PRIORITY_STEP,
                     heap_alloc, &heap, NULL, memory = heap_between(&heap),
                     k_heap_free(&heap, memory), 0);

    /* Queues that allocate their nodes from the caller's resource pool, in a list of their size or a longer one:
     * the greatest of each count is published. */
    heap_fragment(&heap);
    k_thread_heap_assign(driver_thread, &heap);
    {
        int result;

        k_queue_append(&allocated, wcet_caller_data.words);
        MEASURE(SERVICE_K_QUEUE_ALLOC_APPEND, result = k_queue_alloc_append(&allocated, &heap));
        CHECK(result == 0);
        CHECK(k_queue_get(&allocated, K_NO_WAIT) == wcet_caller_data.words);
        CHECK(k_queue_get(&allocated, K_NO_WAIT) == &heap);
        heap_fragment_longer(&heap);
        k_queue_append(&allocated, wcet_caller_data.words);
        MEASURE(SERVICE_K_QUEUE_ALLOC_APPEND, result = k_queue_alloc_append(&allocated, &heap));
        CHECK(result == 0);
        CHECK(k_queue_get(&allocated, K_NO_WAIT) == wcet_caller_data.words);
        MEASURE(SERVICE_K_QUEUE_PEEK_HEAD, memory = k_queue_peek_head(&allocated));
        CHECK(memory == &heap);
        MEASURE(SERVICE_K_QUEUE_PEEK_TAIL, memory = k_queue_peek_tail(&allocated));
        CHECK(memory == &heap);
        CHECK(k_queue_get(&allocated, K_NO_WAIT) == &heap);
        heap_gap(&heap);
        result = k_queue_alloc_append(&allocated, &heap);
        CHECK(result == 0);
        heap_gap_between(&heap);
        MEASURE(SERVICE_K_QUEUE_GET_ALLOCATED, memory = k_queue_get(&allocated, K_NO_WAIT));
        CHECK(memory == &heap);
    }
    k_thread_heap_assign(driver_thread, NULL);
}
