/* Event groups over the number of tasks that wait, and over the length of the heap's free list. */
#include "driver.h"

#if DRIVER_WHOLE

#include "board.h"
#include "heap.h"
#include "helpers.h"

#include "event_groups.h"

#define SET 0x1u
#define NEVER_SET 0x80u
#define WAITED_FOR 0x3u

static StaticEventGroup_t control KERNEL_OBJECT;
static EventGroupHandle_t group;

static BaseType_t waits_for_both(void *unused)
{
    (void)unused;
    return (xEventGroupWaitBits(group, WAITED_FOR, pdTRUE, pdTRUE, portMAX_DELAY) &
            WAITED_FOR) == WAITED_FOR;
}

static BaseType_t waits_in_vain(void *unused)
{
    (void)unused;
    return xEventGroupWaitBits(group, NEVER_SET, pdTRUE, pdFALSE, portMAX_DELAY) == 0;
}

/* That one of several bits is missing takes longer to see on RISC-V, that there is none of any elsewhere. */
static BaseType_t misses_one(void *unused)
{
    (void)unused;
#if BOARD_NEEDS_STATES == 1
    return xEventGroupWaitBits(group, WAITED_FOR | NEVER_SET, pdTRUE, pdTRUE, portMAX_DELAY) == 0;
#else
    return waits_in_vain(NULL);
#endif
}

static BaseType_t meets(void *unused)
{
    (void)unused;
    return xEventGroupSync(group, 0, WAITED_FOR, portMAX_DELAY) == WAITED_FOR;
}

/* Worst: each of M tasks gets all the bits that it waits for, and wants them cleared; each of U tasks
 * waits for any of others, which takes longer to see than that one is missing; all are more urgent than the caller. The tasks that wait in vain stand
 * first. */
static void measure_set(unsigned matching, unsigned waiting)
{
    EventBits_t bits;

    helpers_start(matching + waiting);
    for (unsigned i = 0; i < waiting; i++)
        helper_call(i, misses_one, NULL);
    for (unsigned i = waiting; i < waiting + matching; i++)
        helper_call(i, waits_for_both, NULL);
    wcet_param(0, matching);
    wcet_param(1, waiting);
    MEASURE(SERVICE_XEVENTGROUPSETBITS, bits = xEventGroupSetBits(group, WAITED_FOR));
    CHECK(bits == 0);
    for (unsigned i = 0; i < waiting + matching; i++)
        CHECK(helper_busy(i) == (i < waiting));
    helpers_stop();
}

/* Nobody gets all the bits. */
static void measure_set_in_vain(unsigned waiting)
{
    EventBits_t bits;

    helpers_start(waiting);
    for (unsigned i = 0; i < waiting; i++)
        helper_call(i, misses_one, NULL);
    wcet_param(0, waiting);
    MEASURE(SERVICE_XEVENTGROUPSETBITS_NONE, bits = xEventGroupSetBits(group, WAITED_FOR));
    CHECK(bits == WAITED_FOR);
    for (unsigned i = 0; i < waiting; i++)
        CHECK(helper_busy(i));
    (void)xEventGroupClearBits(group, WAITED_FOR);
    helpers_stop();
}

/* The caller is the last to arrive: W more urgent tasks wait for it. */
static void measure_sync(unsigned waiting)
{
    EventBits_t bits;

    helpers_start(waiting);
    for (unsigned i = 0; i < waiting; i++)
        helper_call(i, meets, NULL);
    wcet_param(0, waiting);
    MEASURE(SERVICE_XEVENTGROUPSYNC,
            bits = xEventGroupSync(group, WAITED_FOR, WAITED_FOR, portMAX_DELAY));
    CHECK(bits == WAITED_FOR && xEventGroupGetBits(group) == 0);
    for (unsigned i = 0; i < waiting; i++)
        CHECK(!helper_busy(i) && helper_result(i) == pdTRUE);
    helpers_stop();
}

/* Others are still to arrive: the caller sets its bit and does not wait. */
static void measure_sync_in_vain(unsigned waiting)
{
    EventBits_t bits;

    helpers_start(waiting);
    for (unsigned i = 0; i < waiting; i++)
        helper_call(i, misses_one, NULL);
    wcet_param(0, waiting);
    MEASURE(SERVICE_XEVENTGROUPSYNC_NONE, bits = xEventGroupSync(group, SET, WAITED_FOR, 0));
    CHECK(bits == SET);
    (void)xEventGroupClearBits(group, SET);
    helpers_stop();
}

