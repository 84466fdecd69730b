/* The kernel's other heaps, with everything that takes memory from them and gives it back. The states are those
 * of driver/, in the shapes of each heap (shape.c). */
#include "driver.h"

#ifdef DRIVER_HEAP_ALONE

#include <stdlib.h>

#include "board.h"
#include "helpers.h"
#include "shape.h"
#include "switches.h"
#include "urgency.h"

#include "event_groups.h"
#include "message_buffer.h"
#include "semphr.h"
#include "stream_buffer.h"
#include "timers.h"

/* Of pvPortCalloc. */
#define CLEARED_BLOCKS_MAX 8u
#define CLEARED_WORDS_MIN 9u
#define CLEARED_WORDS_MAX 20u
#define CLEARED_RESTS 4u /* bytes behind the last whole word */

#define WAITING_MAX 6u
#define NEVER_SET 0x80u

/* Without a list N is no parameter: one call of each. */
#define BLOCKS_MAX (HEAP_HAS_LIST ? HEAP_BLOCKS_MAX : 1u)
#define FEW_BLOCKS_MAX (HEAP_HAS_LIST ? 6u : 1u)
/* heap_3 rounds no sizes: one is enough, and no case. */
#define SIZES(number) (DRIVER_HEAP_ALONE == 3 ? 1u : (number))

/* As long as a name can be: the copy ends only at configMAX_TASK_NAME_LEN. */
static const char longest_name[] CALLER_CONSTANT = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* An odd number of words, so that the size of the stack has to be rounded up; of three more it need not be. */
#define STACK_WORDS 129u

static TaskHandle_t created CALLER_DATA;
static EventGroupHandle_t group;
static StaticQueue_t empty_control KERNEL_OBJECT;
static uint8_t empty_storage[4] KERNEL_OBJECT;
static QueueHandle_t empty;

/* ---- the C library's part --------------------------------------------------------------------- */

#if DRIVER_HEAP_ALONE == 3

/* What heap_3 asks the C library for: always the same memory, by the fewest instructions. Only one thing is
 * taken at a time, but for a task: there the control block is at the lower end of the stack, which the task does
 * not reach. */
static uint64_t memory[512] __attribute__((section(".noinit.heap"), aligned(16)));

CALLER_TEXT void *malloc(size_t unused)
{
    (void)unused;
    return memory;
}

CALLER_TEXT void free(void *unused)
{
    (void)unused;
}

#endif

/* ---- marks ------------------------------------------------------------------------------------- */

/* Where there is a list, its length is the first parameter. Returns which parameter is the next. */
static unsigned mark_blocks(unsigned n)
{
    if (HEAP_HAS_LIST)
        wcet_param(0, n);
    return HEAP_HAS_LIST ? 1 : 0;
}

/* Of heap_4 and heap_5, whether the call sets a new minimum of free memory or not is a case of all that takes. */
#define MINIMA (HEAP_MERGES ? 2u : 1u)
static unsigned minimum;

static void mark_case(unsigned n, unsigned state)
{
    const unsigned next = mark_blocks(n);

    wcet_param(next, state);
    if (MINIMA > 1)
        wcet_param(next + 1, minimum);
}

/* The same of cases that are sizes. */
static void mark_size(unsigned n, unsigned state)
{
    if (SIZES(2) == 1)
        (void)mark_blocks(n);
    else
        mark_case(n, state);
}

/* What takes memory and has no other case. */
static void mark_take(unsigned n)
{
    const unsigned next = mark_blocks(n);

    if (MINIMA > 1)
        wcet_param(next, minimum);
}

static void anew_for_take(unsigned n)
{
    before_take(n, minimum);
}

/* ---- the heap's own calls ----------------------------------------------------------------------- */

static void measure_malloc(unsigned n)
{
    /* Of heap_1, where a size for which there is no room makes the core jump more, these too. */
    static const size_t bytes[] = {101, 112, 100001, 100000};

    for (unsigned state = 0; state < (DRIVER_HEAP_ALONE == 1 ? 4 : SIZES(2)); state++) {
        void *block;

        anew_for_take(n);
        mark_size(n, state);
        MEASURE(SERVICE_PVPORTMALLOC, block = pvPortMalloc(bytes[state]));
        if (state < 2)
            after_take(n, block);
        else
            CHECK(block == NULL);
    }
}

