/* Event groups over the number of tasks that wait, and over the length of the heap's free list. */
#include "driver.h"

#if DRIVER_WHOLE

#include "bits.h"
#include "board.h"
#include "heap.h"
#include "helpers.h"
#include "urgency.h"

/* One of those that are waited for. */
#define SET 0x1u

static StaticEventGroup_t control KERNEL_OBJECT;
static EventGroupHandle_t group;

static BaseType_t meets(void *unused)
{
    (void)unused;
    return xEventGroupSync(group, 0, WAITED_FOR, portMAX_DELAY) == WAITED_FOR;
}

/* U tasks that wait in vain, the last of them perhaps behind M that get what they wait for. */
static void prepare(unsigned matching, unsigned waiting, unsigned state, enum urgent urgent)
{
    urgency_start(matching + waiting, urgent);
    bits_waiters(group, 0, matching, waiting, state);
    urgency_set(waiting, matching, urgent);
    wcet_param(0, matching);
    wcet_param(1, waiting);
    wcet_param(2, state + (urgent == LAST_URGENT ? WAYS : 0));
}

static void check(unsigned matching, unsigned waiting, enum urgent urgent)
{
    urgency_check(waiting, matching, urgent, 0);
    for (unsigned i = 0; i < waiting + matching; i++)
        CHECK(helper_busy(i) == (i < waiting));
    helpers_stop();
    (void)xEventGroupClearBits(group, WAITED_FOR);
}

/* Worst: each of M tasks gets all the bits that it waits for, and wants them cleared; each of U tasks
 * waits for any of others, which takes longer to see than that one is missing; all are more urgent than
 * the caller, or no switch follows. The tasks that wait in vain stand first. */
static void measure_set(unsigned matching, unsigned waiting, unsigned state, enum urgent urgent)
{
    prepare(matching, waiting, state, urgent);
    if (urgent != NONE_URGENT)
        MEASURE(SERVICE_XEVENTGROUPSETBITS, (void)xEventGroupSetBits(group, WAITED_FOR));
    else
        MEASURE(SERVICE_XEVENTGROUPSETBITS_LESS_URGENT,
                (void)xEventGroupSetBits(group, WAITED_FOR));
    CHECK(xEventGroupGetBits(group) == (bits_cleared(state) ? 0 : WAITED_FOR));
    check(matching, waiting, urgent);
}

/* Nobody gets all the bits. */
static void measure_set_in_vain(unsigned waiting, unsigned state)
{
    EventBits_t bits;

    helpers_start(waiting);
    bits_missed(group, 0, waiting, state);
    wcet_param(0, waiting);
    wcet_param(1, state);
    MEASURE(SERVICE_XEVENTGROUPSETBITS_NONE, bits = xEventGroupSetBits(group, WAITED_FOR));
    CHECK(bits == WAITED_FOR);
    for (unsigned i = 0; i < waiting; i++)
        CHECK(helper_busy(i));
    (void)xEventGroupClearBits(group, WAITED_FOR);
    helpers_stop();
}

/* The caller is the last to arrive: W tasks wait for it by the same call, or for what it sets in one of the
 * other ways. */
static void measure_sync(unsigned waiting, unsigned state, enum urgent urgent)
{
    EventBits_t bits;

    urgency_start(waiting, urgent);
    for (unsigned i = 0; i < waiting; i++) {
        if (state == 0)
            helper_call(i, meets, NULL);
        else
            bits_awaited(group, i, state);
    }
    urgency_set(0, waiting, urgent);
    wcet_param(0, waiting);
    wcet_param(1, state + (urgent == LAST_URGENT ? WAYS_TO_COME : 0));
    if (urgent != NONE_URGENT)
        MEASURE(SERVICE_XEVENTGROUPSYNC,
                bits = xEventGroupSync(group, WAITED_FOR, WAITED_FOR, portMAX_DELAY));
    else
        MEASURE(SERVICE_XEVENTGROUPSYNC_LESS_URGENT,
                bits = xEventGroupSync(group, WAITED_FOR, WAITED_FOR, portMAX_DELAY));
    CHECK(bits == WAITED_FOR && xEventGroupGetBits(group) == 0);
    urgency_check(0, waiting, urgent, 0);
    for (unsigned i = 0; i < waiting; i++)
        CHECK(!helper_busy(i) && helper_result(i) == pdTRUE);
    helpers_stop();
}

