/* Timeouts of others, that come before the one that a service starts: timers, one a tick. */
#ifndef OTHER_TIMEOUTS_H
#define OTHER_TIMEOUTS_H

#include <zephyr/kernel.h>

/* Ticks that no measurement lets pass: the first of these comes after it. */
#define AFTER_IT 100u

/* Starts `count` timers, of which the first comes after `first` ticks, the others one tick after the other. */
void timeouts_start(unsigned count, unsigned first);
/* None of them has come. */
void timeouts_stop(void);
/* Ticks until the last of them comes; 0 if there is none. */
k_ticks_t timeouts_left(void);
/* All of them have come. */
void timeouts_gone(void);

#endif