static void measure_free(unsigned n)
{
    void *block;

    before_give(n);
    block = must_take(100);
    open_give(n, block);
    (void)mark_blocks(n);
    MEASURE(SERVICE_VPORTFREE, vPortFree(block));
    after_give(n);
}

#if HEAP_CLEARS
/* As in driver/heap.c: each byte behind the last whole word counts as a word, and two more. */
static void measure_calloc(unsigned n, unsigned rest)
{
    for (unsigned words = CLEARED_WORDS_MIN; words <= CLEARED_WORDS_MAX; words++) {
        const unsigned bytes = rest == 0 ? 4 * words : 4 * (words - 2 - rest) + rest;
        uint8_t *block;

        anew_for_take(n);
        wcet_param(0, n);
        wcet_param(1, words);
        wcet_param(2, rest);
        if (MINIMA > 1)
            wcet_param(3, minimum);
        MEASURE(SERVICE_PVPORTCALLOC, block = pvPortCalloc(1, bytes));
        after_take(n, block);
        for (unsigned i = 0; i < bytes; i++)
            CHECK(block[i] == 0);
    }
}
#endif

#if HEAP_MERGES
#define ENDS_MAX (DRIVER_HEAP_ALONE == 5 ? 3u : 0u)

/* Sizes as in driver/heap.c; the ends of further regions are looked at, too. */
static void measure_stats(unsigned n, unsigned ends)
{
    static HeapStats_t stats CALLER_DATA;
    void *block[HEAP_BLOCKS_MAX];

    for (unsigned state = 0; state < 3; state++) {
        heap_anew(1 + ends);
        for (unsigned i = 0; i + 1 < n; i++) {
            block[i] = must_take(SMALL_BYTES * (state == 0 ? i + 1 : state == 1 ? n - 1 - i : 1));
            (void)must_take(1);
        }
        for (unsigned i = 0; i + 1 < n; i++)
            vPortFree(block[i]);
        wcet_param(0, n);
        if (ENDS_MAX > 0) /* then a parameter */
            wcet_param(1, ends);
        wcet_param(ENDS_MAX > 0 ? 2 : 1, state);
        MEASURE(SERVICE_VPORTGETHEAPSTATS, vPortGetHeapStats(&stats));
        CHECK(stats.xNumberOfFreeBlocks == n + ends && list_length() == n + ends);
    }
}
#endif

static void measure_own(void)
{
    if (DRIVER_HEAP_ALONE == 2)
        measure_free(0);
    for (unsigned n = 1; n <= BLOCKS_MAX; n++) {
        for (minimum = 0; minimum < MINIMA; minimum++) {
            measure_malloc(n);
#if HEAP_CLEARS
            for (unsigned rest = 0; rest < CLEARED_RESTS && n <= CLEARED_BLOCKS_MAX; rest++)
                measure_calloc(n, rest);
#endif
        }
        minimum = 0;
        if (HEAP_FREES)
            measure_free(n);
    }
#if DRIVER_HEAP_ALONE != 3
    {
        size_t bytes;

        MEASURE(SERVICE_XPORTGETFREEHEAPSIZE, bytes = xPortGetFreeHeapSize());
        CHECK(bytes > 0);
#if HEAP_MERGES
        MEASURE(SERVICE_XPORTRESETHEAPMINIMUMEVERFREEHEAPSIZE,
                xPortResetHeapMinimumEverFreeHeapSize());
        MEASURE(SERVICE_XPORTGETMINIMUMEVERFREEHEAPSIZE, bytes = xPortGetMinimumEverFreeHeapSize());
        CHECK(bytes == xPortGetFreeHeapSize());
        for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++)
            for (unsigned ends = 0; ends <= ENDS_MAX; ends++)
                measure_stats(n, ends);
#endif
    }
#endif
}

/* ---- tasks -------------------------------------------------------------------------------------- */

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