/* Others are still to arrive: the caller sets its bit and does not wait. */
static void measure_sync_in_vain(unsigned waiting, unsigned state)
{
    EventBits_t bits;

    helpers_start(waiting);
    bits_missed(group, 0, waiting, state);
    wcet_param(0, waiting);
    wcet_param(1, state);
    MEASURE(SERVICE_XEVENTGROUPSYNC_NONE, bits = xEventGroupSync(group, SET, WAITED_FOR, 0));
    CHECK(bits == SET);
    (void)xEventGroupClearBits(group, SET);
    helpers_stop();
}

/* The same, but M tasks wait for the bits that it sets: as for measure_set. */
static void measure_sync_wakes(unsigned matching, unsigned waiting, unsigned state, enum urgent urgent)
{
    EventBits_t bits;

    prepare(matching, waiting, state, urgent);
    if (urgent != NONE_URGENT)
        MEASURE(SERVICE_XEVENTGROUPSYNC_WAKES_NONE,
                bits = xEventGroupSync(group, WAITED_FOR, WAITED_FOR | NEVER_SET, 0));
    else
        MEASURE(SERVICE_XEVENTGROUPSYNC_WAKES_NONE_LESS_URGENT,
                bits = xEventGroupSync(group, WAITED_FOR, WAITED_FOR | NEVER_SET, 0));
    CHECK(bits == (bits_cleared(state) ? 0 : WAITED_FOR));
    check(matching, waiting, urgent);
}

static void get_from_isr(void)
{
    EventBits_t bits;

    MEASURE(SERVICE_XEVENTGROUPGETBITSFROMISR, bits = xEventGroupGetBitsFromISR(group));
    CHECK(bits == WAITED_FOR);
}

static void measure_plain(void)
{
    EventBits_t bits;

    (void)xEventGroupSetBits(group, WAITED_FOR);
    in_interrupt(get_from_isr);
    /* All of the bits are waited for, or any; they are cleared, or not. */
    for (unsigned state = 0; state < 4; state++) {
        const BaseType_t clears = state & 1 ? pdFALSE : pdTRUE;
        const BaseType_t all = state & 2 ? pdFALSE : pdTRUE;

        (void)xEventGroupSetBits(group, WAITED_FOR);
        wcet_param(0, state);
        MEASURE(SERVICE_XEVENTGROUPWAITBITS,
                bits = xEventGroupWaitBits(group, WAITED_FOR, clears, all, portMAX_DELAY));
        CHECK(bits == WAITED_FOR && xEventGroupGetBits(group) == (clears ? 0 : WAITED_FOR));
    }
    (void)xEventGroupSetBits(group, WAITED_FOR);
    MEASURE(SERVICE_XEVENTGROUPCLEARBITS, bits = xEventGroupClearBits(group, SET));
    CHECK(bits == WAITED_FOR && xEventGroupGetBits(group) == (WAITED_FOR & ~SET));
    for (unsigned state = 0; state < 2; state++) {
        const EventBits_t asked = state == 0 ? WAITED_FOR : SET;

        wcet_param(0, state);
        MEASURE(SERVICE_XEVENTGROUPWAITBITS_NONE,
                bits = xEventGroupWaitBits(group, asked, pdTRUE, state == 0, 0));
        CHECK(bits == (WAITED_FOR & ~SET));
    }
    (void)xEventGroupClearBits(group, WAITED_FOR);
}

