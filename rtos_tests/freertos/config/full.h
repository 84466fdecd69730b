/* The configuration `full`: queue sets, software timers, delays that can be aborted, and words of the
 * application in each task. Some of this makes services dearer that do not use it. */
#ifndef CONFIG_FULL_H
#define CONFIG_FULL_H

#define DRIVER_WHOLE 1

#define configUSE_TICKLESS_IDLE 0
#define configUSE_QUEUE_SETS 1
#define configUSE_TIMERS 1
#define configTIMER_TASK_PRIORITY (configMAX_PRIORITIES - 1)
/* Of one command, so that it always wraps around, which is the worst state. */
#define configTIMER_QUEUE_LENGTH 1
#define configTIMER_TASK_STACK_DEPTH (2 * configMINIMAL_STACK_SIZE)
#define INCLUDE_xTimerPendFunctionCall 1
#define INCLUDE_xTaskAbortDelay 1
#define configUSE_APPLICATION_TASK_TAG 1
#define configNUM_THREAD_LOCAL_STORAGE_POINTERS 1

#endif
