#include "shape.h"

#ifdef DRIVER_HEAP_ALONE

#if HEAP_HAS_LIST

struct block {
    struct block *next;
    size_t bytes;
};

extern struct block xStart; /* the kernel's own, made visible */

unsigned list_length(void)
{
    unsigned blocks = 0;

    for (const struct block *block = xStart.next; block->next != NULL; block = block->next)
        blocks++;
    return blocks;
}

#else

unsigned list_length(void)
{
    return 0;
}

#endif

void *must_take(size_t bytes)
{
    void *block = pvPortMalloc(bytes);

    CHECK(block != NULL);
    return block;
}

#if DRIVER_HEAP_ALONE == 5

extern uint8_t ucHeap[configTOTAL_HEAP_SIZE]; /* of driver.c; the kernel does not name it here */

#define REGIONS_MAX 4u
#define HEAD_BYTES ((size_t)((sizeof(struct block) + portBYTE_ALIGNMENT_MASK) & ~(size_t)portBYTE_ALIGNMENT_MASK))
/* A block, and the end. Between regions lies what belongs to none, so that blocks do not merge over it. */
#define REGION_BYTES (HEAD_BYTES + 32u + HEAD_BYTES)
#define GAP_BYTES 32u

void heap_anew(unsigned regions)
{
    static HeapRegion_t region[REGIONS_MAX + 1];
    uint8_t *at = (uint8_t *)(((uintptr_t)ucHeap + portBYTE_ALIGNMENT_MASK) &
                              ~(uintptr_t)portBYTE_ALIGNMENT_MASK);

    CHECK(regions <= REGIONS_MAX);
    for (unsigned i = 0; i + 1 < regions; i++, at += REGION_BYTES + GAP_BYTES) {
        region[i].pucStartAddress = at;
        region[i].xSizeInBytes = REGION_BYTES;
    }
    region[regions - 1].pucStartAddress = at;
    region[regions - 1].xSizeInBytes = (size_t)(ucHeap + configTOTAL_HEAP_SIZE - at);
    region[regions].xSizeInBytes = 0;
    vPortHeapResetState();
    vPortDefineHeapRegions(region);
    for (unsigned i = 0; i + 1 < regions; i++)
        CHECK(must_take(32) == region[i].pucStartAddress + HEAD_BYTES);
    (void)must_take(1);
    CHECK(list_length() == regions);
}

#else

void heap_anew(unsigned regions)
{
    static int used;

    (void)regions;
    if (HEAP_FREES || !used) { /* what heap_1 has given stays in use */
        vPortHeapResetState();
        (void)must_take(1);
    }
    used = 1;
    CHECK(list_length() == (HEAP_HAS_LIST ? 1 : 0));
}

#endif

static struct {
    unsigned count;
    void *small[HEAP_BLOCKS_MAX];
} shape;

/* Small ones; of a heap where they would merge, each with a guard behind it, if `last` the last one as well. */
static void take_small(unsigned count, int last)
{
    CHECK(count <= HEAP_BLOCKS_MAX);
    shape.count = count;
    for (unsigned i = 0; i < count; i++) {
        shape.small[i] = must_take(SMALL_BYTES);
        if (HEAP_MERGES && (last || i + 1 < count))
            (void)must_take(1);
    }
}

static void give_small(void)
{
    for (unsigned i = 0; i < shape.count; i++)
        vPortFree(shape.small[i]);
}

static unsigned ends_of_regions(unsigned blocks)
{
    return DRIVER_HEAP_ALONE == 5 && blocks > 0 && blocks % 2 == 0 ? 1 : 0;
}

static int less_free_before;

void before_take(unsigned n, int less_before)
{
    const unsigned ends = ends_of_regions(n);

    heap_anew(1 + ends);
    less_free_before = less_before;
    if (!HEAP_HAS_LIST)
        return;
    if (less_before)
        vPortFree(must_take(configTOTAL_HEAP_SIZE / 2));
    take_small(n - 1 - ends, 1);
    give_small();
    CHECK(list_length() == n);
#if HEAP_MERGES
    if (!less_before)
        xPortResetHeapMinimumEverFreeHeapSize();
#endif
}

static void check_above(const void *block)
{
    CHECK(block != NULL);
    for (unsigned i = 0; HEAP_HAS_LIST && i < shape.count; i++)
        CHECK((const char *)block > (const char *)shape.small[i]);
}

void after_take(unsigned n, const void *block)
{
    check_above(block);
    CHECK(!HEAP_HAS_LIST || list_length() == n);
#if HEAP_MERGES
    CHECK((xPortGetMinimumEverFreeHeapSize() < xPortGetFreeHeapSize()) == less_free_before);
#endif
}

void before_give(unsigned n)
{
    const unsigned ends = ends_of_regions(n);

    heap_anew(1 + ends);
    if (HEAP_HAS_LIST)
        take_small(n - ends, 0);
}

void open_give(unsigned n, const void *block)
{
    check_above(block);
    if (!HEAP_HAS_LIST)
        return;
    give_small();
    CHECK(list_length() == n + 1);
}

void after_give(unsigned n)
{
    CHECK(!HEAP_HAS_LIST || list_length() == (HEAP_MERGES ? n : n + 2));
}

#endif
