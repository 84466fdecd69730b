/* Creation and deletion of tasks, and their priorities. */
#include <string.h>

#include "heap.h"
#include "helpers.h"
#include "semphr.h"

/* An odd number of words, so that the size of the stack has to be rounded up; of three more it need not be. */
#define STACK_WORDS 129u

/* Where the kernel fills new stacks, their size is a parameter, in fours of words beside one: of a few numbers of free
 * blocks, more sizes. */
#if configUSE_TRACE_FACILITY == 1
static const unsigned fours[] = {STACK_WORDS / 4, 33, 34, 35, 38, 47, 64, 77, 96};
#define SIZES(n) ((n) <= 2 || (n) == 5 || (n) == HEAP_BLOCKS_MAX ? sizeof fours / sizeof *fours : 1u)
#define WORDS(size) (4 * fours[size] + 1)
#else
#define SIZES(n) 1u
#define WORDS(size) STACK_WORDS
#endif

/* As long as a name can be: the copy ends only at configMAX_TASK_NAME_LEN. */
static const char longest_name[] CALLER_CONSTANT = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

static TaskHandle_t created CALLER_DATA;
static StaticQueue_t empty_control KERNEL_OBJECT;
static uint8_t empty_storage[4] KERNEL_OBJECT;
static QueueHandle_t empty;

static void never_runs(void *unused)
{
    (void)unused;
    CHECK(!"a task of lower priority ran");
}

static void suspends_itself(void *unused)
{
    (void)unused;
    for (;;)
        vTaskSuspend(NULL);
}

/* `limit`: as a pointer; none: for ever. */
static void waits_for(void *limit)
{
    uint32_t item;

    (void)xQueueReceive(empty, &item, limit == NULL ? portMAX_DELAY : (TickType_t)(uintptr_t)limit);
    CHECK(!"something was received from a queue that nobody sends to");
}

/* Memory of tasks that are neither created nor deleted by what is measured: that lies with all other objects. */
static StaticTask_t controls[2] KERNEL_OBJECT;
static StackType_t first_stack[STACK_WORDS] TASK_STACK, second_stack[STACK_WORDS] TASK_STACK;
enum memory { FIRST, SECOND };

static TaskHandle_t create(enum memory where, TaskFunction_t function, void *argument, UBaseType_t priority)
{
    StackType_t *const stack = where == FIRST ? first_stack : second_stack;
    TaskHandle_t task = xTaskCreateStatic(function, longest_name, STACK_WORDS, argument, priority, stack,
                                          &controls[where]);

    CHECK(task != NULL);
    return task;
}

/* Where another task is delayed, the victim is the only one in the list of suspended tasks; else the
 * timers' task may be there, and the victim is the only one that is delayed. */
#define LIMIT ((void *)1000)
static void *limit_of(int another_is_delayed)
{
    return another_is_delayed ? NULL : LIMIT;
}

/* Worst: the last of N free blocks is the only one that holds the stack, and after it the only one
 * that holds the control block, so that both allocations pass all N and split the last; the size of the
 * stack has to be rounded up, or need not be (three words more); both set a new minimum of free memory, or
 * neither does; the name has the full length. The new task is less urgent, so no switch follows. */
static void measure_create(void)
{
    for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++) {
        struct holes holes;
        BaseType_t result;

        holes_take(&holes, n - 1, 1);
        holes_open(&holes);
        for (unsigned both = 0; both < 2 * HEAP_MINIMA * SIZES(n); both++) {
            const unsigned state = both / HEAP_MINIMA % 2, kept = both % HEAP_MINIMA;
            const unsigned words = WORDS(both / HEAP_MINIMA / 2);
            unsigned next = 0;

            heap_minimum(kept);
            CHECK(heap_free_blocks() == n);
            wcet_param(next++, n);
            if (configUSE_TRACE_FACILITY == 1)
                wcet_param(next++, words / 4);
            wcet_param(next++, state);
            wcet_param(next, kept);
            MEASURE(SERVICE_XTASKCREATE,
                    result = xTaskCreate(never_runs, longest_name, words + 3 * state, NULL,
                                         PRIORITY_CREATED, &created));
            CHECK(result == pdPASS);
            CHECK(heap_free_blocks() == n);
            CHECK(n == 1 || (char *)created > (char *)holes.guard[n - 2]);
            CHECK((xPortGetMinimumEverFreeHeapSize() < xPortGetFreeHeapSize()) == kept);
            CHECK(uxTaskPriorityGet(created) == PRIORITY_CREATED);
            CHECK(memcmp(pcTaskGetName(created), longest_name, configMAX_TASK_NAME_LEN - 1) == 0);
            vTaskDelete(created);
        }
        holes_close(&holes);
        CHECK(heap_free_blocks() == 1);
    }
}

