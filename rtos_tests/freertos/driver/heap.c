/* pvPortMalloc and vPortFree over the length of the free list; shapes for those who allocate. */
#include "heap.h"

#define CALLOC_BLOCKS_MAX 8u
#define CALLOC_WORDS_MIN 5u
#define CALLOC_WORDS_MAX 16u

unsigned heap_free_blocks(void)
{
    HeapStats_t stats;

    vPortGetHeapStats(&stats);
    return (unsigned)stats.xNumberOfFreeBlocks;
}

void *heap_take(size_t bytes)
{
    void *block = pvPortMalloc(bytes);

    CHECK(block != NULL);
    return block;
}

void holes_take(struct holes *holes, unsigned count, int last_guard)
{
    CHECK(count <= HEAP_BLOCKS_MAX);
    holes->count = count;
    for (unsigned i = 0; i < count; i++) {
        holes->small[i] = heap_take(SMALL_BYTES);
        holes->guard[i] = i + 1 < count || last_guard ? heap_take(1) : NULL;
    }
}

void holes_open(struct holes *holes)
{
    for (unsigned i = 0; i < holes->count; i++)
        vPortFree(holes->small[i]);
}

void holes_close(struct holes *holes)
{
    for (unsigned i = 0; i < holes->count; i++)
        vPortFree(holes->guard[i]);
}

/* Worst: the last of N free blocks is the first that fits, and it is split; the size has to be
 * rounded up, or need not be; the heap has never been so full. */
static void measure_malloc(void)
{
    static const size_t bytes[] = {101, 112};

    for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++) {
        struct holes holes;
        void *block;

        holes_take(&holes, n - 1, 1);
        holes_open(&holes);
        for (unsigned which = 0; which < 2; which++) {
            CHECK(heap_free_blocks() == n);
            xPortResetHeapMinimumEverFreeHeapSize();
            wcet_param(0, n);
            wcet_param(1, which);
            MEASURE(SERVICE_PVPORTMALLOC, block = pvPortMalloc(bytes[which]));
            CHECK(block != NULL);
            CHECK(heap_free_blocks() == n);
            CHECK(n == 1 || (char *)block > (char *)holes.guard[n - 2]);
            CHECK(xPortGetMinimumEverFreeHeapSize() == xPortGetFreeHeapSize());
            vPortFree(block);
        }
        holes_close(&holes);
        CHECK(heap_free_blocks() == 1);
    }
}

/* Worst: N free blocks lie below the one that is freed, and it merges with the last of them and
 * with the block above. */
static void measure_free(void)
{
    for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++) {
        struct holes holes;
        void *block;

        holes_take(&holes, n, 0);
        block = heap_take(100);
        holes_open(&holes);
        CHECK(heap_free_blocks() == n + 1);
        wcet_param(0, n);
        MEASURE(SERVICE_VPORTFREE, vPortFree(block));
        CHECK(heap_free_blocks() == n);
        holes_close(&holes);
        CHECK(heap_free_blocks() == 1);
    }
}

/* Worst: as for pvPortMalloc; the block is filled with zeros. No hole is large enough for the least
 * size. */
static void measure_calloc(void)
{
    for (unsigned n = 1; n <= CALLOC_BLOCKS_MAX; n++) {
        struct holes holes;

        holes_take(&holes, n - 1, 1);
        holes_open(&holes);
        for (unsigned words = CALLOC_WORDS_MIN; words <= CALLOC_WORDS_MAX; words++) {
            uint32_t *block;

            CHECK(heap_free_blocks() == n);
            xPortResetHeapMinimumEverFreeHeapSize();
            wcet_param(0, n);
            wcet_param(1, words);
            MEASURE(SERVICE_PVPORTCALLOC, block = pvPortCalloc(words, sizeof(uint32_t)));
            CHECK(block != NULL && heap_free_blocks() == n);
            CHECK(n == 1 || (char *)block > (char *)holes.guard[n - 2]);
            for (unsigned i = 0; i < words; i++) {
                CHECK(block[i] == 0);
                block[i] = i + 1;
            }
            vPortFree(block);
        }
        holes_close(&holes);
        CHECK(heap_free_blocks() == 1);
    }
}

/* Worst: each block is larger than those before it, so that the largest size is noted anew, or smaller,
 * so that the smallest is, or neither. */
static void measure_stats(void)
{
    size_t bytes;

    MEASURE(SERVICE_XPORTGETFREEHEAPSIZE, bytes = xPortGetFreeHeapSize());
    CHECK(bytes > 0);
    for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++) {
        static HeapStats_t stats CALLER_DATA;
        void *block[HEAP_BLOCKS_MAX];
        void *guard[HEAP_BLOCKS_MAX];

        for (unsigned which = 0; which < 3; which++) {
            for (unsigned i = 0; i + 1 < n; i++) {
                block[i] = heap_take(SMALL_BYTES * (which == 0 ? i + 1 : which == 1 ? n - 1 - i : 1));
                guard[i] = heap_take(1);
            }
            for (unsigned i = 0; i + 1 < n; i++)
                vPortFree(block[i]);
            wcet_param(0, n);
            wcet_param(1, which);
            MEASURE(SERVICE_VPORTGETHEAPSTATS, vPortGetHeapStats(&stats));
            CHECK(stats.xNumberOfFreeBlocks == n);
            CHECK(n == 1 || stats.xSizeOfSmallestFreeBlockInBytes < SMALL_BYTES * 3);
            for (unsigned i = 0; i + 1 < n; i++)
                vPortFree(guard[i]);
            CHECK(heap_free_blocks() == 1);
        }
    }
}

void measure_heap(void)
{
    vPortFree(heap_take(1)); /* sets the heap up */
    CHECK(heap_free_blocks() == 1);
    measure_malloc();
    measure_free();
    if (DRIVER_WHOLE) {
        measure_calloc();
        measure_stats();
    }
}