#if HEAP_FREES
static void waits_for_ever(void *unused)
{
    uint32_t item;

    (void)unused;
    (void)xQueueReceive(empty, &item, portMAX_DELAY);
    CHECK(!"something was received from a queue that nobody sends to");
}
#endif

/* heap_1 takes nothing back: the task stays, and never runs. */
static void put_away(TaskHandle_t task)
{
    if (HEAP_FREES)
        vTaskDelete(task);
    else
        vTaskSuspend(task);
}

static void measure_create_task(unsigned n, unsigned state)
{
    BaseType_t result;

    anew_for_take(n);
    mark_size(n, state);
    MEASURE(SERVICE_XTASKCREATE, result = xTaskCreate(never_runs, longest_name, STACK_WORDS + 3 * state,
                                                      NULL, PRIORITY_CREATED, &created));
    CHECK(result == pdPASS);
    after_take(n, created);
    put_away(created);
    anew_for_take(n);
    mark_size(n, state);
    MEASURE(SERVICE_XTASKCREATE_SWITCH,
            result = xTaskCreate(suspends_itself, longest_name, STACK_WORDS + 3 * state, NULL,
                                 PRIORITY_DRIVER + 2, &created));
    CHECK(result == pdPASS && eTaskGetState(created) == eSuspended);
    after_take(n, created);
    put_away(created);
}

#if HEAP_FREES
/* Stack and control block have N free blocks below them when they are given back, and each merges with one on
 * both sides; of heap_2 both are larger than N, and the control block is smaller than the stack. Where no other task is delayed, the timers'
 * task is suspended beside the one that waits; one that is ready is then alone in its list. */
static void measure_delete_task(unsigned n, int another_is_delayed, unsigned state)
{
    const TaskFunction_t function = state == 0 ? waits_for_ever : never_runs;
    const UBaseType_t priority = state == 0 ? PRIORITY_DRIVER + 2 : PRIORITY_CREATED;
    void *gap = NULL;

    another_delayed(another_is_delayed);
    before_give(n);
    if (HEAP_MERGES) {
        void *stack = must_take(STACK_WORDS * sizeof(StackType_t));
        void *control;

        gap = must_take(SMALL_BYTES);
        control = must_take(sizeof(StaticTask_t));
        vPortFree(stack);
        vPortFree(control);
        CHECK(xTaskCreate(function, "victim", STACK_WORDS, NULL, priority, &created) == pdPASS);
        CHECK((void *)created == control && ((StaticTask_t *)created)->pxDummy6 == stack);
        open_give(n, stack);
        vPortFree(gap);
        CHECK(list_length() == n + 2);
    } else {
        CHECK(xTaskCreate(function, "victim", STACK_WORDS, NULL, priority, &created) == pdPASS);
        CHECK(sizeof(StaticTask_t) + 16 < STACK_WORDS * sizeof(StackType_t));
        open_give(n, created);
    }
    if (another_is_delayed) {
        (void)mark_blocks(n);
        MEASURE(SERVICE_VTASKDELETE, vTaskDelete(created));
    } else {
        wcet_param(mark_blocks(n), state);
        MEASURE(SERVICE_VTASKDELETE_NONE_DELAYED, vTaskDelete(created));
    }
    CHECK(!HEAP_HAS_LIST || list_length() == (HEAP_MERGES ? n : n + 3));
    another_delayed(0);
}
#endif

/* ---- queues and semaphores ---------------------------------------------------------------------- */

static void put_queue_away(unsigned n, QueueHandle_t queue)
{
    after_take(n, queue);
    if (HEAP_FREES)
        vQueueDelete(queue);
}

