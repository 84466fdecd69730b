/* Creation and deletion of tasks. */
#include "heap.h"
#include "queue.h"

/* An odd number of words, so that the size of the stack has to be rounded up. */
#define STACK_WORDS 65

/* As long as a name can be: the copy ends only at configMAX_TASK_NAME_LEN. */
static const char longest_name[] CALLER_CONSTANT = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

static TaskHandle_t created CALLER_DATA;

static void never_runs(void *unused)
{
    (void)unused;
    CHECK(!"a task of lower priority ran");
}

/* Worst: the last of N free blocks is the only one that holds the stack, and after it the only one
 * that holds the control block, so that both allocations pass all N and split it; both sizes have
 * to be rounded up and both set a new minimum of free memory; the name has the full length. */
static void measure_create(void)
{
    for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++) {
        struct holes holes;
        BaseType_t result;

        holes_take(&holes, n - 1, 1);
        holes_open(&holes);
        CHECK(heap_free_blocks() == n);
        xPortResetHeapMinimumEverFreeHeapSize();
        wcet_param(0, n);
        MEASURE(SERVICE_XTASKCREATE,
                result = xTaskCreate(never_runs, longest_name, STACK_WORDS, NULL,
                                     PRIORITY_CREATED, &created));
        CHECK(result == pdPASS);
        CHECK(heap_free_blocks() == n);
        CHECK(n == 1 || (char *)created > (char *)holes.guard[n - 2]);
        CHECK(uxTaskPriorityGet(created) == PRIORITY_CREATED);
        vTaskDelete(created);
        holes_close(&holes);
        CHECK(heap_free_blocks() == 1);
    }
}

void measure_tasks(void)
{
    measure_create();
}
