/* The configuration `tickless`: the kernel of `basic`, whose idle task stops the ticks and lets the
 * processor sleep. Only ports that have vPortSuppressTicksAndSleep() can do that. */
#ifndef CONFIG_TICKLESS_H
#define CONFIG_TICKLESS_H

#define DRIVER_WHOLE 0

#define configUSE_TICKLESS_IDLE 1
#define configEXPECTED_IDLE_TIME_BEFORE_SLEEP 2
#define configUSE_QUEUE_SETS 0
#define configUSE_TIMERS 0
#define INCLUDE_xTaskAbortDelay 0

/* The idle task never calls the port's function: the driver does, where it is a service. What stands in its place
 * here returns at once, or lets an interrupt in as if one had ended the sleep (boards/mps2-an385/tickless.c). */
extern void driver_sleeps(void);
#define portSUPPRESS_TICKS_AND_SLEEP(ticks) ((void)(ticks), driver_sleeps())

#endif
