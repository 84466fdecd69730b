/* The tasks that call, the idle task that makes the ticks, and the end of the run. */
#include "random.h"

#include "board.h"

#include "timers.h"

/* ---- memory ------------------------------------------------------------------------------- */

uint8_t ucHeap[configTOTAL_HEAP_SIZE] __attribute__((section(".noinit.heap"), aligned(8)));

volatile unsigned char wcet_mark[WCET_CHANNELS][WCET_VALUES]
    __attribute__((section(".noinit.wcet_mark")));

#define WORKER_STACK_WORDS 512

static StaticTask_t controls[WORKERS] KERNEL_OBJECT;
static StackType_t stacks[WORKERS][WORKER_STACK_WORDS] TASK_STACK;
static StaticTask_t standing_controls[STANDING_MAX] KERNEL_OBJECT;
static StackType_t standing_stacks[STANDING_MAX][configMINIMAL_STACK_SIZE] TASK_STACK;
static TaskHandle_t workers[WORKERS];
static TaskHandle_t standing[STANDING_MAX] CALLER_DATA;
static uint8_t buffers[WORKERS + 1][2 * ITEM_MAX] CALLER_DATA __attribute__((aligned(8)));

#define IDLE_STACK_WORDS 512

static StaticTask_t idle_control KERNEL_OBJECT;
static StackType_t idle_stack[IDLE_STACK_WORDS] TASK_STACK;
static StaticTask_t timer_control KERNEL_OBJECT;
static StackType_t timer_stack[configTIMER_TASK_STACK_DEPTH] TASK_STACK;

void vApplicationGetIdleTaskMemory(StaticTask_t **control, StackType_t **stack,
                                   configSTACK_DEPTH_TYPE *words)
{
    *control = &idle_control;
    *stack = idle_stack;
    *words = IDLE_STACK_WORDS;
}

void vApplicationGetTimerTaskMemory(StaticTask_t **control, StackType_t **stack,
                                    configSTACK_DEPTH_TYPE *words)
{
    *control = &timer_control;
    *stack = timer_stack;
    *words = configTIMER_TASK_STACK_DEPTH;
}

/* ---- chance ------------------------------------------------------------------------------- */

static uint32_t state;

/* G. Marsaglia, "Xorshift RNGs", 2003. */
unsigned chance(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (unsigned)((state >> 8) % below);
}

TickType_t some_limit(void)
{
    switch (chance(8)) {
    case 0:
    case 1:
    case 2:
        return 0;
    case 3:
        return portMAX_DELAY;
    default:
        return 1 + chance(12);
    }
}

/* ---- what is said ------------------------------------------------------------------------- */

static char line[512];
static unsigned used;
static unsigned calls;

static void add_text(const char *text)
{
    while (*text != '\0' && used < sizeof line - 2)
        line[used++] = *text++;
}

static void add_number(unsigned value)
{
    char digits[10];
    unsigned count = 0;

    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    while (count > 0 && used < sizeof line - 2)
        line[used++] = digits[--count];
}

static void finish_line(void)
{
    line[used++] = '\n';
    line[used] = '\0';
    board_print(line);
    used = 0;
}

unsigned say_call(const char *name)
{
    CHECK(used == 0);
    add_text("C ");
    add_number(calls);
    add_text(" ");
    add_text(name);
    return calls++;
}

void say(const char *fact, unsigned value)
{
    add_text(" ");
    add_text(fact);
    add_text("=");
    add_number(value);
}

static unsigned number_of(TaskHandle_t task);
static int aborted[WORKERS + 1]; /* by number_of(): the caller's wait; no worker is the last */

void about_to_abort(TaskHandle_t task)
{
    if (eTaskGetState(task) == eBlocked && waits_for_event(task))
        aborted[number_of(task)] = 1;
}

void said(unsigned number)
{
    finish_line();
    aborted[number_of(xTaskGetCurrentTaskHandle())] = 0;
    wcet_param(0, number % WCET_VALUES);
    wcet_param(1, number / WCET_VALUES);
}

void say_result(unsigned number, unsigned value)
{
    CHECK(used == 0);
    add_text("R ");
    add_number(number);
    add_text(" ");
    add_number(value);
    if (aborted[number_of(xTaskGetCurrentTaskHandle())])
        add_text(" aborted");
    finish_line();
}

/* ---- interrupts --------------------------------------------------------------------------- */

void (*driver_on_interrupt)(void);

static isr_operation *isr;

void driver_interrupt(void)
{
    if (isr != NULL) {
        const BaseType_t woken = isr();

        isr = NULL;
        BOARD_YIELD_FROM_ISR(woken);
    }
}

void switch_in_interrupt(isr_operation *function)
{
    CHECK(isr == NULL);
    isr = function;
    board_interrupt();
}

/* The facts of a tick. Where the scheduler is locked it is only counted. It has no marks, for what it
 * wakes may make the next tick before it gets to its end mark; every tick says its facts, in order. */
void measured_tick(void)
{
    const unsigned locked = (unsigned)uxSchedulerSuspended;

    (void)say_call("tick");
    say("K", locked ? 0 : woken_by(1));
    say("wrap", (unsigned)(!locked && wraps_within(1)));
    say("due", (unsigned)(xTickCount + 1 >= xNextTaskUnblockTime));
    say("locked", locked);
    say("me", (unsigned)priority_of(NULL));
    finish_line();
    board_tick();
}

