/* Mutexes, recursive and not, and semaphores from the heap. */
#include "random.h"

#define MUTEXES 3u

static StaticQueue_t controls[MUTEXES] KERNEL_OBJECT;
static StaticQueue_t spare_control KERNEL_OBJECT;
static SemaphoreHandle_t mutexes[MUTEXES];
static SemaphoreHandle_t created;

/* The last one is recursive. */
#define RECURSIVE (MUTEXES - 1)

void prepare_mutexes(void)
{
    for (unsigned i = 0; i < RECURSIVE; i++)
        mutexes[i] = xSemaphoreCreateMutexStatic(&controls[i]);
    mutexes[RECURSIVE] = xSemaphoreCreateRecursiveMutexStatic(&controls[RECURSIVE]);
}

/* Who holds it, how urgent he is and where; who waits, and whether the caller has inherited. */
static void say_mutex(SemaphoreHandle_t mutex)
{
    const TaskHandle_t holder = xSemaphoreGetMutexHolder(mutex);

    say("held", holder != NULL);
    say("own", holder == xTaskGetCurrentTaskHandle());
    if (holder != NULL) {
        say("his", (unsigned)priority_of(holder));
        say("base", (unsigned)base_priority_of(holder));
        say("where", where_is(holder));
    }
    say("mutexes", mutexes_of(NULL));
    say("my_base", (unsigned)base_priority_of(NULL));
    say("ready", (unsigned)urgent_ready());
    say_waiting(receivers_of(mutex));
}

static void take(void)
{
    const SemaphoreHandle_t mutex = mutexes[chance(RECURSIVE)];
    const TickType_t limit = some_limit();
    BaseType_t result;
    unsigned number;

    if (xSemaphoreGetMutexHolder(mutex) == xTaskGetCurrentTaskHandle())
        return;
    number = say_call("xSemaphoreTake_mutex");
    say_mutex(mutex);
    say_limit(limit, receivers_of(mutex));
    MEASURED(number, result = xSemaphoreTake(mutex, limit));
    say_result(number, (unsigned)result);
}

static void give(void)
{
    const SemaphoreHandle_t mutex = mutexes[chance(RECURSIVE)];
    unsigned number;

    if (xSemaphoreGetMutexHolder(mutex) != xTaskGetCurrentTaskHandle())
        return;
    number = say_call("xSemaphoreGive_mutex");
    say_mutex(mutex);
    MEASURED(number, (void)xSemaphoreGive(mutex));
}

static void take_recursive(void)
{
    const SemaphoreHandle_t mutex = mutexes[RECURSIVE];
    const TickType_t limit = some_limit();
    const unsigned number = say_call("xSemaphoreTakeRecursive");
    BaseType_t result;

    say_mutex(mutex);
    say_limit(limit, receivers_of(mutex));
    MEASURED(number, result = xSemaphoreTakeRecursive(mutex, limit));
    say_result(number, (unsigned)result);
}

static void give_recursive(void)
{
    const SemaphoreHandle_t mutex = mutexes[RECURSIVE];
    BaseType_t result;
    unsigned number;

    if (xSemaphoreGetMutexHolder(mutex) != xTaskGetCurrentTaskHandle())
        return;
    number = say_call("xSemaphoreGiveRecursive");
    say("depth", (unsigned)((StaticQueue_t *)mutex)->u.uxDummy2);
    say_mutex(mutex);
    MEASURED(number, result = xSemaphoreGiveRecursive(mutex));
    say_result(number, (unsigned)result);
}

static void holder(void)
{
    const SemaphoreHandle_t mutex = mutexes[chance(MUTEXES)];
    const unsigned number = say_call("xSemaphoreGetMutexHolder");

    MEASURED(number, (void)xSemaphoreGetMutexHolder(mutex));
}

static void create(void)
{
    static const char *const names[] = {"xSemaphoreCreateBinary", "xSemaphoreCreateCounting",
                                        "xSemaphoreCreateMutex", "xSemaphoreCreateMutex"};
    const unsigned kind = chance(4);
    unsigned number;

    if (created != NULL) {
        number = say_call("vQueueDelete");
        say("below", free_blocks_below(created));
        MEASURED(number, vSemaphoreDelete(created));
        created = NULL;
        return;
    }
    number = say_call(names[kind]);
    say("N", free_blocks());
    switch (kind) {
    case 0:
        MEASURED(number, created = xSemaphoreCreateBinary());
        break;
    case 1:
        MEASURED(number, created = xSemaphoreCreateCounting(5, 2));
        break;
    case 2:
        MEASURED(number, created = xSemaphoreCreateMutex());
        break;
    default:
        MEASURED(number, created = xSemaphoreCreateRecursiveMutex());
    }
    say_result(number, created != NULL);
}

static void create_static(void)
{
    unsigned number = say_call("xSemaphoreCreateBinaryStatic");

    MEASURED(number, (void)xSemaphoreCreateBinaryStatic(&spare_control));
    number = say_call("xSemaphoreCreateCountingStatic");
    MEASURED(number, (void)xSemaphoreCreateCountingStatic(3, 1, &spare_control));
    number = say_call("xSemaphoreCreateMutexStatic");
    MEASURED(number, (void)xSemaphoreCreateMutexStatic(&spare_control));
}

const struct choice mutex_choices[] = {
    {take, 6},   {give, 9},   {take_recursive, 4}, {give_recursive, 6},
    {holder, 1}, {create, 2}, {create_static, 1},  {give_mutex_of_set, 9},
    {NULL, 0},
};
