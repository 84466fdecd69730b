/* pvPortMalloc and vPortFree over the length of the free list; shapes for those who allocate. */
#include "heap.h"

#define CALLOC_BLOCKS_MAX 8u
#define CALLOC_WORDS_MIN 9u
#define CALLOC_WORDS_MAX 20u
#define CALLOC_RESTS 4u /* bytes behind the last whole word */
#define CALLOC_WORDS (CALLOC_WORDS_MAX - CALLOC_WORDS_MIN + 1)
#define MORE_THAN_ANY_BYTES 4096u /* than any call takes whose allocation is measured */

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

void heap_minimum(unsigned kept)
{
    xPortResetHeapMinimumEverFreeHeapSize();
    if (kept)
        vPortFree(heap_take(MORE_THAN_ANY_BYTES));
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
 * rounded up, or need not be; the heap has never been so full, or has. */
static void measure_malloc(void)
{
    static const size_t bytes[] = {101, 112};

    for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++) {
        struct holes holes;
        void *block;

        holes_take(&holes, n - 1, 1);
        holes_open(&holes);
        for (unsigned which = 0; which < 2 * HEAP_MINIMA; which++) {
            heap_minimum(which >> 1);
            CHECK(heap_free_blocks() == n);
            wcet_param(0, n);
            wcet_param(1, which & 1);
            wcet_param(2, which >> 1);
            MEASURE(SERVICE_PVPORTMALLOC, block = pvPortMalloc(bytes[which & 1]));
            CHECK(block != NULL);
            CHECK(heap_free_blocks() == n);
            CHECK(n == 1 || (char *)block > (char *)holes.guard[n - 2]);
            CHECK((xPortGetMinimumEverFreeHeapSize() < xPortGetFreeHeapSize()) == which >> 1);
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

/* Worst: as for pvPortMalloc; the block is filled with zeros. The bytes behind the last whole word take as long
 * as a word each and two more; what comes first is rounded up, or need not be. No hole is large enough for the
 * least size that is measured. */
static void measure_calloc(void)
{
    for (unsigned n = 1; n <= CALLOC_BLOCKS_MAX; n++) {
        struct holes holes;

        holes_take(&holes, n - 1, 1);
        holes_open(&holes);
        for (unsigned state = 0; state < CALLOC_RESTS * HEAP_MINIMA * CALLOC_WORDS; state++) {
            const unsigned rest = state / HEAP_MINIMA % CALLOC_RESTS;
            const unsigned words = CALLOC_WORDS_MIN + state / HEAP_MINIMA / CALLOC_RESTS;
            const unsigned bytes = rest == 0 ? 4 * words : 4 * (words - 2 - rest) + rest;
            uint8_t *block;

            heap_minimum(state % HEAP_MINIMA);
            CHECK(heap_free_blocks() == n);
            wcet_param(0, n);
            wcet_param(1, words);
            wcet_param(2, rest);
            wcet_param(3, state % HEAP_MINIMA);
            MEASURE(SERVICE_PVPORTCALLOC, block = pvPortCalloc(1, bytes));
            CHECK(block != NULL && heap_free_blocks() == n);
            CHECK(n == 1 || (char *)block > (char *)holes.guard[n - 2]);
            for (unsigned i = 0; i < bytes; i++) {
                CHECK(block[i] == 0);
                block[i] = (uint8_t)(i + 1);
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
