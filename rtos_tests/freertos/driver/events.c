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

struct wanted {
    EventBits_t bits;
    BaseType_t clears;
    BaseType_t all;
};

/* What those wait for who get it, and those who do not. Which of each takes longest to see is the core's. */
static const struct wanted comes[] = {
    {WAITED_FOR, pdTRUE, pdTRUE},
    {WAITED_FOR, pdTRUE, pdFALSE},
    {WAITED_FOR, pdFALSE, pdTRUE},
    {WAITED_FOR, pdFALSE, pdFALSE},
};
#define WAYS_TO_COME 4u
static const struct wanted is_missing[] = {
    {NEVER_SET, pdTRUE, pdFALSE},
    {WAITED_FOR | NEVER_SET, pdTRUE, pdTRUE},
};
/* Those who do not get it all miss it in one way, or the last of them in the other, with which the kernel
 * leaves its loop if that one stands behind those who get it. */
#define WAYS_TO_MISS 4u
#define WAYS_IN_FRONT 8u
#define WAYS (WAYS_IN_FRONT + WAYS_TO_COME * WAYS_TO_MISS)

/* Those who get it are more urgent than the caller, or the last of them alone is, or none: then no switch
 * follows. */
enum urgent { NONE_URGENT, ALL_URGENT, LAST_URGENT };

static int last_stands_behind(unsigned state)
{
    return state >= WAYS_IN_FRONT;
}

static const struct wanted *get_in(unsigned state)
{
    return &comes[last_stands_behind(state) ? (state - WAYS_IN_FRONT) / WAYS_TO_MISS : state / 2];
}

static const struct wanted *miss_in(unsigned way, unsigned i, unsigned count)
{
    return &is_missing[(way & 1) ^ (way >> 1 && i + 1 == count)];
}

/* Of one bit or of several: true if they came. */
static BaseType_t waits(void *wanted)
{
    const struct wanted *want = wanted;

    return (xEventGroupWaitBits(group, want->bits, want->clears, want->all, portMAX_DELAY) &
            want->bits) == want->bits;
}

static void wait_for(unsigned helper, const struct wanted *wanted)
{
    helper_call(helper, waits, (void *)(uintptr_t)wanted);
}

static unsigned less_urgent(unsigned count, enum urgent urgent)
{
    return urgent == ALL_URGENT ? 0 : urgent == LAST_URGENT ? count - 1 : count;
}

/* Tasks that are not more urgent than the caller, so that no switch follows when they are woken. */
static void set_urgency(unsigned first, unsigned count, enum urgent urgent)
{
    for (unsigned i = first; i < first + less_urgent(count, urgent); i++)
        vTaskPrioritySet(helper_handle(i), PRIORITY_CREATED);
}

static BaseType_t stands(void *unused)
{
    (void)unused;
    return pdTRUE;
}

/* Beside one that is more urgent, the others come to a list in which another task stands ready, so that each of them
 * costs the same. */
static void start(unsigned count, enum urgent urgent)
{
    helpers_start(count + (urgent == LAST_URGENT));
    if (urgent == LAST_URGENT) {
        vTaskPrioritySet(helper_handle(count), PRIORITY_CREATED);
        helper_call(count, stands, NULL);
    }
}

static void check_urgency(unsigned first, unsigned count, enum urgent urgent)
{
    for (unsigned i = first; i < first + less_urgent(count, urgent); i++) {
        CHECK(helper_busy(i) && eTaskGetState(helper_handle(i)) == eReady);
        vTaskPrioritySet(helper_handle(i), helper_priority(i));
    }
}

static BaseType_t meets(void *unused)
{
    (void)unused;
    return xEventGroupSync(group, 0, WAITED_FOR, portMAX_DELAY) == WAITED_FOR;
}

