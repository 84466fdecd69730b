/* The configuration `basic`: tasks, notifications, queues, semaphores and mutexes, nothing that
 * makes these dearer. */
#ifndef CONFIG_BASIC_H
#define CONFIG_BASIC_H

#define configUSE_TICKLESS_IDLE 0
#define configUSE_RECURSIVE_MUTEXES 0
#define configUSE_QUEUE_SETS 0
#define configUSE_TIMERS 0
#define INCLUDE_xTaskDelayUntil 0

#endif
