/* Heaps in their worst states. Chunks are counted in units of eight bytes, four of which are the header.
 * Free chunks of n units are in the list of floor(log2(n)); at most three of the list of the wanted size
 * are tried (CONFIG_SYS_HEAP_ALLOC_LOOPS). */
#ifndef HEAPS_H
#define HEAPS_H

#include "driver.h"

#define HEAP_BYTES 1024
#define TRIED_MAX 3u
/* A chunk of 9 units: one more than the free ones of the list have. */
#define WANTED_BYTES (9 * 8 - 4)

/* Four free chunks of 8 units, each between two that are used: too small for WANTED_BYTES, and in the same
 * list. Two of 16, of which one is taken, and one in each list that a rest of it may go to; so every list that
 * a chunk is taken out of or put into has others. The rest of the heap is one large chunk. */
void heap_fragment(struct k_heap *heap);
/* The same behind used chunks of these units, one behind the other; 0 ends them. */
void heap_fragment_behind(struct k_heap *heap, const unsigned *units, void **used);
/* The same, but both of 16 units and the large one are used: nothing has WANTED_BYTES. `small`, if it is not
 * NULL: a used chunk between used ones, which is too small as well. `enough`, if it is not NULL: those of 16. */
void heap_fill(struct k_heap *heap, void **small, void *enough[2]);
/* Frees these two (once: they are NULL then) before those who are woken look for memory, so that they find
 * what k_heap_alloc finds. */
void heap_free_enough(struct k_heap *heap, void *enough[2]);
/* As heap_fragment, but the list that two units would be taken from is empty: the first one of a longer list is
 * taken, and the rest of it goes to a list that has another. */
void heap_fragment_longer(struct k_heap *heap);
/* One free chunk of GAP_UNITS, nothing else; then, when it was allocated (all of it or a part), the chunks on
 * both sides are freed, and others: every list that a chunk is taken out of or put into when it is freed has
 * others. MERGED_BYTES are there only then. */
#define GAP_UNITS 9u
#define MERGED_BYTES (21 * 8 - 4)
void heap_gap(struct k_heap *heap);
void heap_gap_between(struct k_heap *heap);
/* Both; what was allocated. */
void *heap_between(struct k_heap *heap);

#endif