static void measure_create_queue(unsigned n)
{
    QueueHandle_t queue;

    /* 21 bytes, then such that one is a whole number of the heap's units. */
    for (unsigned state = 0; state < SIZES(5); state++) {
        const UBaseType_t items = state == 0 ? 3 : 4 + state;

        anew_for_take(n);
        mark_size(n, state);
        MEASURE(SERVICE_XQUEUECREATE, queue = xQueueCreate(items, state == 0 ? 7 : 4));
        put_queue_away(n, queue);
    }
    /* One of the sizes is a whole number of the heap's units. */
    for (unsigned state = 0; state < SIZES(4); state++) {
        anew_for_take(n);
        mark_size(n, state);
        MEASURE(SERVICE_XQUEUECREATESET, queue = xQueueCreateSet(8 + state));
        put_queue_away(n, queue);
    }
    anew_for_take(n);
    mark_take(n);
    MEASURE(SERVICE_XSEMAPHORECREATEBINARY, queue = xSemaphoreCreateBinary());
    put_queue_away(n, queue);
    anew_for_take(n);
    mark_take(n);
    MEASURE(SERVICE_XSEMAPHORECREATECOUNTING, queue = xSemaphoreCreateCounting(5, 2));
    put_queue_away(n, queue);
    anew_for_take(n);
    mark_take(n);
    MEASURE(SERVICE_XSEMAPHORECREATEMUTEX, queue = xSemaphoreCreateMutex());
    put_queue_away(n, queue);
}

#if HEAP_FREES
static void measure_delete_queue(unsigned n)
{
    QueueHandle_t queue;

    before_give(n);
    queue = xQueueCreate(3, 7);
    open_give(n, queue);
    (void)mark_blocks(n);
    MEASURE(SERVICE_VQUEUEDELETE, vQueueDelete(queue));
    after_give(n);
}
#endif

/* ---- event groups ------------------------------------------------------------------------------- */

static void measure_create_group(unsigned n)
{
    anew_for_take(n);
    mark_take(n);
    MEASURE(SERVICE_XEVENTGROUPCREATE, group = xEventGroupCreate());
    after_take(n, group);
    if (HEAP_FREES)
        vEventGroupDelete(group);
}

#if HEAP_FREES
static BaseType_t waits_in_vain(void *unused)
{
    (void)unused;
    return (xEventGroupWaitBits(group, NEVER_SET, pdTRUE, pdFALSE, portMAX_DELAY) & NEVER_SET) != 0;
}

/* W tasks wait for bits and are readied. */
static void measure_delete_group(unsigned n, unsigned waiting, enum urgent urgent)
{
    unsigned channel;

    before_give(n);
    group = xEventGroupCreate();
    open_give(n, group);
    urgency_start(waiting, urgent);
    for (unsigned i = 0; i < waiting; i++)
        helper_call(i, waits_in_vain, NULL);
    urgency_set(0, waiting, urgent);
    channel = mark_blocks(n);
    if (waiting > 0)
        wcet_param(channel, waiting);
    if (waiting > 0 && urgent != NONE_URGENT)
        wcet_param(channel + 1, urgent == LAST_URGENT);
    if (waiting == 0)
        MEASURE(SERVICE_VEVENTGROUPDELETE_NONE, vEventGroupDelete(group));
    else if (urgent != NONE_URGENT)
        MEASURE(SERVICE_VEVENTGROUPDELETE, vEventGroupDelete(group));
    else
        MEASURE(SERVICE_VEVENTGROUPDELETE_LESS_URGENT, vEventGroupDelete(group));
    after_give(n);
    urgency_check(0, waiting, urgent, 0);
    for (unsigned i = 0; i < waiting; i++)
        CHECK(!helper_busy(i) && helper_result(i) == pdFALSE);
    helpers_stop();
}
#endif

/* ---- stream buffers ----------------------------------------------------------------------------- */

#define BUFFER_BYTES 95u
/* With the kernel's byte and its control block, a whole number of the heap's units. */
#define ROUND_BYTES                                                                                \
    (((BUFFER_BYTES + 1 + sizeof(StaticStreamBuffer_t) + portBYTE_ALIGNMENT_MASK) &                \
      ~(size_t)portBYTE_ALIGNMENT_MASK) -                                                          \
     1 - sizeof(StaticStreamBuffer_t))

