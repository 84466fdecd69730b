/* Helpers that wait for bits of an event group, in every way that the kernel tells apart. */
#ifndef DRIVER_BITS_H
#define DRIVER_BITS_H

#include "driver.h"

#include "event_groups.h"
#include "helpers.h"
#include "urgency.h"

/* What is set, and what is not. */
#define WAITED_FOR 0x3u
#define NEVER_SET 0x80u

/* Those who get what they wait for wait for all or any of the bits, and want them cleared or kept; those who do
 * not get it wait for any of others, or for all, one of which is missing. Which takes longest to see is the
 * core's. The last of those who do not get it may wait in the other way, and stand behind the others: then the
 * kernel leaves its loop with it. */
#define WAYS_TO_COME 4u
#define WAYS_TO_MISS 4u
/* All of that: 2 ways to miss it in front, WAYS_TO_MISS behind. In a state beyond, nobody else is suspended: the
 * others have a time limit, which lies far away. */
#define WAYS (WAYS_TO_COME * (2u + WAYS_TO_MISS))
#define BITS_STATES (FRONTS * WAYS)

/* Are the bits cleared by those who get them? */
BaseType_t bits_cleared(unsigned state);
/* Who stands in front of them, for suspended_in_front. */
enum in_front bits_front(unsigned state);
/* Marks the case, which holds how urgent they are as well, and who stands in front, as the parameter after it. */
void bits_mark(unsigned parameter, unsigned state, enum urgent urgent);

/* From helper `first` on: `count` that wait in vain; one that does not; `waiting` in vain, then `matching` not. */
void bits_missed(EventGroupHandle_t group, unsigned first, unsigned count, unsigned way);
void bits_awaited(EventGroupHandle_t group, unsigned helper, unsigned way);
void bits_waiters(EventGroupHandle_t group, unsigned first, unsigned matching, unsigned waiting, unsigned state);

#endif
