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

static BaseType_t waits_for_mine(void *unused)
{
    (void)unused;
    return (xEventGroupWaitBits(group, MINE, pdTRUE, pdTRUE, portMAX_DELAY) & MINE) == MINE;
}

/* That one of several bits is missing takes longer to see on RISC-V, that there is none of any elsewhere. */
static BaseType_t waits_for_others(void *unused)
{
    (void)unused;
#if BOARD_NEEDS_STATES
    return xEventGroupWaitBits(group, ALL | NEVER_SET, pdTRUE, pdTRUE, portMAX_DELAY) == 0;
#endif
    return xEventGroupWaitBits(group, NEVER_SET, pdTRUE, pdFALSE, portMAX_DELAY) == 0;
}

/* `delayed` tasks, the first of which sets the bits; then those that wait in vain, then those that wait
 * for the caller's bits. */
static void prepare(helper_function *brings, unsigned delayed, unsigned matching, unsigned waiting)
{
    group = xEventGroupCreateStatic(&control);
    helpers_start(delayed + matching + waiting);
    for (unsigned i = 0; i < waiting; i++)
        helper_call(delayed + i, waits_for_others, NULL);
    for (unsigned i = 0; i < matching; i++)
        helper_call(delayed + waiting + i, waits_for_mine, NULL);
    for (unsigned i = 1; i < delayed; i++)
        helper_delay(i, brings == sets_bits ? LIMIT : IN_VAIN);
    helper_call(0, brings, NULL);
}

static void check(unsigned delayed, unsigned matching, unsigned waiting)
{
    CHECK(!helper_busy(0) && xEventGroupGetBits(group) == 0);
    for (unsigned i = 0; i < matching + waiting; i++)
        CHECK(helper_busy(delayed + i) == (i < waiting));
    helpers_stop();
}

/* Worst: as for a wait that ends in vain; the bits that the caller sets are looked at for all that wait. */
static void measure_in_vain(unsigned delayed, unsigned waiting)
{
    EventBits_t bits;

    prepare(sets_bits_late, delayed, 0, waiting);
    wcet_param(0, delayed);
    wcet_param(1, waiting);
    MEASURE(SERVICE_XEVENTGROUPSYNC_TIMES_OUT, bits = xEventGroupSync(group, MINE, ALL, IN_VAIN));
    CHECK(bits == ALL);
    check(delayed, 0, waiting);
}

/* Worst: M tasks get the bits that the caller sets, and want them cleared; the rest as above. */
static void measure_wakes(unsigned delayed, unsigned matching, unsigned waiting)
{
    EventBits_t bits;

    prepare(sets_bits, delayed, matching, waiting);
    wcet_param(0, delayed);
    wcet_param(1, matching);
    wcet_param(2, waiting);
    MEASURE(SERVICE_XEVENTGROUPSYNC_WAKES_BLOCKS, bits = xEventGroupSync(group, MINE, ALL, LIMIT));
    CHECK(bits == ALL);
    check(delayed, matching, waiting);

    prepare(sets_bits_late, delayed, matching, waiting);
    wcet_param(0, delayed);
    wcet_param(1, matching);
    wcet_param(2, waiting);
    MEASURE(SERVICE_XEVENTGROUPSYNC_WAKES_TIMES_OUT,
            bits = xEventGroupSync(group, MINE, ALL, IN_VAIN));
    CHECK(bits == ALL);
    check(delayed, matching, waiting);
}

/* Any bit is enough; all are there when the caller looks for the last time, and are cleared. */
static void measure_any(unsigned delayed, BaseType_t clears)
{
    EventBits_t bits;

    prepare(sets_bits_late, delayed, 0, 0);
    wcet_param(0, delayed);
    MEASURE(SERVICE_XEVENTGROUPWAITBITS_ANY_TIMES_OUT,
            bits = xEventGroupWaitBits(group, ALL, clears, pdFALSE, IN_VAIN));
    CHECK(bits == ALL);
    (void)xEventGroupClearBits(group, ALL);
    check(delayed, 0, 0);
}

void measure_meetings(void)
{
    for (unsigned delayed = 1; delayed <= DELAYED_MAX; delayed++)
        for (unsigned state = 0; state < STATES(2); state++)
            measure_any(delayed, state == 0 ? pdTRUE : pdFALSE);
    for (unsigned delayed = 1; delayed <= DELAYED_AT_ONCE; delayed++)
        for (unsigned waiting = 0; waiting <= WAITING_AT_ONCE; waiting++)
            measure_in_vain(delayed, waiting);
    for (unsigned delayed = 1; delayed <= OF_THREE; delayed++)
        for (unsigned matching = 1; matching <= OF_THREE; matching++)
            for (unsigned waiting = 0; waiting <= OF_THREE; waiting++)
                measure_wakes(delayed, matching, waiting);
}

#endif
