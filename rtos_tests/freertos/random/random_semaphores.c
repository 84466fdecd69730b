/* Semaphores and mutexes. */
#include "random.h"

#define SEMAPHORES 3u

static StaticQueue_t controls[SEMAPHORES] KERNEL_OBJECT;
static SemaphoreHandle_t semaphores[SEMAPHORES];

void prepare_semaphores(void)
{
    for (unsigned i = 0; i + 1 < SEMAPHORES; i++)
        semaphores[i] = xSemaphoreCreateBinaryStatic(&controls[i]);
    semaphores[SEMAPHORES - 1] = xSemaphoreCreateCountingStatic(4, 1, &controls[SEMAPHORES - 1]);
}

SemaphoreHandle_t some_semaphore(void)
{
    return semaphores[chance(SEMAPHORES)];
}

static void say_semaphore(SemaphoreHandle_t semaphore, List_t *others)
{
    const QueueHandle_t set = set_of(semaphore);

    say("filled", (unsigned)uxQueueMessagesWaitingFromISR(semaphore));
    say("length", length_of(semaphore));
    say("set", set != NULL);
    say("qlocked", (unsigned)is_locked(semaphore));
    say_waiting(set != NULL ? receivers_of(set) : others);
}

static void give(void)
{
    const SemaphoreHandle_t semaphore = some_semaphore();
    const unsigned number = say_call("xSemaphoreGive");
    BaseType_t result;

    say_semaphore(semaphore, receivers_of(semaphore));
    MEASURED(number, result = xSemaphoreGive(semaphore));
    say_result(number, (unsigned)result);
}

static void take(void)
{
    const SemaphoreHandle_t semaphore = some_semaphore();
    const TickType_t limit = may_block() ? some_limit() : 0;
    const unsigned number = say_call("xSemaphoreTake");
    BaseType_t result;

    say_semaphore(semaphore, senders_of(semaphore));
    say_limit(limit, receivers_of(semaphore));
    MEASURED(number, result = xSemaphoreTake(semaphore, limit));
    say_result(number, (unsigned)result);
}

static void count(void)
{
    const unsigned number = say_call("uxSemaphoreGetCount");
    const SemaphoreHandle_t semaphore = some_semaphore();

    MEASURED(number, (void)uxSemaphoreGetCount(semaphore));
}

const struct choice semaphore_choices[] = {{give, 5}, {take, 4}, {count, 1}, {NULL, 0}};

BaseType_t isr_give(void)
{
    const SemaphoreHandle_t semaphore = some_semaphore();
    const unsigned number = say_call("xSemaphoreGiveFromISR");
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    say_semaphore(semaphore, receivers_of(semaphore));
    MEASURED(number, result = xSemaphoreGiveFromISR(semaphore, &woken));
    say_result(number, (unsigned)result);
    return woken;
}

BaseType_t isr_take(void)
{
    const SemaphoreHandle_t semaphore = some_semaphore();
    const unsigned number = say_call("xSemaphoreTakeFromISR");
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    say_semaphore(semaphore, senders_of(semaphore));
    MEASURED(number, result = xSemaphoreTakeFromISR(semaphore, &woken));
    say_result(number, (unsigned)result);
    return woken;
}
