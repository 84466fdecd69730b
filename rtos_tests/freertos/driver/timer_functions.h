/* Goes before the kernel's timers.c: the functions of the timers' task that are measured stay
 * functions. GCC would put each into its only caller, and nothing would tell where it begins. */
#ifndef DRIVER_TIMER_FUNCTIONS_H
#define DRIVER_TIMER_FUNCTIONS_H

#include "FreeRTOS.h"

#define STAYS static __attribute__((noinline, noclone))

STAYS void prvProcessExpiredTimer(const TickType_t xNextExpireTime, const TickType_t xTimeNow);
STAYS void prvProcessReceivedCommands(void);
STAYS void prvSwitchTimerLists(void);

#endif
