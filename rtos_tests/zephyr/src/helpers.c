/* See helpers.h. */
#include "helpers.h"

#define STACK_BYTES (512 + STACK_EXTRA)
#define READY_STACK_BYTES (256 + STACK_EXTRA)

struct helper {
    struct k_sem start;
    order_fn what;
    void *object;
    void *argument;
    volatile bool busy;
    int result;
};

static K_THREAD_STACK_ARRAY_DEFINE(helper_stacks, HELPERS_MAX, STACK_BYTES);
static struct k_thread helper_controls[HELPERS_MAX];
static struct helper helpers[HELPERS_MAX];
static unsigned started;

static K_THREAD_STACK_ARRAY_DEFINE(ready_stacks, CONFIG_WCET_READY_THREADS, READY_STACK_BYTES);
static struct k_thread ready_controls[CONFIG_WCET_READY_THREADS];
static unsigned ready;
static bool ready_once;
volatile unsigned ready_runs;

static void helper_main(void *of, void *unused, void *unused2)
{
    struct helper *self = of;

    for (;;) {
        k_sem_take(&self->start, K_FOREVER);
        self->result = self->what(self->object, self->argument);
        self->busy = false;
    }
}

void helpers_start(unsigned count, int first, int step)
{
    CHECK(started == 0 && count <= HELPERS_MAX);
    for (; started < count; started++) {
        struct helper *helper = &helpers[started];

        helper->busy = false;
        k_sem_init(&helper->start, 0, 1);
        k_thread_create(&helper_controls[started], helper_stacks[started], STACK_BYTES, helper_main,
                        helper, NULL, NULL, first + (int)started * step, 0, K_NO_WAIT);
    }
    settle();
}

void helpers_stop(void)
{
    while (started > 0)
        k_thread_abort(&helper_controls[--started]);
}

void helper_order(unsigned number, order_fn what, void *object, void *argument)
{
    struct helper *helper = &helpers[number];

    CHECK(number < started && !helper->busy);
    helper->what = what;
    helper->object = object;
    helper->argument = argument;
    helper->busy = true;
    k_sem_give(&helper->start);
}

bool helper_busy(unsigned helper)
{
    return helpers[helper].busy;
}

int helper_result(unsigned helper)
{
    return helpers[helper].result;
}

k_tid_t helper_thread(unsigned helper)
{
    return &helper_controls[helper];
}

void helpers_wait(unsigned count, order_fn what, void *object, void *argument)
{
    for (unsigned i = 0; i < count; i++) {
        helper_order(i, what, object, argument);
        settle();
        CHECK(helper_busy(i));
    }
}

void helpers_woken(unsigned count, int result)
{
    settle();
    for (unsigned i = 0; i < count; i++)
        CHECK(!helper_busy(i) && helper_result(i) == result);
}

void sleepers_start(unsigned count, int step, bool urgent)
{
    helpers_start(count, PRIORITY_BELOW, step);
    CHECK(PRIORITY_BELOW + (int)count * step <= PRIORITY_LOWEST);
    if (urgent)
        k_thread_priority_set(&helper_controls[0], PRIORITY_ABOVE);
}

void sleepers_after(unsigned count, bool urgent)
{
    for (unsigned i = 0; i < count; i++)
        CHECK(helper_busy(i) == !(urgent && i == 0));
}

/* Runs only while the driver waits, and then gives way until the driver is back. */
static void ready_main(void *unused, void *unused2, void *unused3)
{
    for (;;) {
        crowd_stop();
        ready_runs++;
        if (ready_once)
            k_sleep(K_FOREVER);
        else
            k_yield();
    }
}

static void start(unsigned count, int priority, bool once)
{
    CHECK(ready == 0 && count <= CONFIG_WCET_READY_THREADS);
    ready_once = once;
    ready_runs = 0;
    for (; ready < count; ready++)
        k_thread_create(&ready_controls[ready], ready_stacks[ready], READY_STACK_BYTES, ready_main, NULL, NULL,
                        NULL, priority, 0, K_NO_WAIT);
}

void ready_start(unsigned count, int priority)
{
    start(count, priority, false);
}

void ready_start_once(unsigned count, int priority)
{
    start(count, priority, true);
}

k_tid_t ready_thread(unsigned number)
{
    return &ready_controls[number];
}

void ready_stop(void)
{
    while (ready > 0)
        k_thread_abort(&ready_controls[--ready]);
}