/* The same, but the new task is more urgent, runs before the call returns, and suspends itself. */
static void measure_create_switch(void)
{
    for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++) {
        struct holes holes;
        BaseType_t result;

        holes_take(&holes, n - 1, 1);
        holes_open(&holes);
        for (unsigned both = 0; both < 2 * HEAP_MINIMA; both++) {
            const unsigned state = both / HEAP_MINIMA, kept = both % HEAP_MINIMA;

            heap_minimum(kept);
            CHECK(heap_free_blocks() == n);
            wcet_param(0, n);
            wcet_param(1, state);
            wcet_param(2, kept);
            MEASURE(SERVICE_XTASKCREATE_SWITCH,
                    result = xTaskCreate(suspends_itself, longest_name, STACK_WORDS + 3 * state, NULL,
                                         PRIORITY_DRIVER + 2, &created));
            CHECK(result == pdPASS && heap_free_blocks() == n);
            CHECK(n == 1 || (char *)created > (char *)holes.guard[n - 2]);
            CHECK((xPortGetMinimumEverFreeHeapSize() < xPortGetFreeHeapSize()) == kept);
            CHECK(uxTaskPriorityGet(created) == PRIORITY_DRIVER + 2);
            vTaskDelete(created);
        }
        holes_close(&holes);
        CHECK(heap_free_blocks() == 1);
    }
}

/* Worst for the heap: N free blocks lie below the stack, and stack and control block each merge
 * with a free block on both sides, so that both have N free blocks below when they are freed.
 *
 *     ... small N | stack | gap | control block | rest of the heap
 *
 * Worst for the scheduler: the task waits for an event, alone in its list (limit_of), and is alone at its
 * priority. Another task is delayed, or none is. */
static void measure_delete_at(unsigned n, int another_is_delayed)
{
    struct holes holes;
    void *stack;
    void *gap;
    void *control;

    another_delayed(another_is_delayed);
    holes_take(&holes, n, 0);
    stack = heap_take(STACK_WORDS * sizeof(StackType_t));
    gap = heap_take(SMALL_BYTES);
    control = heap_take(sizeof(StaticTask_t));
    vPortFree(stack);
    vPortFree(control);
    CHECK(xTaskCreate(waits_for, "victim", STACK_WORDS, limit_of(another_is_delayed),
                      PRIORITY_DRIVER + 2, &created) == pdPASS);
    CHECK((void *)created == control);
    CHECK(((StaticTask_t *)created)->pxDummy6 == stack);
    CHECK(listCURRENT_LIST_LENGTH(list_of(created)) == 1);
    vPortFree(gap);
    holes_open(&holes);
    CHECK(heap_free_blocks() == n + 2);
    wcet_param(0, n);
    if (another_is_delayed)
        MEASURE(SERVICE_VTASKDELETE, vTaskDelete(created));
    else
        MEASURE(SERVICE_VTASKDELETE_NONE_DELAYED, vTaskDelete(created));
    CHECK(heap_free_blocks() == n);
    holes_close(&holes);
    CHECK(heap_free_blocks() == 1);
    another_delayed(0);
}

