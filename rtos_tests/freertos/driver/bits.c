/* See bits.h. */
#include "bits.h"

#if DRIVER_WHOLE

#include "helpers.h"

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

static unsigned way_to_come(unsigned state)
{
    return state < WAYS_IN_FRONT ? state / 2 : (state - WAYS_IN_FRONT) / WAYS_TO_MISS;
}

BaseType_t bits_cleared(unsigned state)
{
    return comes[way_to_come(state)].clears;
}

/* Of one bit or of several: true if they came. */
static BaseType_t waits(void *wanted)
{
    const struct wanted *want = wanted;

    return (xEventGroupWaitBits(group, want->bits, want->clears, want->all, portMAX_DELAY) &
            want->bits) == want->bits;
}

static void wait_for(EventGroupHandle_t of, unsigned helper, const struct wanted *wanted)
{
    group = of;
    helper_call(helper, waits, (void *)(uintptr_t)wanted);
}

static void miss(EventGroupHandle_t of, unsigned helper, unsigned way, int other)
{
    wait_for(of, helper, &is_missing[(way & 1) ^ (way >> 1 && other)]);
}

void bits_missed(EventGroupHandle_t of, unsigned first, unsigned count, unsigned way)
{
    for (unsigned i = 0; i < count; i++)
        miss(of, first + i, way, i + 1 == count);
}

void bits_awaited(EventGroupHandle_t of, unsigned helper, unsigned way)
{
    wait_for(of, helper, &comes[way]);
}

void bits_waiters(EventGroupHandle_t of, unsigned first, unsigned matching, unsigned waiting, unsigned state)
{
    const unsigned behind = state >= WAYS_IN_FRONT && waiting > 0;
    const unsigned way = state < WAYS_IN_FRONT ? state % 2 : (state - WAYS_IN_FRONT) % WAYS_TO_MISS;

    bits_missed(of, first, waiting - behind, behind ? way & 1 : way);
    for (unsigned i = waiting; i < waiting + matching; i++)
        bits_awaited(of, first + i, way_to_come(state));
    if (behind)
        miss(of, first + waiting - 1, way, 1);
}

#endif
