/* See bits.h. */
#include "bits.h"

#if DRIVER_WHOLE

#define WAYS_IN_FRONT (2u * WAYS_TO_COME)

struct wanted {
    EventBits_t bits;
    BaseType_t clears;
    BaseType_t all;
};

static const struct wanted comes[WAYS_TO_COME] = {
    {WAITED_FOR, pdTRUE, pdTRUE},
    {WAITED_FOR, pdTRUE, pdFALSE},
    {WAITED_FOR, pdFALSE, pdTRUE},
    {WAITED_FOR, pdFALSE, pdFALSE},
};
static const struct wanted is_missing[] = {
    {NEVER_SET, pdTRUE, pdFALSE},
    {WAITED_FOR | NEVER_SET, pdTRUE, pdTRUE},
};

static EventGroupHandle_t group;

/* Of those who do not get theirs. */
static TickType_t limit = portMAX_DELAY;

enum in_front bits_front(unsigned state)
{
    return state < WAYS ? ANOTHER_IN_FRONT : NOBODY_IN_FRONT;
}

void bits_mark(unsigned parameter, unsigned state, enum urgent urgent)
{
    wcet_param(parameter, state % WAYS + (urgent == LAST_URGENT ? WAYS : 0));
    wcet_param(parameter + 1, bits_front(state));
}

static unsigned way_to_come(unsigned state)
{
    state %= WAYS;
    return state < WAYS_IN_FRONT ? state / 2 : (state - WAYS_IN_FRONT) / WAYS_TO_MISS;
}

BaseType_t bits_cleared(unsigned state)
{
    return comes[way_to_come(state)].clears;
}

/* Of one bit or of several: true if they came. */
static BaseType_t waits_until(const struct wanted *want, TickType_t ticks)
{
    return (xEventGroupWaitBits(group, want->bits, want->clears, want->all, ticks) & want->bits) == want->bits;
}

static BaseType_t waits(void *wanted)
{
    return waits_until(wanted, portMAX_DELAY);
}

static BaseType_t waits_in_vain(void *wanted)
{
    return waits_until(wanted, limit);
}

static void wait_for(EventGroupHandle_t of, unsigned helper, helper_function *how, const struct wanted *wanted)
{
    group = of;
    helper_call(helper, how, (void *)(uintptr_t)wanted);
}

static void miss(EventGroupHandle_t of, unsigned helper, unsigned way, int other)
{
    wait_for(of, helper, waits_in_vain, &is_missing[(way & 1) ^ (way >> 1 && other)]);
}

void bits_missed(EventGroupHandle_t of, unsigned first, unsigned count, unsigned way)
{
    for (unsigned i = 0; i < count; i++)
        miss(of, first + i, way, i + 1 == count);
}

void bits_awaited(EventGroupHandle_t of, unsigned helper, unsigned way)
{
    wait_for(of, helper, waits, &comes[way]);
}

void bits_waiters(EventGroupHandle_t of, unsigned first, unsigned matching, unsigned waiting, unsigned state)
{
    const unsigned all = state % WAYS;
    const unsigned behind = all >= WAYS_IN_FRONT && waiting > 0;
    const unsigned way = all < WAYS_IN_FRONT ? all % 2 : (all - WAYS_IN_FRONT) % WAYS_TO_MISS;

    limit = bits_front(state) == NOBODY_IN_FRONT ? FAR_AWAY : portMAX_DELAY;
    bits_missed(of, first, waiting - behind, behind ? way & 1 : way);
    for (unsigned i = waiting; i < waiting + matching; i++)
        bits_awaited(of, first + i, way_to_come(state));
    if (behind)
        miss(of, first + waiting - 1, way, 1);
    limit = portMAX_DELAY;
}

#endif