/* Worst: as for pvPortMalloc. */
static void measure_create(void)
{
    for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++) {
        struct holes holes;

        holes_take(&holes, n - 1, 1);
        holes_open(&holes);
        for (unsigned kept = 0; kept < HEAP_MINIMA; kept++) {
            heap_minimum(kept);
            CHECK(heap_free_blocks() == n);
            wcet_param(0, n);
            wcet_param(1, kept);
            MEASURE(SERVICE_XEVENTGROUPCREATE, group = xEventGroupCreate());
            CHECK(group != NULL && heap_free_blocks() == n);
            CHECK(n == 1 || (char *)group > (char *)holes.guard[n - 2]);
            vEventGroupDelete(group);
        }
        holes_close(&holes);
        CHECK(heap_free_blocks() == 1);
    }
}

/* Worst: W tasks wait for bits and are readied, more urgent or not; then as for vPortFree. */
static void measure_delete(unsigned below, unsigned waiting, enum urgent urgent)
{
    struct holes holes;

    holes_take(&holes, below, 0);
    group = xEventGroupCreate();
    CHECK((char *)group > (char *)holes.small[below - 1]);
    holes_open(&holes);
    CHECK(heap_free_blocks() == below + 1);
    urgency_start(waiting, urgent);
    bits_missed(group, 0, waiting, 0);
    urgency_set(0, waiting, urgent);
    wcet_param(0, below);
    if (waiting > 0)
        wcet_param(1, waiting);
    if (waiting > 0 && urgent != NONE_URGENT)
        wcet_param(2, urgent == LAST_URGENT);
    if (waiting == 0)
        MEASURE(SERVICE_VEVENTGROUPDELETE_NONE, vEventGroupDelete(group));
    else if (urgent != NONE_URGENT)
        MEASURE(SERVICE_VEVENTGROUPDELETE, vEventGroupDelete(group));
    else
        MEASURE(SERVICE_VEVENTGROUPDELETE_LESS_URGENT, vEventGroupDelete(group));
    CHECK(heap_free_blocks() == below);
    urgency_check(0, waiting, urgent, 0);
    for (unsigned i = 0; i < waiting; i++)
        CHECK(!helper_busy(i) && helper_result(i) == pdFALSE);
    helpers_stop();
    holes_close(&holes);
    CHECK(heap_free_blocks() == 1);
}

void measure_events(void)
{
    measure_create();
    for (unsigned below = 1; below <= EVENT_WAITERS_MAX; below++) {
        measure_delete(below, 0, ALL_URGENT);
        for (unsigned waiting = 1; waiting <= EVENT_WAITERS_MAX; waiting++)
            for (enum urgent urgent = NONE_URGENT; urgent <= LAST_URGENT; urgent++)
                measure_delete(below, waiting, urgent);
    }
    MEASURE(SERVICE_XEVENTGROUPCREATESTATIC, group = xEventGroupCreateStatic(&control));
    CHECK(group != NULL);
    measure_plain();
    for (unsigned matching = 1; matching <= EVENT_WAITERS_MAX; matching++)
        for (unsigned waiting = 1; waiting <= EVENT_WAITERS_MAX; waiting++)
            for (unsigned state = 0; state < WAYS && few(matching, state) && few(waiting, state); state++)
                for (enum urgent urgent = NONE_URGENT; urgent <= LAST_URGENT; urgent++) {
                    if (urgent == LAST_URGENT && !(few(matching, 1) && few(waiting, 1)))
                        continue;
                    measure_set(matching, waiting, state, urgent);
                    measure_sync_wakes(matching, waiting, state, urgent);
                }
    for (unsigned waiting = 1; waiting <= HELPERS_MAX - 1; waiting++)
        for (unsigned state = 0; state < WAYS_TO_MISS; state++) {
            measure_set_in_vain(waiting, state);
            measure_sync_in_vain(waiting, state);
        }
    for (unsigned waiting = 1; waiting <= HELPERS_MAX - 1; waiting++)
        for (unsigned state = 0; state < WAYS_TO_COME; state++)
            for (enum urgent urgent = NONE_URGENT; urgent <= LAST_URGENT; urgent++)
                measure_sync(waiting, state, urgent);
}

#endif