static void measure_delete(void)
{
    empty = xQueueCreateStatic(1, sizeof(uint32_t), empty_storage, &empty_control);
    for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++) {
        measure_delete_at(n, 1);
        if (DRIVER_WHOLE)
            measure_delete_at(n, 0);
    }
}

/* The caller has inherited a priority and lowers its own, after which the kernel asks for a switch that finds
 * the caller again. In its ready list it is alone or stands behind another task, but is chosen before that, and
 * the index stands on it or does not. */
static void measure_inherited_priority(unsigned place)
{
    static StaticQueue_t mutex_control KERNEL_OBJECT;
    const SemaphoreHandle_t mutex = xSemaphoreCreateMutexStatic(&mutex_control);
    const UBaseType_t inherited = PRIORITY_DRIVER + 1;
    const int shares = place >= 2;
    TaskHandle_t beside;
    List_t *list;

    CHECK(xSemaphoreTake(mutex, 0) == pdTRUE);
    helpers_start(1);
    helper_take(0, mutex, portMAX_DELAY);
    CHECK(uxTaskPriorityGet(NULL) == inherited);
    list = list_of(driver_handle);
    put_index_on(driver_handle);
    if (shares) {
        CHECK(xTaskCreate(never_runs, longest_name, STACK_WORDS, NULL, inherited, &beside) == pdPASS);
        if (place == 3)
            put_index_on(beside);
    } else if (place == 1) {
        list->pxIndex = (ListItem_t *)&list->xListEnd;
    }
    CHECK(listCURRENT_LIST_LENGTH(list) == (shares ? 2 : 1));
    wcet_param(0, place);
    MEASURE(SERVICE_VTASKPRIORITYSET_OWN_INHERITED, vTaskPrioritySet(NULL, PRIORITY_CREATED));
    CHECK(uxTaskPriorityGet(NULL) == inherited);
    if (shares)
        vTaskDelete(beside);
    vTaskPrioritySet(NULL, PRIORITY_DRIVER);
    CHECK(xSemaphoreGive(mutex) == pdTRUE && uxTaskPriorityGet(NULL) == PRIORITY_DRIVER);
    CHECK(!helper_busy(0));
    helpers_stop();
}

/* The caller lowers its own priority and stays the most urgent task that is ready: the same switch is asked for. It
 * is alone in its ready list, and the index stands on it or does not. */
static void measure_own_priority(unsigned place)
{
    List_t *const list = list_of(driver_handle);

    CHECK(listCURRENT_LIST_LENGTH(list) == 1);
    if (place == 0)
        put_index_on(driver_handle);
    else
        list->pxIndex = (ListItem_t *)&list->xListEnd;
    wcet_param(0, 4 + place);
    MEASURE(SERVICE_VTASKPRIORITYSET_OWN_INHERITED, vTaskPrioritySet(NULL, PRIORITY_CREATED));
    CHECK(uxTaskPriorityGet(NULL) == PRIORITY_CREATED && list_of(driver_handle) != list);
    CHECK(listCURRENT_LIST_LENGTH(list) == 0);
    vTaskPrioritySet(NULL, PRIORITY_DRIVER);
}

/* On what the kernel's way depends when it changes a priority: whose it is and whether its event item tells
 * bits of an event group, which direction it takes and whether a priority was inherited, as which the task
 * keeps or surpasses it. Where it was, base and new priority lie so far from the task's present one. */
static const struct {
    enum { ANOTHER, CALLER, WOKEN } whose;
    int base, after;
} changes[] = {
    {ANOTHER, 0, 1}, {ANOTHER, -1, 0}, {ANOTHER, -1, 1}, {ANOTHER, 0, -1}, {ANOTHER, -1, -2},
    {CALLER, 0, 1},  {CALLER, -1, 0},  {CALLER, -1, 1},
    {WOKEN, 0, 1},   {WOKEN, -1, 0},   {WOKEN, -1, 1},   {WOKEN, 0, -1},   {WOKEN, -1, -2},
};

#define CHANGES (sizeof changes / sizeof changes[0])
#define PRIORITY_CHANGED (PRIORITY_CREATED + 1)

