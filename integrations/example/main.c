/* One task that fills a queue and empties it, on a Cortex-M3 as QEMU's mps2-an385. It ends the run by
 * semihosting, which `wcetchar capture` waits for. */
#include "FreeRTOS.h"
#include "task.h"
#include "queue.h"

#include <stdint.h>

#define LENGTH 8

extern uint32_t stack_top, data_load, data_start, data_end, bss_start, bss_end;

static StaticTask_t worker_task, idle_task;
static StackType_t worker_stack[256], idle_stack[configMINIMAL_STACK_SIZE];

static void finish(uint32_t status)
{
    uint32_t block[2] = { 0x20026u, status }; /* ADP_Stopped_ApplicationExit */
    register uint32_t operation __asm__("r0") = 0x20u; /* SYS_EXIT_EXTENDED */
    register uint32_t *argument __asm__("r1") = block;
    __asm__ volatile("bkpt 0xab" : : "r"(operation), "r"(argument) : "memory");
    for (;;) {
    }
}

static void worker(void *unused)
{
    static uint32_t item;
    QueueHandle_t queue = xQueueCreate(LENGTH, sizeof item);
    (void)unused;
    if (queue == NULL) {
        finish(1);
    }
    for (item = 0; item < LENGTH; item++) {
        if (xQueueSend(queue, &item, 0) != pdPASS) {
            finish(2);
        }
    }
    for (uint32_t n = 0; n < LENGTH; n++) {
        if (xQueueReceive(queue, &item, 0) != pdPASS || item != n) {
            finish(3);
        }
    }
    finish(0);
}

int main(void)
{
    xTaskCreateStatic(worker, "worker", sizeof worker_stack / sizeof worker_stack[0], NULL, 2, worker_stack,
        &worker_task);
    vTaskStartScheduler();
    finish(4);
    return 0;
}

void vApplicationGetIdleTaskMemory(StaticTask_t **task, StackType_t **stack, configSTACK_DEPTH_TYPE *size)
{
    *task = &idle_task;
    *stack = idle_stack;
    *size = sizeof idle_stack / sizeof idle_stack[0];
}

void Reset_Handler(void)
{
    const volatile uint32_t *from = &data_load;
    for (volatile uint32_t *to = &data_start; to < &data_end; to++) {
        *to = *from++;
    }
    for (volatile uint32_t *to = &bss_start; to < &bss_end; to++) {
        *to = 0;
    }
    main();
}

static void stop(void)
{
    finish(5);
}

void SVC_Handler(void);
void PendSV_Handler(void);
void SysTick_Handler(void);

__attribute__((section(".isr_vector"), used)) const void *const vectors[16] = {
    &stack_top, (void *)Reset_Handler, (void *)stop, (void *)stop, (void *)stop, (void *)stop, (void *)stop, 0, 0, 0,
    0, (void *)SVC_Handler, (void *)stop, 0, (void *)PendSV_Handler, (void *)SysTick_Handler,
};
