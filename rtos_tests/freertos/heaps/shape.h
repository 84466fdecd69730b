/* Heaps in a chosen shape, whichever heap the firmware has (DRIVER_HEAP_ALONE is its number). Where there is
 * no free list, the shapes are all the same. */
#ifndef HEAPS_SHAPE_H
#define HEAPS_SHAPE_H

#include <stddef.h>

#include "driver.h"

#define HEAP_HAS_LIST (DRIVER_HEAP_ALONE == 2 || HEAP_MERGES)
#define HEAP_MERGES (DRIVER_HEAP_ALONE == 4 || DRIVER_HEAP_ALONE == 5)
#define HEAP_FREES (DRIVER_HEAP_ALONE != 1)
#define HEAP_CLEARS HEAP_HAS_LIST /* it has pvPortCalloc */

/* Payload of a block that is too small for anything that is measured. */
#define SMALL_BYTES 16u

/* Blocks in the free list; the ends of regions are blocks of no size. 0 where there is no list. */
unsigned list_length(void);

void *must_take(size_t bytes);

/* The heap as after its first allocation: nothing is free but one block, the rest. Of heap_5, with so many
 * regions; of all but the last nothing is free but the end. */
void heap_anew(unsigned regions);

/* N blocks in the list, the last of which alone is large enough; of heap_5 one of them is the end of a region
 * where N is even, and the call sets a new minimum of free memory, or there has been less before. */
void before_take(unsigned n, int less_before);
/* The block was taken from the last one, which was split. */
void after_take(unsigned n, const void *block);

/* In turn: before and after the block that is measured is taken. Then there are N free blocks below it (of
 * heap_2: smaller than it) and one behind it, with the last of which and the latter it merges where blocks do. */
void before_give(unsigned n);
void open_give(unsigned n, const void *block);
void after_give(unsigned n);

#endif