/* ---- tasks -------------------------------------------------------------------------------- */

static volatile int finishing;
static volatile unsigned finished;
static volatile int has_finished[WORKERS];
static volatile unsigned idle_turns;

static unsigned number_of(TaskHandle_t task)
{
    unsigned number = 0;

    while (number < WORKERS && workers[number] != task)
        number++;
    return number;
}

int is_worker(TaskHandle_t task)
{
    return number_of(task) < WORKERS;
}

uint8_t *some_buffer(void)
{
    return buffers[number_of(xTaskGetCurrentTaskHandle())] + (chance(2) ? 0 : chance(4));
}

TaskHandle_t some_worker(void)
{
    return workers[chance(WORKERS)];
}

TaskHandle_t some_task(void)
{
    TaskHandle_t *place = chance(2) ? taken_place() : NULL;

    return place != NULL ? *place : some_worker();
}

/* The first places are for tasks from the heap, the others for static ones. */
#define STATIC_FROM 3u

int place_is_static(const TaskHandle_t *place)
{
    return place >= standing + STATIC_FROM;
}

StaticTask_t *control_of(const TaskHandle_t *place)
{
    return &standing_controls[place - standing];
}

StackType_t *stack_of(const TaskHandle_t *place)
{
    return standing_stacks[place - standing];
}

TaskHandle_t *free_place(int is_static)
{
    const unsigned first = is_static ? STATIC_FROM : 0;
    const unsigned end = is_static ? STANDING_MAX : STATIC_FROM;

    for (unsigned i = first; i < end; i++)
        if (standing[i] == NULL)
            return &standing[i];
    return NULL;
}

TaskHandle_t *taken_place(void)
{
    const unsigned start = chance(STANDING_MAX);

    for (unsigned i = 0; i < STANDING_MAX; i++)
        if (standing[(start + i) % STANDING_MAX] != NULL)
            return &standing[(start + i) % STANDING_MAX];
    return NULL;
}

int may_block(void)
{
    return uxSchedulerSuspended == 0;
}

static const struct choice *const all_choices[] = {
    heap_choices,   queue_choices, time_choices,  task_choices,   semaphore_choices,
    mutex_choices,  notify_choices, event_choices, stream_choices, timer_choices,
    set_choices,    list_choices,  locked_choices,
};

static void step(void)
{
    const struct choice *choices = all_choices[chance(sizeof all_choices / sizeof *all_choices)];
    unsigned total = 0;
    unsigned drawn;

    for (const struct choice *at = choices; at->run != NULL; at++)
        total += at->weight;
    drawn = chance(total);
    while (drawn >= choices->weight)
        drawn -= choices++->weight;
    choices->run();
}

static void worker_task(void *argument)
{
    const unsigned self = (unsigned)(uintptr_t)argument;
    static int begun;

#ifdef BOARD_FIRST_TASK_BEGINS
    BOARD_FIRST_TASK_BEGINS();
#endif
    if (!begun) {
        /* The count wraps around in the run. Nobody is delayed yet. */
        begun = 1;
        xTickCount = portMAX_DELAY - 30 - chance(200);
    }
    while (!finishing) {
        idle_turns = 0;
        step();
        if (calls >= random_calls)
            finishing = 1;
    }
    has_finished[self] = 1;
    finished++;
    for (;;)
        vTaskSuspend(NULL);
}

/* Brings a worker that may wait for ever on. */
static void shake(unsigned number)
{
    if (eTaskGetState(workers[number]) == eSuspended) {
        vTaskResume(workers[number]);
    } else {
        about_to_abort(workers[number]);
        (void)xTaskAbortDelay(workers[number]);
    }
}

/* The tasks that call block now and then; so nothing starves, and time passes. */
void vApplicationIdleHook(void)
{
    if (finished == WORKERS) {
        board_print("done\n");
        board_exit(0);
    }
    if (++idle_turns > 40 || finishing) {
        const unsigned number = chance(WORKERS);

        if (!has_finished[number])
            shake(number);
        idle_turns = 0;
    }
    if (finishing)
        board_tick();
    else
        measured_tick();
}

void driver_main(void)
{
    state = random_seed * 2654435761u + 1u;
    prepare_queues();
    prepare_semaphores();
    prepare_mutexes();
    prepare_events();
    prepare_streams();
    prepare_timers();
    prepare_sets();
    for (unsigned i = 0; i < WORKERS; i++)
        workers[i] = xTaskCreateStatic(worker_task, "worker", WORKER_STACK_WORDS,
                                       (void *)(uintptr_t)i, 1 + chance(PRIORITY_WORKER_MAX),
                                       stacks[i], &controls[i]);
    vPortFree(pvPortMalloc(1));
    vTaskStartScheduler();
    driver_failed(__FILE__, __LINE__, "the scheduler does not return");
}

/* ---- failures ----------------------------------------------------------------------------- */

void driver_failed(const char *file, int number, const char *condition)
{
    board_print(file);
    board_print(":");
    board_print_number((unsigned)number);
    board_print(": does not hold: ");
    board_print(condition);
    board_print("\n");
    board_exit(2);
}

void driver_assertion(const char *file, int number)
{
    driver_failed(file, number, "the kernel's assertion");
}

void wcet_value_out_of_range(unsigned channel, unsigned value)
{
    (void)value;
    driver_failed("mark", (int)channel, "the value is in its range");
}