/* The same, but M tasks wait for the bits that it sets: as for measure_set. */
static void measure_sync_wakes(unsigned matching, unsigned waiting)
{
    EventBits_t bits;

    helpers_start(matching + waiting);
    for (unsigned i = 0; i < waiting; i++)
        helper_call(i, misses_one, NULL);
    for (unsigned i = waiting; i < waiting + matching; i++)
        helper_call(i, waits_for_both, NULL);
    wcet_param(0, matching);
    wcet_param(1, waiting);
    MEASURE(SERVICE_XEVENTGROUPSYNC_WAKES_NONE,
            bits = xEventGroupSync(group, WAITED_FOR, WAITED_FOR | NEVER_SET, 0));
    CHECK(bits == 0);
    for (unsigned i = 0; i < waiting + matching; i++)
        CHECK(helper_busy(i) == (i < waiting));
    helpers_stop();
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
    driver_on_interrupt = get_from_isr;
    board_interrupt();
    driver_on_interrupt = NULL;
    /* All of the bits are waited for, or any; they are cleared, or not. */
    for (unsigned state = 0; state < STATES(4); state++) {
        const BaseType_t clears = state & 1 ? pdFALSE : pdTRUE;
        const BaseType_t all = state & 2 ? pdFALSE : pdTRUE;

        (void)xEventGroupSetBits(group, WAITED_FOR);
        MEASURE(SERVICE_XEVENTGROUPWAITBITS,
                bits = xEventGroupWaitBits(group, WAITED_FOR, clears, all, portMAX_DELAY));
        CHECK(bits == WAITED_FOR && xEventGroupGetBits(group) == (clears ? 0 : WAITED_FOR));
    }
    (void)xEventGroupSetBits(group, WAITED_FOR);
    MEASURE(SERVICE_XEVENTGROUPCLEARBITS, bits = xEventGroupClearBits(group, SET));
    CHECK(bits == WAITED_FOR && xEventGroupGetBits(group) == (WAITED_FOR & ~SET));
    for (unsigned state = 0; state < STATES(2); state++) {
        const EventBits_t asked = state == 0 ? WAITED_FOR : SET;

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
        CHECK(heap_free_blocks() == n);
        xPortResetHeapMinimumEverFreeHeapSize();
        wcet_param(0, n);
        MEASURE(SERVICE_XEVENTGROUPCREATE, group = xEventGroupCreate());
        CHECK(group != NULL && heap_free_blocks() == n);
        CHECK(n == 1 || (char *)group > (char *)holes.guard[n - 2]);
        vEventGroupDelete(group);
        holes_close(&holes);
        CHECK(heap_free_blocks() == 1);
    }
}

/* Worst: W more urgent tasks wait for bits and are readied; then as for vPortFree. */
static void measure_delete(unsigned below, unsigned waiting)
{
    struct holes holes;

    holes_take(&holes, below, 0);
    group = xEventGroupCreate();
    CHECK((char *)group > (char *)holes.small[below - 1]);
    holes_open(&holes);
    CHECK(heap_free_blocks() == below + 1);
    helpers_start(waiting);
    for (unsigned i = 0; i < waiting; i++)
        helper_call(i, waits_in_vain, NULL);
    wcet_param(0, below);
    if (waiting > 0) {
        wcet_param(1, waiting);
        MEASURE(SERVICE_VEVENTGROUPDELETE, vEventGroupDelete(group));
    } else {
        MEASURE(SERVICE_VEVENTGROUPDELETE_NONE, vEventGroupDelete(group));
    }
    CHECK(heap_free_blocks() == below);
    for (unsigned i = 0; i < waiting; i++)
        CHECK(!helper_busy(i) && helper_result(i) == pdTRUE);
    helpers_stop();
    holes_close(&holes);
    CHECK(heap_free_blocks() == 1);
}

void measure_events(void)
{
    measure_create();
    for (unsigned below = 1; below <= EVENT_WAITERS_MAX; below++)
        for (unsigned waiting = 0; waiting <= EVENT_WAITERS_MAX; waiting++)
            measure_delete(below, waiting);
    MEASURE(SERVICE_XEVENTGROUPCREATESTATIC, group = xEventGroupCreateStatic(&control));
    CHECK(group != NULL);
    measure_plain();
    for (unsigned matching = 1; matching <= EVENT_WAITERS_MAX; matching++)
        for (unsigned waiting = 0; waiting <= EVENT_WAITERS_MAX; waiting++) {
            measure_set(matching, waiting);
            measure_sync_wakes(matching, waiting);
        }
    for (unsigned waiting = 1; waiting <= HELPERS_MAX - 1; waiting++) {
        measure_set_in_vain(waiting);
        measure_sync_in_vain(waiting);
    }
    for (unsigned waiting = 1; waiting <= HELPERS_MAX - 1; waiting++)
        measure_sync(waiting);
}

#endif
