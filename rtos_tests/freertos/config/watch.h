/* The configuration `watch`: the kernel of `basic` with what watches it: the trace facility, stacks that
 * are filled to see how much of them was used, and a registry of queues. All of this makes services dearer
 * that do not use it. */
#ifndef CONFIG_WATCH_H
#define CONFIG_WATCH_H

#define DRIVER_WHOLE 0
#define DRIVER_WATCHES 1

#define configUSE_TICKLESS_IDLE 0
#define configUSE_QUEUE_SETS 0
#define configUSE_TIMERS 0
#define INCLUDE_xTaskAbortDelay 0
#define configUSE_APPLICATION_TASK_TAG 0
#define configNUM_THREAD_LOCAL_STORAGE_POINTERS 0
#define configUSE_TRACE_FACILITY 1
#define configQUEUE_REGISTRY_SIZE 8
#define INCLUDE_uxTaskGetStackHighWaterMark 1
#define INCLUDE_uxTaskGetStackHighWaterMark2 1

#endif
