/* The configuration `timers`: the kernel of `basic` with software timers, and a queue that holds several
 * commands to them. It shows how the timers' task carries out all that wait. */
#ifndef CONFIG_TIMERS_H
#define CONFIG_TIMERS_H

#define DRIVER_WHOLE 0

#define configUSE_TICKLESS_IDLE 0
#define configUSE_QUEUE_SETS 0
#define configUSE_TIMERS 1
#define configTIMER_TASK_PRIORITY (configMAX_PRIORITIES - 1)
#define configTIMER_QUEUE_LENGTH 8
#define configTIMER_TASK_STACK_DEPTH (2 * configMINIMAL_STACK_SIZE)
#define INCLUDE_xTimerPendFunctionCall 1
#define INCLUDE_xTaskAbortDelay 0
#define configUSE_APPLICATION_TASK_TAG 0
#define configNUM_THREAD_LOCAL_STORAGE_POINTERS 0

#endif
