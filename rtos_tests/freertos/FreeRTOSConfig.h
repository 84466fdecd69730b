/* The kernel configuration that is characterized, in three parts: what the board needs, what a
 * configuration (config/NAME.h) chooses, and what is the same everywhere. The services files repeat
 * the settings that change what a service costs; a kernel that is configured otherwise needs a
 * characterization of its own.
 */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include "board_config.h"
#include WCET_CONFIG

#ifndef DRIVER_WATCHES
#define DRIVER_WATCHES 0
#endif

/* The scheduler. */
#define configTICK_RATE_HZ 1000
#define configUSE_PREEMPTION 1
#define configUSE_TIME_SLICING 1
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#define configMAX_PRIORITIES 20
#define configMAX_TASK_NAME_LEN 16
#define configIDLE_SHOULD_YIELD 1
#define configUSE_IDLE_HOOK 1
#define configUSE_TICK_HOOK 0

/* What the kernel offers. */
#define configUSE_TASK_NOTIFICATIONS 1
#define configUSE_MUTEXES 1
#define configUSE_RECURSIVE_MUTEXES DRIVER_WHOLE
#define configUSE_COUNTING_SEMAPHORES 1
#define configUSE_EVENT_GROUPS (DRIVER_WHOLE || DRIVER_WATCHES)
#define configUSE_STREAM_BUFFERS (DRIVER_WHOLE || DRIVER_WATCHES)
#define configUSE_CO_ROUTINES 0

/* Memory: the heap is an array of the firmware, so that the linker can place it by itself. */
#define configSUPPORT_DYNAMIC_ALLOCATION 1
#define configSUPPORT_STATIC_ALLOCATION 1
#define configKERNEL_PROVIDED_STATIC_MEMORY 0
#define configAPPLICATION_ALLOCATED_HEAP 1
#define configTOTAL_HEAP_SIZE 16384
#define configENABLE_HEAP_PROTECTOR 0
#define configHEAP_CLEAR_MEMORY_ON_FREE 0

/* Nothing that watches, if the configuration does not say otherwise: no hooks, traces, statistics, stack
 * fill or list checks. */
#ifndef configUSE_TRACE_FACILITY
#define configUSE_TRACE_FACILITY 0
#endif
#ifndef configQUEUE_REGISTRY_SIZE
#define configQUEUE_REGISTRY_SIZE 0
#endif
#ifndef INCLUDE_uxTaskGetStackHighWaterMark
#define INCLUDE_uxTaskGetStackHighWaterMark 0
#endif
#ifndef configGENERATE_RUN_TIME_STATS
#define configGENERATE_RUN_TIME_STATS 0
#endif
#ifndef configUSE_SB_COMPLETED_CALLBACK
#define configUSE_SB_COMPLETED_CALLBACK 0
#endif
#define configCHECK_FOR_STACK_OVERFLOW 0
#define configUSE_MALLOC_FAILED_HOOK 0
#define configUSE_LIST_DATA_INTEGRITY_CHECK_BYTES 0
#define configRECORD_STACK_HIGH_ADDRESS 0

#define INCLUDE_vTaskPrioritySet 1
#define INCLUDE_uxTaskPriorityGet 1
#define INCLUDE_vTaskDelete 1
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_vTaskDelay 1
#define INCLUDE_xTaskDelayUntil DRIVER_WHOLE
#define INCLUDE_xTaskResumeFromISR 1
#define INCLUDE_xTaskGetSchedulerState DRIVER_WHOLE
#define INCLUDE_xTaskGetIdleTaskHandle (DRIVER_WHOLE || DRIVER_WATCHES)
#define INCLUDE_xTaskGetHandle DRIVER_WHOLE
#define INCLUDE_xTaskGetCurrentTaskHandle (DRIVER_WHOLE || DRIVER_WATCHES)
#define INCLUDE_eTaskGetState DRIVER_WHOLE
#define INCLUDE_xSemaphoreGetMutexHolder 1

/* Inside the kernel's own file GCC would put the one addition of vTaskSuspendAll into its callers.
 * A trace then has no call to tell that the scheduler is locked, so these two stay functions. */
extern void vTaskSuspendAll(void) __attribute__((noinline));
extern long xTaskResumeAll(void) __attribute__((noinline));

/* The checking build (make check-elf) turns the kernel's assertions on; the measured one has none,
 * because they would be counted. */
#ifdef WCET_KERNEL_ASSERTIONS
extern void driver_assertion(const char *file, int line) __attribute__((noreturn));
#define configASSERT(condition)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            driver_assertion(__FILE__, __LINE__);                                                  \
    } while (0)
#endif

/* The kernel's own default, which an option changes. */
#define configUSE_MINI_LIST_ITEM 1

/* What is decided otherwise (make OPTION=name). Last, so that it can undo what stands above. */
#ifdef WCET_OPTION
#include WCET_OPTION
#endif

#endif
