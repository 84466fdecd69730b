/* The configuration `watch`: the kernel of `basic` with what watches it: the trace facility, stacks that
 * are filled to see how much of them was used, a registry of queues, and a clock that tells how long each task
 * ran; and stream buffers that have functions of the application. All of this makes services dearer that do not use
 * it. */
#ifndef CONFIG_WATCH_H
#define CONFIG_WATCH_H

#define DRIVER_WHOLE 0
#define DRIVER_WATCHES 1

#define configUSE_TICKLESS_IDLE 0
#define configUSE_QUEUE_SETS 0
#define configUSE_TIMERS 1
#define configTIMER_TASK_PRIORITY (configMAX_PRIORITIES - 1)
#define configTIMER_QUEUE_LENGTH 1
#define configTIMER_TASK_STACK_DEPTH (2 * configMINIMAL_STACK_SIZE)
#define INCLUDE_xTimerPendFunctionCall 1
#define INCLUDE_xTaskAbortDelay 0
#define configUSE_APPLICATION_TASK_TAG 0
#define configNUM_THREAD_LOCAL_STORAGE_POINTERS 0
#define configUSE_TRACE_FACILITY 1
#define configQUEUE_REGISTRY_SIZE 8
#define INCLUDE_uxTaskGetStackHighWaterMark 1
#define INCLUDE_uxTaskGetStackHighWaterMark2 1
#define configUSE_SB_COMPLETED_CALLBACK 1
#define configGENERATE_RUN_TIME_STATS 1

/* The application's clock runs already. */
extern unsigned driver_run_time(void);
#define portCONFIGURE_TIMER_FOR_RUN_TIME_STATS()
#define portGET_RUN_TIME_COUNTER_VALUE() driver_run_time()

#endif
