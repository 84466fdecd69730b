/* The kernel's other heaps, each in a firmware of its own: DRIVER_HEAP_ALONE is the heap's number. */
#include "driver.h"

#ifdef DRIVER_HEAP_ALONE

#include <stdlib.h>

/* The board's services file names the sections of these. */
static const char nothing[] CALLER_CONSTANT = "";
static void *block CALLER_DATA __attribute__((used));

#if DRIVER_HEAP_ALONE == 1

/* Worst: the size has to be rounded up. There is no list: nothing else changes what a call takes. */
void measure_heap_alone(void)
{
    size_t before;

    CHECK(pvPortMalloc(8) != NULL);
    before = xPortGetFreeHeapSize();
    MEASURE(SERVICE_PVPORTMALLOC, block = pvPortMalloc(101));
    CHECK(block != NULL && xPortGetFreeHeapSize() == before - 104);
}

#elif DRIVER_HEAP_ALONE == 2

#define SMALL_BYTES 16u

/* The free list is kept in the order of sizes and nothing merges. Worst of pvPortMalloc: the last of N
 * blocks is the only one that holds the size, which has to be rounded up, and what is left of it is
 * still the largest, so that both the search and the insertion pass all others. Worst of vPortFree:
 * the block is larger than N others. */
void measure_heap_alone(void)
{
    void *small[HEAP_BLOCKS_MAX];

    for (unsigned n = 2; n <= HEAP_BLOCKS_MAX; n++) {
        size_t before;

        /* One small block more than there are. */
        for (unsigned i = 0; i < n - 1; i++) {
            small[i] = pvPortMalloc(SMALL_BYTES);
            CHECK(small[i] != NULL);
        }
        for (unsigned i = 0; i < n - 1; i++)
            vPortFree(small[i]);
        before = xPortGetFreeHeapSize();
        wcet_param(0, n);
        MEASURE(SERVICE_PVPORTMALLOC, block = pvPortMalloc(101));
        for (unsigned i = 0; i < n - 1; i++)
            CHECK((char *)block > (char *)small[i]);
        CHECK(xPortGetFreeHeapSize() == before - 112);
        wcet_param(0, n - 1);
        MEASURE(SERVICE_VPORTFREE, vPortFree(block));
        CHECK(xPortGetFreeHeapSize() == before);
        /* Out of the way of what comes next. */
        CHECK(pvPortMalloc(101) == block);
    }
}

#elif DRIVER_HEAP_ALONE == 3

/* The C library's functions, with nothing in them: what is measured is what the kernel does around. */
CALLER_TEXT void *malloc(size_t bytes)
{
    return (void *)bytes;
}

CALLER_TEXT void free(void *unused)
{
    (void)unused;
}

void measure_heap_alone(void)
{
    MEASURE(SERVICE_PVPORTMALLOC, block = pvPortMalloc(101));
    CHECK(block == (void *)101);
    MEASURE(SERVICE_VPORTFREE, vPortFree(block));
}

#elif DRIVER_HEAP_ALONE == 5

#include "heap.h"

extern uint8_t ucHeap[configTOTAL_HEAP_SIZE]; /* of driver.c; the kernel does not name it here */

/* One region. The end of each region but the last stands in the list as a block of no size. */
void measure_heap_alone(void)
{
    static HeapRegion_t regions[2];

    regions[0].pucStartAddress = ucHeap;
    regions[0].xSizeInBytes = configTOTAL_HEAP_SIZE;
    vPortDefineHeapRegions(regions);
    CHECK(heap_free_blocks() == 1);
    measure_heap();
}

#endif

#endif