/* The task stands in its ready list alone or before another, and the list's index stands on it or does not. What
 * it takes many calls to reach is written by hand: the index, which stands on the task that ran last, an
 * inherited priority, and the value of the event item, which lasts until the woken task runs. */
static void measure_priority_change(unsigned change, unsigned place)
{
    const int own = changes[change].whose == CALLER;
    const UBaseType_t before = own ? PRIORITY_DRIVER : PRIORITY_CHANGED;
    const UBaseType_t after = before + changes[change].after;
    const int shares = place >= 2, indexed = place % 2 == 0;
    TaskHandle_t task, beside = NULL;
    StaticTask_t *control;
    List_t *list;

    created = own ? NULL : create(FIRST, never_runs, NULL, before);
    if (shares)
        beside = create(SECOND, never_runs, NULL, before);
    task = own ? driver_handle : created;
    control = (StaticTask_t *)task;
    list = list_of(task);
    CHECK(listCURRENT_LIST_LENGTH(list) == (shares ? 2 : 1));
    list->pxIndex = (ListItem_t *)&list->xListEnd;
    if (indexed)
        put_index_on(task);
    CHECK(control->uxDummy12[0] == before);
    control->uxDummy12[0] = before + changes[change].base;
    if (changes[change].whose == WOKEN)
        control->xDummy3[1].xDummy2 |= ~(~(TickType_t)0 >> 1);
    wcet_param(0, change);
    wcet_param(1, place);
    MEASURE(SERVICE_VTASKPRIORITYSET, vTaskPrioritySet(created, after));
    CHECK(uxTaskPriorityGet(created) == (after > before ? after : changes[change].base == 0 ? after : before));
    CHECK(control->uxDummy12[0] == after);
    if (shares)
        vTaskDelete(beside);
    if (own)
        vTaskPrioritySet(NULL, PRIORITY_DRIVER);
    else
        vTaskDelete(created);
    CHECK(uxTaskPriorityGet(NULL) == PRIORITY_DRIVER);
}

static void measure_priority(void)
{
    UBaseType_t priority;

    for (unsigned change = 0; change < CHANGES; change++)
        for (unsigned place = 0; place < 4; place++)
            measure_priority_change(change, place);
    for (unsigned place = 0; DRIVER_WHOLE && place < 4; place++)
        measure_inherited_priority(place);
    for (unsigned place = 0; DRIVER_WHOLE && place < 2; place++)
        measure_own_priority(place);
    /* Worst: the caller, which is looked up. */
    MEASURE(SERVICE_UXTASKPRIORITYGET, priority = BEHIND_STORES(uxTaskPriorityGet)(NULL));
    CHECK(priority == PRIORITY_DRIVER);
}

/* Worst: as for vTaskDelete; the task is resumed from the list of suspended tasks at once. */
static void measure_suspend(void)
{
    if (DRIVER_WHOLE) {
        created = create(FIRST, waits_for, limit_of(0), PRIORITY_DRIVER + 2);
        CHECK(listCURRENT_LIST_LENGTH(list_of(created)) == 1);
        MEASURE(SERVICE_VTASKSUSPEND_NONE_DELAYED, vTaskSuspend(created));
        vTaskDelete(created);
    }
    another_delayed(1);
    created = create(FIRST, waits_for, limit_of(1), PRIORITY_DRIVER + 2);
    CHECK(listCURRENT_LIST_LENGTH(list_of(created)) == 1);
    MEASURE(SERVICE_VTASKSUSPEND, vTaskSuspend(created));
    vTaskDelete(created);
    created = create(FIRST, never_runs, NULL, PRIORITY_CREATED);
    vTaskSuspend(created);
    MEASURE(SERVICE_VTASKRESUME, vTaskResume(created));
    vTaskDelete(created);
    another_delayed(0);
}

void measure_tasks(void)
{
    measure_create();
    if (DRIVER_WHOLE)
        measure_create_switch();
    measure_delete();
    measure_priority();
    measure_suspend();
}
