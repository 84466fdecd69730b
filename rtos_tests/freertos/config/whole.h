/* The configuration `whole`: the kernel of `basic`, and every service that it has. */
#ifndef CONFIG_WHOLE_H
#define CONFIG_WHOLE_H

#define DRIVER_WHOLE 1

#define configUSE_TICKLESS_IDLE 0
#define configUSE_QUEUE_SETS 0
#define configUSE_TIMERS 0
#define INCLUDE_xTaskAbortDelay 0
#define configUSE_APPLICATION_TASK_TAG 0
#define configNUM_THREAD_LOCAL_STORAGE_POINTERS 0

#endif
