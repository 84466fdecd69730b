/* Tasks that meet by an event group and wait there, also in vain; and waits for any of several bits that
 * end in vain. As in blocking.c, another task sets what the caller waits for; it is more urgent than the
 * caller. */
#include "driver.h"

#if DRIVER_WHOLE

#include "bits.h"
#include "helpers.h"
#include "urgency.h"

/* As long as the caller waits: where its bits are set, and where they are too late. Tasks that are delayed
 * wake no later. */
#define LIMIT 50u

/* Largest values of parameters that act at once. */
#define DELAYED_AT_ONCE 6u
#define WAITING_AT_ONCE 4u
#define OF_THREE 6u
#define ALL_OF_THREE 3u /* every combination up to here */

/* The caller sets those that the others wait for, and waits for more. */
#define ALL 0xfu

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

/* Too late, too: or the bits do not come. */
static BaseType_t sets_nothing(void *unused)
{
    (void)unused;
    vTaskDelay(IN_VAIN);
    return pdPASS;
}

/* `delayed` tasks, the first of which sets the bits. */
static void delay(helper_function *brings, unsigned delayed)
{
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
static void measure_in_vain(unsigned delayed, unsigned waiting, unsigned state, unsigned late)
{
    EventBits_t bits;

    group = xEventGroupCreateStatic(&control);
    helpers_start(delayed + waiting);
    bits_missed(group, delayed, waiting, state);
    delay(late == 0 ? sets_bits_late : sets_nothing, delayed);
    wcet_param(0, delayed);
    wcet_param(1, waiting);
    wcet_param(2, state);
    wcet_param(3, late);
    MEASURE(SERVICE_XEVENTGROUPSYNC_TIMES_OUT, bits = xEventGroupSync(group, WAITED_FOR, ALL, IN_VAIN));
    CHECK(bits == (late == 0 ? ALL : WAITED_FOR));
    (void)xEventGroupClearBits(group, WAITED_FOR);
    check(delayed, 0, waiting);
}

/* Each is more urgent than those before it, also where helpers share a priority: where the port does not mark the
 * priorities with ready tasks, the kernel then notes a new highest one for each. */
static void rise(unsigned first, unsigned count)
{
    for (unsigned i = first + count - 1; i > first; i--) {
        const UBaseType_t above = uxTaskPriorityGet(helper_handle(i));

        if (uxTaskPriorityGet(helper_handle(i - 1)) >= above)
            vTaskPrioritySet(helper_handle(i - 1), above - 1);
    }
    CHECK(uxTaskPriorityGet(helper_handle(first)) > PRIORITY_DRIVER);
    for (unsigned i = first + 1; i < first + count; i++)
        CHECK(uxTaskPriorityGet(helper_handle(i)) > uxTaskPriorityGet(helper_handle(i - 1)));
}

/* M tasks get the bits that the caller sets. Those that are not more urgent than the caller run while it waits. */
static void prepare(helper_function *brings, unsigned delayed, unsigned matching, unsigned waiting, unsigned state,
                    enum urgent urgent)
{
    group = xEventGroupCreateStatic(&control);
    urgency_start(delayed + matching + waiting, urgent);
    bits_waiters(group, delayed, matching, waiting, state);
    urgency_set(delayed + waiting, matching, urgent);
    if (urgent == ALL_URGENT)
        rise(delayed + waiting, matching);
    delay(brings, delayed);
    wcet_param(0, delayed);
    wcet_param(1, matching);
    wcet_param(2, waiting);
    wcet_param(3, state + (urgent == LAST_URGENT ? WAYS : 0));
}

static void measure_wakes(unsigned delayed, unsigned matching, unsigned waiting, unsigned state, enum urgent urgent)
{
    EventBits_t bits;

    prepare(sets_bits, delayed, matching, waiting, state, urgent);
    if (urgent != NONE_URGENT)
        MEASURE(SERVICE_XEVENTGROUPSYNC_WAKES_BLOCKS, bits = xEventGroupSync(group, WAITED_FOR, ALL, LIMIT));
    else
        MEASURE(SERVICE_XEVENTGROUPSYNC_WAKES_BLOCKS_LESS_URGENT,
                bits = xEventGroupSync(group, WAITED_FOR, ALL, LIMIT));
    CHECK(bits == ALL);
    urgency_check(delayed + waiting, matching, urgent, 1);
    check(delayed, matching, waiting);
}

/* Worst: as for both of the others. */
static void measure_wakes_in_vain(unsigned delayed, unsigned matching, unsigned waiting, unsigned state,
                                  enum urgent urgent, unsigned late)
{
    EventBits_t bits;

    prepare(late == 0 ? sets_bits_late : sets_nothing, delayed, matching, waiting, state, urgent);
    wcet_param(4, late);
    if (urgent != NONE_URGENT)
        MEASURE(SERVICE_XEVENTGROUPSYNC_WAKES_TIMES_OUT,
                bits = xEventGroupSync(group, WAITED_FOR, ALL, IN_VAIN));
    else
        MEASURE(SERVICE_XEVENTGROUPSYNC_WAKES_TIMES_OUT_LESS_URGENT,
                bits = xEventGroupSync(group, WAITED_FOR, ALL, IN_VAIN));
    CHECK(bits == (late == 0 ? ALL : bits_cleared(state) ? 0 : WAITED_FOR));
    (void)xEventGroupClearBits(group, WAITED_FOR);
    urgency_check(delayed + waiting, matching, urgent, 1);
    check(delayed, matching, waiting);
}

/* Any bit is enough; all are there when the caller looks for the last time, and are cleared; or are not
 * cleared, or not there. */
static void measure_any(unsigned delayed, unsigned state)
{
    EventBits_t bits;

    group = xEventGroupCreateStatic(&control);
    helpers_start(delayed);
    delay(state < 2 ? sets_bits_late : sets_nothing, delayed);
    wcet_param(0, delayed);
    wcet_param(1, state);
    MEASURE(SERVICE_XEVENTGROUPWAITBITS_ANY_TIMES_OUT,
            bits = xEventGroupWaitBits(group, ALL, state == 1 ? pdFALSE : pdTRUE, pdFALSE, IN_VAIN));
    CHECK(bits == (state < 2 ? ALL : 0));
    (void)xEventGroupClearBits(group, ALL);
    check(delayed, 0, 0);
}

/* Of three that act at once: all combinations of small values, each by itself up to its largest, and some of what
 * lies between and the far corner, so that a formula is held against values that are beyond what it was found from. */
static int swept_three(unsigned delayed, unsigned matching, unsigned waiting)
{
    static const uint8_t further[][3] = {{5, 2, 3}, {2, 5, 5}, {6, 3, 1}, {1, 5, 2}, {3, 6, 5}, {6, 6, 6}};

    if (delayed <= ALL_OF_THREE && matching <= ALL_OF_THREE && waiting <= ALL_OF_THREE)
        return 1;
    if ((delayed == 1) + (matching == 1) + (waiting == 0) == 2)
        return 1;
    for (unsigned i = 0; i < sizeof further / sizeof *further; i++)
        if (delayed == further[i][0] && matching == further[i][1] && waiting == further[i][2])
            return 1;
    return 0;
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
                for (unsigned state = 0; state < WAYS && swept_three(delayed, matching, waiting); state++)
                    for (enum urgent urgent = NONE_URGENT; urgent <= LAST_URGENT; urgent++) {
                        measure_wakes(delayed, matching, waiting, state, urgent);
                        for (unsigned late = 0; late < 2; late++)
                            measure_wakes_in_vain(delayed, matching, waiting, state, urgent, late);
                    }
}

#endif
