/* The configuration `basic`: nothing that makes services dearer which do not use it, and of the
 * services those of services.yaml, so that the firmware is soon run and characterized. */
#ifndef CONFIG_BASIC_H
#define CONFIG_BASIC_H

#define DRIVER_WHOLE 0

#define configUSE_TICKLESS_IDLE 0
#define configUSE_QUEUE_SETS 0
#define configUSE_TIMERS 0
#define INCLUDE_xTaskAbortDelay 0
#define configUSE_APPLICATION_TASK_TAG 0
#define configNUM_THREAD_LOCAL_STORAGE_POINTERS 0

#endif
