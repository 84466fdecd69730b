/* Others that poll: whatever they poll, they wait in one queue of the kernel's. */
#ifndef POLLERS_H
#define POLLERS_H

#include "driver.h"

/* What helpers are told to wait in: they poll a signal. */
int pollers_poll(void *unused, void *unused2);
/* The kernel's queue; no helpers are started. */
_wait_q_t *pollers_queue(void);
/* All `count` of them go on. */
void pollers_end(unsigned count);

#endif
