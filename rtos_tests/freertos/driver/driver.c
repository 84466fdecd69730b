/* The driver's task, the memory that the kernel asks the application for, and the failures. */
#include "driver.h"

#include "board.h"

/* ---- memory ------------------------------------------------------------------------------- */

uint8_t ucHeap[configTOTAL_HEAP_SIZE] __attribute__((section(".noinit.heap"), aligned(8)));

volatile unsigned char wcet_mark[WCET_CHANNELS][WCET_VALUES]
    __attribute__((section(".noinit.wcet_mark")));

#define DRIVER_STACK_WORDS 512

static StaticTask_t driver_control KERNEL_OBJECT;
static StaticTask_t idle_control KERNEL_OBJECT;
static StackType_t driver_stack[DRIVER_STACK_WORDS] TASK_STACK;
static StackType_t idle_stack[configMINIMAL_STACK_SIZE] TASK_STACK;

void vApplicationGetIdleTaskMemory(StaticTask_t **control, StackType_t **stack,
                                   configSTACK_DEPTH_TYPE *words)
{
    *control = &idle_control;
    *stack = idle_stack;
    *words = configMINIMAL_STACK_SIZE;
}

#if configUSE_TIMERS == 1
static StaticTask_t timers_control KERNEL_OBJECT;
static StackType_t timers_stack[configTIMER_TASK_STACK_DEPTH] TASK_STACK;

void vApplicationGetTimerTaskMemory(StaticTask_t **control, StackType_t **stack,
                                    configSTACK_DEPTH_TYPE *words)
{
    *control = &timers_control;
    *stack = timers_stack;
    *words = configTIMER_TASK_STACK_DEPTH;
}
#endif

/* ---- the run ------------------------------------------------------------------------------ */

unsigned driver_invocations;
TaskHandle_t driver_handle;
void (*driver_on_interrupt)(void);

void driver_interrupt(void)
{
    if (driver_on_interrupt != NULL)
        driver_on_interrupt();
}

#if configUSE_TICKLESS_IDLE == 0
/* The driver blocks only to let time pass, so the idle task need not sleep: it makes the tick. */
void vApplicationIdleHook(void)
{
#if DRIVER_WHOLE
    driver_on_idle();
#else
    board_tick();
#endif
}
#endif

static void driver_task(void *unused)
{
    (void)unused;
#ifdef BOARD_FIRST_TASK_BEGINS
    BOARD_FIRST_TASK_BEGINS();
#endif
#if configUSE_TICKLESS_IDLE != 0
    board_first_task_begins();
#endif
#ifdef DRIVER_HEAP_ALONE
    measure_heap_alone();
#elif DRIVER_INTERRUPTS_ALONE
    measure_time();
#if DRIVER_WHOLE
    measure_interrupts();
#endif
#else
#if configUSE_TIMERS == 1 && !DRIVER_WHOLE && !DRIVER_WATCHES
    measure_timer_task();
#endif
    measure_scheduler();
    measure_heap();
    measure_lists();
    measure_tasks();
    if (DRIVER_WHOLE)
        measure_control();
    measure_queues();
    measure_semaphores();
    measure_notifications();
    if (DRIVER_WHOLE)
        measure_events();
#if configUSE_STREAM_BUFFERS == 1
    measure_streams();
#endif
#if configUSE_QUEUE_SETS == 1
    measure_sets();
#endif
#if configUSE_TIMERS == 1 && DRIVER_WHOLE
    measure_timers();
    measure_timer_task();
#endif
#if configUSE_TICKLESS_IDLE != 0
    measure_tickless();
#endif
    measure_time();
#if DRIVER_WATCHES
    measure_watching();
#endif
#if DRIVER_WHOLE
    measure_ticks();
    measure_blocking();
    measure_waits();
    measure_meetings();
    measure_neighbours();
    measure_locked();
    measure_rounds();
    measure_fails();
    measure_queries();
    measure_idle();
    measure_interrupts();
#endif
#ifdef BOARD_HAS_SERVICES
    measure_board();
#endif
#endif
    board_print("done: ");
    board_print_number(driver_invocations);
    board_print(" invocations\n");
    board_exit(0);
}

void driver_main(void)
{
    driver_handle = xTaskCreateStatic(driver_task, "driver", DRIVER_STACK_WORDS, NULL,
                                      PRIORITY_DRIVER, driver_stack, &driver_control);
    CHECK(driver_handle != NULL);
    vTaskStartScheduler();
    driver_failed(__FILE__, __LINE__, "the scheduler does not return");
}

/* ---- failures ----------------------------------------------------------------------------- */

static void say_where(const char *file, int line)
{
    board_print(file);
    board_print(":");
    board_print_number((unsigned)line);
    board_print(": ");
}

void driver_failed(const char *file, int line, const char *condition)
{
    say_where(file, line);
    board_print("does not hold: ");
    board_print(condition);
    board_print("\n");
    board_exit(2);
}

void driver_assertion(const char *file, int line)
{
    say_where(file, line);
    board_print("the kernel's assertion failed\n");
    board_exit(4);
}

void wcet_value_out_of_range(unsigned channel, unsigned value)
{
    board_print("a mark is out of range: channel ");
    board_print_number(channel);
    board_print(", value ");
    board_print_number(value);
    board_print("\n");
    board_exit(2);
}

#if configCHECK_FOR_STACK_OVERFLOW > 0
void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
    (void)task;
    board_print(name);
    board_print(": its stack is too small\n");
    board_exit(2);
}
#endif