static void measure_create_buffer(unsigned n)
{
    /* The first has to be rounded up. */
    static const size_t bytes[] = {ROUND_BYTES + 1, ROUND_BYTES};
    StreamBufferHandle_t buffer;

    for (unsigned size = 0; size < SIZES(2); size++) {
        for (unsigned level = 0; level < 2; level++) {
            anew_for_take(n);
            mark_case(n, size + SIZES(2) * level);
            MEASURE(SERVICE_XSTREAMBUFFERCREATE, buffer = xStreamBufferCreate(bytes[size], level));
            after_take(n, buffer);
            if (HEAP_FREES)
                vStreamBufferDelete(buffer);
        }
        anew_for_take(n);
        mark_size(n, size);
        MEASURE(SERVICE_XMESSAGEBUFFERCREATE, buffer = xMessageBufferCreate(bytes[size]));
        after_take(n, buffer);
        if (HEAP_FREES)
            vMessageBufferDelete(buffer);
    }
}

#if HEAP_FREES
static void measure_delete_buffer(unsigned n)
{
    StreamBufferHandle_t buffer;

    before_give(n);
    buffer = xStreamBufferCreate(BUFFER_BYTES, 1);
    open_give(n, buffer);
    (void)mark_blocks(n);
    MEASURE(SERVICE_VSTREAMBUFFERDELETE, vStreamBufferDelete(buffer));
    after_give(n);
}
#endif

/* ---- timers ------------------------------------------------------------------------------------- */

#define LONG 100u

CALLER_TEXT static void does_nothing(TimerHandle_t unused)
{
    (void)unused;
}

static void measure_create_timer(unsigned n)
{
    for (unsigned state = 0; state < 2; state++) {
        TimerHandle_t made;

        anew_for_take(n);
        mark_case(n, state);
        MEASURE(SERVICE_XTIMERCREATE, made = xTimerCreate("timer", LONG, state == 0 ? pdTRUE : pdFALSE,
                                                          NULL, does_nothing));
        after_take(n, made);
        if (HEAP_FREES)
            CHECK(xTimerDelete(made, 0) == pdPASS);
    }
}

#if HEAP_FREES
static StaticTimer_t begin_control KERNEL_OBJECT;
static StaticTimer_t end_control KERNEL_OBJECT;
static TimerHandle_t deleted;
static unsigned blocks_below;
static unsigned wraps;

#define UNTIL_WRAP 4u

/* The command stands in the queue when the timers' task looks for commands, after this callback. */
static void callback_begins(TimerHandle_t unused)
{
    (void)unused;
    CHECK(xTimerDelete(deleted, 0) == pdPASS);
    pass_time(wraps ? UNTIL_WRAP : 0);
    driver_invocations++;
    wcet_param(mark_blocks(blocks_below), wraps);
    wcet_begin(SERVICE_TIMER_COMMAND_DELETE);
}

static void callback_ends(TimerHandle_t unused)
{
    (void)unused;
    wcet_end(SERVICE_TIMER_COMMAND_DELETE);
}

/* Worst: the timer is active. Both callbacks come at the next tick, one after the other. Or the tick count wraps
 * around in between, which the command finds: the second comes when it is 0. */
static void measure_delete_timer(unsigned n)
{
    static TimerHandle_t begins, ends;

    if (begins == NULL) {
        begins = xTimerCreateStatic("begins", 1, pdFALSE, NULL, callback_begins, &begin_control);
        ends = xTimerCreateStatic("ends", 1, pdFALSE, NULL, callback_ends, &end_control);
    }
    before_give(n);
    deleted = xTimerCreate("timer", LONG, pdTRUE, NULL, does_nothing);
    open_give(n, deleted);
    if (wraps)
        clock_wraps_in(UNTIL_WRAP);
    CHECK(xTimerStart(deleted, 0) == pdPASS);
    blocks_below = n;
    CHECK(xTimerStart(begins, 0) == pdPASS);
    CHECK(xTimerChangePeriod(ends, wraps ? UNTIL_WRAP : 1, 0) == pdPASS);
    board_tick();
    CHECK(xTimerIsTimerActive(begins) == pdFALSE && xTimerIsTimerActive(ends) == pdFALSE);
    if (wraps) {
        CHECK(xTaskGetTickCount() == 1);
        clock_far_from_wrap();
        CHECK(xTimerStop(begins, 0) == pdPASS); /* the timers' task notes the time */
    }
    after_give(n);
}
#endif

/* ---- the idle task ------------------------------------------------------------------------------ */

