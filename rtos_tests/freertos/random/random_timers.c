/* Software timers. The timers' task is more urgent than all others, so it carries a command out before
 * the call that gives it returns, unless the scheduler is locked. */
#include "random.h"

#include "event_groups.h"
#include "timers.h"

#define TIMERS 6u
#define FROM_HEAP 2u

static StaticTimer_t controls[TIMERS] KERNEL_OBJECT;
static StaticTimer_t spare_control KERNEL_OBJECT;
static StaticEventGroup_t group_control KERNEL_OBJECT;
static TimerHandle_t timers[TIMERS];
static TimerHandle_t made[FROM_HEAP];
static EventGroupHandle_t group;

CALLER_TEXT static void does_nothing(TimerHandle_t unused)
{
    (void)unused;
}

CALLER_TEXT static void nothing_to_do(void *unused, uint32_t unused_too)
{
    (void)unused;
    (void)unused_too;
}

void prepare_timers(void)
{
    for (unsigned i = 0; i < TIMERS; i++)
        timers[i] = xTimerCreateStatic("timer", 3 + chance(60), chance(2) ? pdTRUE : pdFALSE,
                                       &controls[i], does_nothing, &controls[i]);
    group = xEventGroupCreateStatic(&group_control);
}

static TimerHandle_t some_timer(void)
{
    const unsigned which = chance(TIMERS + FROM_HEAP);

    return which < TIMERS || made[which - TIMERS] == NULL ? timers[which % TIMERS]
                                                          : made[which - TIMERS];
}

static unsigned active_timers(void)
{
    return (unsigned)(pxCurrentTimerList->uxNumberOfItems + pxOverflowTimerList->uxNumberOfItems);
}

/* Who is active, and whether this one is; the queue of commands has one place. */
static void say_timer(TimerHandle_t timer)
{
    const unsigned active = (unsigned)is_in_a_list(&((StaticTimer_t *)timer)->xDummy2);

    say("active", active);
    say("T", active_timers() - active);
    say("locked", (unsigned)uxSchedulerSuspended);
    say("me", (unsigned)priority_of(NULL));
}

static void command(void)
{
    const TimerHandle_t timer = some_timer();
    const unsigned kind = chance(5);
    static const char *const names[] = {"xTimerStart", "xTimerStart", "xTimerReset", "xTimerStop",
                                        "xTimerChangePeriod"};
    const unsigned number = say_call(names[kind]);
    BaseType_t result;

    say_timer(timer);
    switch (kind) {
    case 0:
    case 1:
        MEASURED(number, result = xTimerStart(timer, 0));
        break;
    case 2:
        MEASURED(number, result = xTimerReset(timer, 0));
        break;
    case 3:
        MEASURED(number, result = xTimerStop(timer, 0));
        break;
    default:
        MEASURED(number, result = xTimerChangePeriod(timer, 3 + chance(60), 0));
    }
    say_result(number, (unsigned)result);
}

static void pend(void)
{
    const unsigned number = say_call("xTimerPendFunctionCall");
    BaseType_t result;

    say_timer(timers[0]);
    MEASURED(number, result = xTimerPendFunctionCall(nothing_to_do, NULL, 0, 0));
    say_result(number, (unsigned)result);
}

static void create(void)
{
    TimerHandle_t *place = &made[chance(FROM_HEAP)];
    BaseType_t result;
    unsigned number;

    if (*place == NULL) {
        number = say_call("xTimerCreate");
        say("N", free_blocks());
        MEASURED(number, *place = xTimerCreate("timer", 5, pdTRUE, NULL, does_nothing));
        say_result(number, *place != NULL);
    } else {
        number = say_call("xTimerDelete");
        say("below", free_blocks_below(*place));
        say_timer(*place);
        MEASURED(number, result = xTimerDelete(*place, 0));
        if (result == pdPASS)
            *place = NULL;
        say_result(number, (unsigned)result);
    }
}

static void ask(void)
{
    const TimerHandle_t timer = some_timer();
    unsigned number = say_call("xTimerIsTimerActive");

    MEASURED(number, (void)xTimerIsTimerActive(timer));
    number = say_call("xTimerGetPeriod");
    MEASURED(number, (void)xTimerGetPeriod(timer));
    number = say_call("xTimerGetExpiryTime");
    MEASURED(number, (void)xTimerGetExpiryTime(timer));
    number = say_call("pvTimerGetTimerID");
    MEASURED(number, (void)pvTimerGetTimerID(timer));
    number = say_call("vTimerSetTimerID");
    MEASURED(number, vTimerSetTimerID(timer, &controls[0]));
    number = say_call("vTimerSetReloadMode");
    MEASURED(number, vTimerSetReloadMode(timer, chance(2) ? pdTRUE : pdFALSE));
    number = say_call("xTimerCreateStatic");
    MEASURED(number, (void)xTimerCreateStatic("spare", 4, chance(2) ? pdTRUE : pdFALSE, NULL,
                                              does_nothing, &spare_control));
}

const struct choice timer_choices[] = {{command, 8}, {pend, 2}, {create, 2}, {ask, 1}, {NULL, 0}};

BaseType_t isr_timer(void)
{
    const TimerHandle_t timer = some_timer();
    BaseType_t woken = pdFALSE;
    BaseType_t result = pdFALSE;
    unsigned number;

    switch (chance(5)) {
    case 0:
        number = say_call("xTimerPendFunctionCallFromISR");
        say_timer(timer);
        MEASURED(number, result = xTimerPendFunctionCallFromISR(nothing_to_do, NULL, 0, &woken));
        break;
    case 1:
        number = say_call("xEventGroupSetBitsFromISR");
        say_timer(timer);
        MEASURED(number, result = xEventGroupSetBitsFromISR(group, 3, &woken));
        break;
    case 2:
        number = say_call("xEventGroupClearBitsFromISR");
        say_timer(timer);
        MEASURED(number, result = xEventGroupClearBitsFromISR(group, 3));
        woken = pdTRUE;
        break;
    case 3:
        number = say_call("xTimerStopFromISR");
        say_timer(timer);
        MEASURED(number, result = xTimerStopFromISR(timer, &woken));
        break;
    default:
        number = say_call("xTimerStartFromISR");
        say_timer(timer);
        MEASURED(number, result = xTimerStartFromISR(timer, &woken));
    }
    say_result(number, (unsigned)result);
    return woken;
}
