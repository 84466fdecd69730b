/* Tasks that meet by an event group and wait there, also in vain; and waits for any of several bits that
 * end in vain. As in blocking.c, another task sets what the caller waits for; it is more urgent than the
 * caller. */
#include "driver.h"

#if DRIVER_WHOLE

#include "helpers.h"

#include "event_groups.h"

/* As long as the caller waits: where its bits are set, and where they are too late. Tasks that are delayed
 * wake no later. */
#define LIMIT 50u
#define IN_VAIN 2u

/* Largest values of parameters that act at once. */
#define DELAYED_AT_ONCE 6u
#define WAITING_AT_ONCE 4u
#define OF_THREE 3u

#define MINE 0xcu
#define ALL 0xfu
#define NEVER_SET 0x80u

static StaticEventGroup_t control KERNEL_OBJECT;
static EventGroupHandle_t group;

static BaseType_t sets_bits(void *unused)
{
    (void)unused;
    vTaskDelay(1);
    (void)xEventGroupSetBits(group, ALL);
    return pdPASS;
}

/* Too late for the caller, whose time is over at the same tick, but before it goes on. */
static BaseType_t sets_bits_late(void *unused)
{
    (void)unused;
    vTaskDelay(IN_VAIN);
    (void)xEventGroupSetBits(group, ALL);
    return pdPASS;
}

/* Of others that wait for the bits, and of those that wait for others: which takes longest to see is the
 * core's. Those that are woken are more urgent than the caller, or not: then the caller asks for the switch
 * itself. */
struct state {
    int misses_any;
    int urgent;
    BaseType_t clears;
    BaseType_t all;
};

static const struct state states[] = {
    {1, 1, pdTRUE, pdTRUE},  {0, 1, pdTRUE, pdTRUE},  {1, 0, pdTRUE, pdTRUE},  {0, 0, pdTRUE, pdTRUE},
    {1, 0, pdTRUE, pdFALSE}, {0, 0, pdTRUE, pdFALSE}, {1, 0, pdFALSE, pdTRUE}, {0, 0, pdFALSE, pdTRUE},
    {1, 0, pdFALSE, pdFALSE}, {0, 0, pdFALSE, pdFALSE},
};
/* Those who do not get their bits stand before those who do, or behind; then the kernel leaves its loop with
 * them, and the last of them waits as the others, or in the other way. */
#define WAYS_TO_MISS 4u
#define WAYS_IN_FRONT 10u
#define WAYS (WAYS_IN_FRONT + WAYS_IN_FRONT / 2 * WAYS_TO_MISS)

static const struct state *now;
static int stand_behind;
static int last_differs;

static void set_state(unsigned way)
{
    const unsigned behind = way - WAYS_IN_FRONT;

    stand_behind = way >= WAYS_IN_FRONT;
    last_differs = stand_behind && behind % WAYS_TO_MISS > 1;
    now = &states[stand_behind ? behind / WAYS_TO_MISS * 2 + behind % 2 : way];
}

/* Too late, too: or the bits do not come. */
static BaseType_t sets_nothing(void *unused)
{
    (void)unused;
    vTaskDelay(IN_VAIN);
    return pdPASS;
}

static BaseType_t waits_for_mine(void *unused)
{
    (void)unused;
    return (xEventGroupWaitBits(group, MINE, now->clears, now->all, portMAX_DELAY) & MINE) == MINE;
}

static BaseType_t waits_for_others(void *is_last)
{
    if (now->misses_any ^ (is_last != NULL && last_differs))
        return xEventGroupWaitBits(group, NEVER_SET, pdTRUE, pdFALSE, portMAX_DELAY) == 0;
    return xEventGroupWaitBits(group, ALL | NEVER_SET, pdTRUE, pdTRUE, portMAX_DELAY) == 0;
}

static void wait_for_others(unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        helper_call(first + i, waits_for_others, i + 1 == count ? &last_differs : NULL);
}

/* `delayed` tasks, the first of which sets the bits; then those that wait in vain and those that wait
 * for the caller's bits, or the reverse. */
static void prepare(helper_function *brings, unsigned delayed, unsigned matching, unsigned waiting)
{
    group = xEventGroupCreateStatic(&control);
    helpers_start(delayed + matching + waiting);
    if (!stand_behind)
        wait_for_others(delayed, waiting);
    for (unsigned i = 0; i < matching; i++)
        helper_call(delayed + waiting + i, waits_for_mine, NULL);
    if (stand_behind)
        wait_for_others(delayed, waiting);
    for (unsigned i = 0; !now->urgent && i < matching; i++)
        vTaskPrioritySet(helper_handle(delayed + waiting + i), PRIORITY_CREATED);
    for (unsigned i = 1; i < delayed; i++)
        helper_delay(i, brings == sets_bits ? LIMIT : IN_VAIN);
    helper_call(0, brings, NULL);
}