static struct {
    unsigned pending; /* to be measured at the idle task's next turn */
    unsigned measured; /* being measured */
    unsigned parameters[2];
    unsigned count;
} cleaning;

/* As in driver/activities.c: the begin mark is the last thing before the idle task's next turn, which begins
 * with cleaning up. */
void driver_on_idle(void)
{
    if (cleaning.measured) {
        wcet_end(SERVICE_IDLE_CLEANUP);
        cleaning.measured = 0;
    }
    board_tick();
    if (cleaning.pending) {
        driver_invocations++;
        for (unsigned i = 0; i < cleaning.count; i++)
            wcet_param(i, cleaning.parameters[i]);
        cleaning.pending = 0;
        cleaning.measured = 1;
        wcet_begin(SERVICE_IDLE_CLEANUP);
    }
}

#if HEAP_FREES

#define CLEANED_MAX 6u
#define CLEANED_BELOW_MAX 6u /* where blocks merge */
#define CLEANED_WORDS configMINIMAL_STACK_SIZE

static void deletes_itself(void *unused)
{
    (void)unused;
    vTaskDelete(NULL);
}

static void clean(unsigned count, unsigned first, unsigned second)
{
    cleaning.count = count;
    cleaning.parameters[0] = first;
    cleaning.parameters[1] = second;
    cleaning.pending = 1;
    vTaskDelay(1);
    CHECK(!cleaning.pending && !cleaning.measured);
    CHECK(uxTaskGetNumberOfTasks() == TASKS_ALWAYS);
}

/* Leaves the idle task in its hook, after a critical section: from then on a trace shows what it masks. */
static void clean_once(void)
{
    static StaticTask_t control KERNEL_OBJECT;
    static StackType_t stack[CLEANED_WORDS] TASK_STACK;

    CHECK(xTaskCreateStatic(deletes_itself, "static", CLEANED_WORDS, NULL, PRIORITY_DRIVER + 1, stack,
                            &control) != NULL);
    vTaskDelay(1);
    CHECK(uxTaskGetNumberOfTasks() == TASKS_ALWAYS);
}

#if HEAP_MERGES

static TaskHandle_t create_to_die(void)
{
    TaskHandle_t made;

    CHECK(xTaskCreate(deletes_itself, "heap", CLEANED_WORDS, NULL, PRIORITY_DRIVER + 1, &made) ==
          pdPASS);
    return made;
}

/* As in driver/activities.c. */
static void measure_cleanup(unsigned tasks, unsigned below)
{
    struct {
        void *stack, *control;
        void *free[4];
    } at[CLEANED_MAX];

    before_give(below - 1);
    for (unsigned i = 0; i < tasks; i++) {
        (void)must_take(1);
        at[i].free[0] = must_take(SMALL_BYTES);
        at[i].stack = must_take(CLEANED_WORDS * sizeof(StackType_t));
        at[i].free[1] = must_take(SMALL_BYTES);
        (void)must_take(1);
        at[i].free[2] = must_take(SMALL_BYTES);
        at[i].control = must_take(sizeof(StaticTask_t));
        at[i].free[3] = must_take(SMALL_BYTES);
    }
    (void)must_take(1);
    for (unsigned i = 0; i < tasks; i++) {
        vPortFree(at[i].stack);
        vPortFree(at[i].control);
    }
    for (unsigned i = 0; i < tasks; i++)
        CHECK((void *)create_to_die() == at[i].control);
    open_give(below - 1, at[0].stack); /* so each stack is where it should be, too */
    for (unsigned i = 0; i < tasks; i++)
        for (unsigned j = 0; j < 4; j++)
            vPortFree(at[i].free[j]);
    CHECK(list_length() == below + 4 * tasks);
    clean(2, tasks, below);
    CHECK(list_length() == below + 2 * tasks);
}

static void measure_cleanups(unsigned tasks)
{
    for (unsigned below = 1; below <= CLEANED_BELOW_MAX; below++)
        measure_cleanup(tasks, below);
}

#else

static StackType_t cleaned_stacks[CLEANED_MAX][CLEANED_WORDS] TASK_STACK;

