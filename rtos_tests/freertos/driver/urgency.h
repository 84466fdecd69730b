/* Tasks that are woken and more urgent than the caller, or not: then no switch follows. */
#ifndef DRIVER_URGENCY_H
#define DRIVER_URGENCY_H

#include "helpers.h"

/* Of those that are woken: none is more urgent than the caller, all are, or the last alone. */
enum urgent { NONE_URGENT, ALL_URGENT, LAST_URGENT };

/* As helpers_start. Beside one that is more urgent, the others come to a list in which another task, one more
 * helper, stands ready, so that each of them costs the same. */
void urgency_start(unsigned count, enum urgent urgent);
/* Parks a helper ready, with a priority that lets it not run. */
void urgency_stand(unsigned helper, UBaseType_t priority);
/* Helpers `first`... wait: gives those that are not to be more urgent than the caller their priority. */
void urgency_set(unsigned first, unsigned count, enum urgent urgent);
/* They stand ready behind the caller, or have run meanwhile (`ran`); gives them back their own priority. */
void urgency_check(unsigned first, unsigned count, enum urgent urgent, int ran);

/* Starts `delayed` helpers, which the caller gives their orders, and one more that waits by `order` for what the
 * caller does in the end: more urgent than it, or no more. */
void urgency_wait_for_caller(helper_function *order, unsigned delayed, int urgent);
/* The first of them brought what the caller waited for; the last one has run, or stands ready and runs now. */
void urgency_check_went_on(unsigned delayed, int urgent);

#endif