static void check(unsigned delayed, unsigned matching, unsigned waiting)
{
    CHECK(!helper_busy(0) && xEventGroupGetBits(group) == 0);
    for (unsigned i = 0; i < matching + waiting; i++) {
        if (i >= waiting)
            vTaskPrioritySet(helper_handle(delayed + i), helper_priority(delayed + i));
        CHECK(helper_busy(delayed + i) == (i < waiting));
    }
    helpers_stop();
}

/* Worst: as for a wait that ends in vain; the bits that the caller sets are looked at for all that wait. */
static void measure_in_vain(unsigned delayed, unsigned waiting, unsigned state, unsigned late)
{
    EventBits_t bits;

    set_state(WAYS_IN_FRONT + state);
    prepare(late == 0 ? sets_bits_late : sets_nothing, delayed, 0, waiting);
    wcet_param(0, delayed);
    wcet_param(1, waiting);
    wcet_param(2, state);
    wcet_param(3, late);
    MEASURE(SERVICE_XEVENTGROUPSYNC_TIMES_OUT, bits = xEventGroupSync(group, MINE, ALL, IN_VAIN));
    CHECK(bits == (late == 0 ? ALL : MINE));
    (void)xEventGroupClearBits(group, MINE);
    check(delayed, 0, waiting);
}

/* Worst: M tasks get the bits that the caller sets, and want them cleared; the rest as above. */
static void measure_wakes(unsigned delayed, unsigned matching, unsigned waiting, unsigned state)
{
    EventBits_t bits;

    set_state(state);
    prepare(sets_bits, delayed, matching, waiting);
    wcet_param(0, delayed);
    wcet_param(1, matching);
    wcet_param(2, waiting);
    wcet_param(3, state);
    MEASURE(SERVICE_XEVENTGROUPSYNC_WAKES_BLOCKS, bits = xEventGroupSync(group, MINE, ALL, LIMIT));
    CHECK(bits == ALL);
    check(delayed, matching, waiting);

    for (unsigned late = 0; late < 2; late++) {
        prepare(late == 0 ? sets_bits_late : sets_nothing, delayed, matching, waiting);
        wcet_param(0, delayed);
        wcet_param(1, matching);
        wcet_param(2, waiting);
        wcet_param(3, state);
        wcet_param(4, late);
        MEASURE(SERVICE_XEVENTGROUPSYNC_WAKES_TIMES_OUT,
                bits = xEventGroupSync(group, MINE, ALL, IN_VAIN));
        CHECK((bits == ALL) == (late == 0));
        (void)xEventGroupClearBits(group, MINE);
        check(delayed, matching, waiting);
    }
}

/* Any bit is enough; all are there when the caller looks for the last time, and are cleared; or are not
 * cleared, or not there. */
static void measure_any(unsigned delayed, unsigned state)
{
    EventBits_t bits;

    set_state(0);
    prepare(state < 2 ? sets_bits_late : sets_nothing, delayed, 0, 0);
    wcet_param(0, delayed);
    wcet_param(1, state);
    MEASURE(SERVICE_XEVENTGROUPWAITBITS_ANY_TIMES_OUT,
            bits = xEventGroupWaitBits(group, ALL, state == 1 ? pdFALSE : pdTRUE, pdFALSE, IN_VAIN));
    CHECK(bits == (state < 2 ? ALL : 0));
    (void)xEventGroupClearBits(group, ALL);
    check(delayed, 0, 0);
}

void measure_meetings(void)
{
    for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++)
        for (unsigned state = 0; state < 3; state++)
            measure_any(delayed, state);
    for (unsigned delayed = 1; delayed <= DELAYED_AT_ONCE; delayed++)
        for (unsigned waiting = 0; waiting <= WAITING_AT_ONCE; waiting++)
            for (unsigned state = 0; state < WAYS_TO_MISS; state++)
                for (unsigned late = 0; late < 2; late++)
                    measure_in_vain(delayed, waiting, state, late);
    for (unsigned delayed = 1; delayed <= OF_THREE; delayed++)
        for (unsigned matching = 1; matching <= OF_THREE; matching++)
            for (unsigned waiting = 0; waiting <= OF_THREE; waiting++)
                for (unsigned state = 0; state < WAYS; state++)
                    measure_wakes(delayed, matching, waiting, state);
}

#endif
