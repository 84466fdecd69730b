/* Free lists of heap_4 in a chosen shape. The list is kept in the order of addresses. */
#ifndef DRIVER_HEAP_H
#define DRIVER_HEAP_H

#include <stddef.h>

#include "driver.h"

/* Payload of a block that is too small for anything that is measured. */
#define SMALL_BYTES 16u

/* `count` small blocks that are held, each followed by a guard that keeps them from merging. */
struct holes {
    unsigned count;
    void *small[HEAP_BLOCKS_MAX];
    void *guard[HEAP_BLOCKS_MAX];
};

/* Number of blocks in the free list. */
unsigned heap_free_blocks(void);

/* Takes blocks from the start of an unfragmented heap. The last guard is left out, so that the
 * caller's next allocation lies directly behind the last small block, if `last_guard` is 0. */
void holes_take(struct holes *holes, unsigned count, int last_guard);

/* Gives the small blocks back: that many free blocks below everything else. */
void holes_open(struct holes *holes);

/* Gives the guards back. */
void holes_close(struct holes *holes);

/* Before an allocation: of the two, the first sets a new minimum of free memory, the second does not.
 * Needs an unfragmented heap, but for small blocks. */
#define HEAP_MINIMA 2u
void heap_minimum(unsigned kept);

/* Takes a block that must be had. */
void *heap_take(size_t bytes);

#endif