/* U tasks that wait in vain, the last of them perhaps behind M that get what they wait for. */
static void prepare(unsigned matching, unsigned waiting, unsigned state, enum urgent urgent)
{
    const unsigned behind = last_stands_behind(state);
    const unsigned way = behind ? (state - WAYS_IN_FRONT) % WAYS_TO_MISS : state % 2;

    start(matching + waiting, urgent);
    for (unsigned i = 0; i < waiting - behind; i++)
        wait_for(i, miss_in(way, i, waiting));
    for (unsigned i = waiting; i < waiting + matching; i++)
        wait_for(i, get_in(state));
    if (behind)
        wait_for(waiting - 1, miss_in(way, waiting - 1, waiting));
    set_urgency(waiting, matching, urgent);
    wcet_param(0, matching);
    wcet_param(1, waiting);
    wcet_param(2, state + (urgent == LAST_URGENT ? WAYS : 0));
}

static void check(unsigned matching, unsigned waiting, enum urgent urgent)
{
    check_urgency(waiting, matching, urgent);
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
    CHECK(xEventGroupGetBits(group) == (get_in(state)->clears ? 0 : WAITED_FOR));
    check(matching, waiting, urgent);
}

/* Nobody gets all the bits. */
static void measure_set_in_vain(unsigned waiting, unsigned state)
{
    EventBits_t bits;

    helpers_start(waiting);
    for (unsigned i = 0; i < waiting; i++)
        wait_for(i, miss_in(state, i, waiting));
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

    start(waiting, urgent);
    for (unsigned i = 0; i < waiting; i++) {
        if (state == 0)
            helper_call(i, meets, NULL);
        else
            wait_for(i, &comes[state]);
    }
    set_urgency(0, waiting, urgent);
    wcet_param(0, waiting);
    wcet_param(1, state + (urgent == LAST_URGENT ? WAYS_TO_COME : 0));
    if (urgent != NONE_URGENT)
        MEASURE(SERVICE_XEVENTGROUPSYNC,
                bits = xEventGroupSync(group, WAITED_FOR, WAITED_FOR, portMAX_DELAY));
    else
        MEASURE(SERVICE_XEVENTGROUPSYNC_LESS_URGENT,
                bits = xEventGroupSync(group, WAITED_FOR, WAITED_FOR, portMAX_DELAY));
    CHECK(bits == WAITED_FOR && xEventGroupGetBits(group) == 0);
    check_urgency(0, waiting, urgent);
    for (unsigned i = 0; i < waiting; i++)
        CHECK(!helper_busy(i) && helper_result(i) == pdTRUE);
    helpers_stop();
}

/* Others are still to arrive: the caller sets its bit and does not wait. */
static void measure_sync_in_vain(unsigned waiting, unsigned state)
{
    EventBits_t bits;

    helpers_start(waiting);
    for (unsigned i = 0; i < waiting; i++)
        wait_for(i, miss_in(state, i, waiting));
    wcet_param(0, waiting);
    wcet_param(1, state);
    MEASURE(SERVICE_XEVENTGROUPSYNC_NONE, bits = xEventGroupSync(group, SET, WAITED_FOR, 0));
    CHECK(bits == SET);
    (void)xEventGroupClearBits(group, SET);
    helpers_stop();
}

/* The same, but M tasks wait for the bits that it sets: as for measure_set. */
static void measure_sync_wakes(unsigned matching, unsigned waiting, unsigned state,
                               enum urgent urgent)
{
    EventBits_t bits;

    prepare(matching, waiting, state, urgent);
    if (urgent != NONE_URGENT)
        MEASURE(SERVICE_XEVENTGROUPSYNC_WAKES_NONE,
                bits = xEventGroupSync(group, WAITED_FOR, WAITED_FOR | NEVER_SET, 0));
    else
        MEASURE(SERVICE_XEVENTGROUPSYNC_WAKES_NONE_LESS_URGENT,
                bits = xEventGroupSync(group, WAITED_FOR, WAITED_FOR | NEVER_SET, 0));
    CHECK(bits == (get_in(state)->clears ? 0 : WAITED_FOR));
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
    driver_on_interrupt = get_from_isr;
    board_interrupt();
    driver_on_interrupt = NULL;
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
    start(waiting, urgent);
    for (unsigned i = 0; i < waiting; i++)
        wait_for(i, &is_missing[0]);
    set_urgency(0, waiting, urgent);
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
    check_urgency(0, waiting, urgent);
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
