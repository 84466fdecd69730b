/* Helpers that wait for bits of an event group, in every way that the kernel tells apart. */
#ifndef DRIVER_BITS_H
#define DRIVER_BITS_H

#include "driver.h"

#include "event_groups.h"

/* What is set, and what is not. */
#define WAITED_FOR 0x3u
#define NEVER_SET 0x80u

/* Those who get what they wait for wait for all or any of the bits, and want them cleared or kept; those who do
 * not get it wait for any of others, or for all, one of which is missing. Which takes longest to see is the
 * core's. The last of those who do not get it may wait in the other way, and stand behind the others: then the
 * kernel leaves its loop with it. */
#define WAYS_TO_COME 4u
#define WAYS_TO_MISS 4u
/* All of that: 2 ways to miss it in front, WAYS_TO_MISS behind. */
#define WAYS (WAYS_TO_COME * (2u + WAYS_TO_MISS))

/* Are the bits cleared by those who get them? */
BaseType_t bits_cleared(unsigned state);

/* From helper `first` on: `count` that wait in vain; one that does not; `waiting` in vain, then `matching` not. */
void bits_missed(EventGroupHandle_t group, unsigned first, unsigned count, unsigned way);
void bits_awaited(EventGroupHandle_t group, unsigned helper, unsigned way);
void bits_waiters(EventGroupHandle_t group, unsigned first, unsigned matching, unsigned waiting, unsigned state);

#endif