/* A task that has deleted itself, as if stack and control block had been taken from the heap: it has run on another
 * stack, so that both can have any size. */
static void let_die(unsigned number, void *stack, void *control)
{
    StaticTask_t *task = control;

    CHECK(xTaskCreateStatic(deletes_itself, "heap", CLEANED_WORDS, NULL, PRIORITY_DRIVER + 1,
                            cleaned_stacks[number], task) == control);
    CHECK(task->pxDummy6 == cleaned_stacks[number]);
    task->pxDummy6 = stack;
    task->uxDummy20 = 0;
}

#if DRIVER_HEAP_ALONE == 3

/* Nothing is done with what is given back. */
static void measure_cleanups(unsigned tasks)
{
    static StaticTask_t controls[CLEANED_MAX] KERNEL_OBJECT;

    for (unsigned i = 0; i < tasks; i++)
        let_die(i, memory, &controls[i]);
    clean(1, tasks, 0);
}

#else

#define PASSED_MAX 48u

/* One search passes all the blocks, so that the scheduler is locked as long as it can be; the others, for what is
 * smaller, pass none. */
static void measure_cleanup(unsigned tasks, unsigned passed)
{
    const size_t bytes = sizeof(StaticTask_t);
    void *others[PASSED_MAX], *taken[2 * CLEANED_MAX];

    heap_anew(1);
    for (unsigned i = 0; i < passed; i++)
        others[i] = must_take(bytes + 32);
    for (unsigned i = 0; i < 2 * tasks; i++)
        taken[i] = must_take(bytes + (i == 0 ? 64 : 0));
    for (unsigned i = 0; i < passed; i++)
        vPortFree(others[i]);
    for (unsigned i = 0; i < tasks; i++)
        let_die(i, taken[2 * i], taken[2 * i + 1]);
    CHECK(list_length() == passed + 1);
    clean(2, tasks, passed);
    CHECK(list_length() == passed + 1 + 2 * tasks);
}

static void measure_cleanups(unsigned tasks)
{
    for (unsigned passed = 0; passed <= PASSED_MAX; passed++)
        measure_cleanup(tasks, passed);
}

#endif

#endif

#endif

/* ---- all of it ---------------------------------------------------------------------------------- */

/* What begins where a call lets a more urgent task run: where the switch is made at once, interrupts may have been
 * masked before, and the two are one stretch. */
static void measure_switch_alone(void)
{
    const TaskHandle_t partner = partner_created();

    measure_switch_by_call(partner);
    vTaskDelete(partner);
}

void measure_heap_alone(void)
{
    measure_switch_alone();
    clock_far_from_wrap();
    empty = xQueueCreateStatic(1, sizeof(uint32_t), empty_storage, &empty_control);
    measure_own();
    for (minimum = 0; minimum < MINIMA; minimum++)
        for (unsigned n = 1; n <= BLOCKS_MAX; n++) {
            for (unsigned state = 0; state < SIZES(2); state++)
                measure_create_task(n, state);
            measure_create_queue(n);
            measure_create_group(n);
            measure_create_buffer(n);
            measure_create_timer(n);
        }
    minimum = 0;
#if HEAP_FREES
    for (unsigned n = 1; n <= BLOCKS_MAX; n++) {
        measure_delete_task(n, 1, 0);
        for (unsigned state = 0; state < 2; state++)
            measure_delete_task(n, 0, state);
        measure_delete_queue(n);
        measure_delete_buffer(n);
        for (wraps = 0; wraps <= 1; wraps++)
            measure_delete_timer(n);
    }
    for (unsigned n = 1; n <= FEW_BLOCKS_MAX; n++) {
        measure_delete_group(n, 0, ALL_URGENT);
        for (unsigned waiting = 1; waiting <= WAITING_MAX; waiting++) {
            for (enum urgent urgent = NONE_URGENT; urgent <= LAST_URGENT; urgent++)
                measure_delete_group(n, waiting, urgent);
        }
    }
    clean_once();
    for (unsigned tasks = 1; tasks <= CLEANED_MAX; tasks++)
        measure_cleanups(tasks);
#endif
}

#endif
