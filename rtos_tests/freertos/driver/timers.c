/* Software timers: commands to them, and what the timers' task does. That task is more urgent than
 * everything else: a command is carried out before the call that gives it returns.
 *
 * What the timers' task does is marked by that task: by callbacks of timers, and by functions that it
 * is asked to call. */
#include "driver.h"

#if configUSE_TIMERS == 1 && DRIVER_WHOLE

#include "board.h"
#include "heap.h"
#include "helpers.h"

#include "event_groups.h"
#include "timers.h"

#define OTHERS_MAX 8u
#define MISSED_MAX 6u
#define THERE_MAX 4u
#define LONG 100u

static StaticTimer_t other_controls[OTHERS_MAX] KERNEL_OBJECT;
static StaticTimer_t control KERNEL_OBJECT;
static StaticTimer_t begin_control KERNEL_OBJECT;
static StaticTimer_t end_control KERNEL_OBJECT;
static StaticEventGroup_t group_control KERNEL_OBJECT;
static StaticTimer_t there_controls[THERE_MAX] KERNEL_OBJECT;
static TimerHandle_t others[OTHERS_MAX];
static TimerHandle_t there[THERE_MAX];
static TimerHandle_t timer;
static TimerHandle_t begins;
static TimerHandle_t ends;
static EventGroupHandle_t group;

/* The application's callback, which is part of what is measured: it does nothing. */
CALLER_TEXT static void timer_expired(TimerHandle_t unused)
{
    (void)unused;
}

CALLER_TEXT static void nothing_to_do(void *unused, uint32_t unused_too)
{
    (void)unused;
    (void)unused_too;
}

static void start_others(unsigned count, TickType_t period)
{
    CHECK(count <= OTHERS_MAX);
    for (unsigned i = 0; i < count; i++)
        CHECK(xTimerChangePeriod(others[i], period, 0) == pdPASS);
}

static void stop_others(void)
{
    for (unsigned i = 0; i < OTHERS_MAX; i++)
        CHECK(xTimerStop(others[i], 0) == pdPASS);
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Of the timers' task, for an interrupt (helpers.h). */
static unsigned urgency;

static void from_isr(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    BaseType_t result;

    wcet_param(0, urgency);
    MEASURE(SERVICE_XTIMERSTARTFROMISR, result = xTimerStartFromISR(timer, told));
    CHECK(result == pdPASS && woken == (urgency == TOLD));
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

static void pend_from_isr(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    BaseType_t result;

    wcet_param(0, urgency);
    MEASURE(SERVICE_XTIMERPENDFUNCTIONCALLFROMISR,
            result = xTimerPendFunctionCallFromISR(nothing_to_do, NULL, 0, told));
    CHECK(result == pdPASS && woken == (urgency == TOLD));
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

static void set_bits_from_isr(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    BaseType_t result;

    wcet_param(0, urgency);
    MEASURE(SERVICE_XEVENTGROUPSETBITSFROMISR,
            result = xEventGroupSetBitsFromISR(group, 3, told));
    CHECK(result == pdPASS && woken == (urgency == TOLD));
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

static void clear_bits_from_isr(void)
{
    BaseType_t result;

    wcet_param(0, urgency);
    MEASURE(SERVICE_XEVENTGROUPCLEARBITSFROMISR, result = xEventGroupClearBitsFromISR(group, 1));
    CHECK(result == pdPASS);
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

static void set_urgent(UBaseType_t priority)
{
    vTaskPrioritySet(xTimerGetTimerDaemonTaskHandle(), priority);
}

/* What is asked for has been done when this returns. */
static void in_interrupt_of_either(void (*function)(void))
{
    if (urgency == STAYS)
        set_urgent(PRIORITY_CREATED);
    in_interrupt(function);
    if (urgency == STAYS)
        set_urgent(configTIMER_TASK_PRIORITY);
}

/* The timers' task is more urgent than the interrupted task, or not: then no switch is asked for. */
static void measure_from_isr(void)
{
    for (urgency = 0; urgency < ISR_STATES; urgency++) {
        in_interrupt_of_either(from_isr);
        CHECK(xTimerIsTimerActive(timer) == pdTRUE);
        CHECK(xTimerStop(timer, 0) == pdPASS);
        in_interrupt_of_either(pend_from_isr);
    }
}

static void measure_bits_from_isr(void)
{
    group = xEventGroupCreateStatic(&group_control);
    for (urgency = 0; urgency < ISR_STATES; urgency++) {
        in_interrupt_of_either(set_bits_from_isr);
        CHECK(xEventGroupGetBits(group) == 3);
        if (urgency == NOT_TOLD)
            continue;
        in_interrupt_of_either(clear_bits_from_isr);
        CHECK(xEventGroupGetBits(group) == 2);
    }
}

/* The queue of commands has one place, which a first command takes. */
static void fails_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    BaseType_t result;

    CHECK(xTimerStopFromISR(timer, &woken) == pdPASS);
    MEASURE(SERVICE_XTIMERSTARTFROMISR_FAILS, result = xTimerStartFromISR(timer, &woken));
    CHECK(result == pdFAIL);
    MEASURE(SERVICE_XTIMERPENDFUNCTIONCALLFROMISR_FAILS,
            result = xTimerPendFunctionCallFromISR(nothing_to_do, NULL, 0, &woken));
    CHECK(result == pdFAIL);
    BOARD_YIELD_FROM_ISR(woken);
}

/* The scheduler is locked; or it is not, and the timers' task is no more urgent than the caller, who does not
 * wait. */
static void measure_full_queue(void)
{
    BaseType_t result;

    set_urgent(PRIORITY_CREATED);
    CHECK(xTimerStop(timer, 0) == pdPASS);
    CHECK(xTaskGetSchedulerState() == taskSCHEDULER_RUNNING);
    wcet_param(0, 1);
    MEASURE(SERVICE_XTIMERSTART_FAILS, result = xTimerStart(timer, 0));
    CHECK(result == pdFAIL);
    set_urgent(configTIMER_TASK_PRIORITY);

    vTaskSuspendAll();
    CHECK(xTimerStop(timer, 0) == pdPASS);
    wcet_param(0, 0);
    MEASURE(SERVICE_XTIMERSTART_FAILS, result = xTimerStart(timer, 0));
    CHECK(result == pdFAIL);
    MEASURE(SERVICE_XTIMERPENDFUNCTIONCALL_FAILS,
            result = xTimerPendFunctionCall(nothing_to_do, NULL, 0, 0));
    CHECK(result == pdFAIL);
    (void)xTaskResumeAll();
    in_interrupt(fails_from_isr);
}

/* The timers' task is no more urgent than the caller, which goes on. */
static void measure_less_urgent(void)
{
    BaseType_t result;

    set_urgent(PRIORITY_CREATED);
    MEASURE(SERVICE_XTIMERSTART_LESS_URGENT, result = xTimerStart(timer, 0));
    CHECK(result == pdPASS && xTimerIsTimerActive(timer) == pdFALSE);
    set_urgent(configTIMER_TASK_PRIORITY);
    CHECK(xTimerIsTimerActive(timer) == pdTRUE && xTimerStop(timer, 0) == pdPASS);
    set_urgent(PRIORITY_CREATED);
    MEASURE(SERVICE_XTIMERPENDFUNCTIONCALL_LESS_URGENT,
            result = xTimerPendFunctionCall(nothing_to_do, NULL, 0, 0));
    CHECK(result == pdPASS);
    set_urgent(configTIMER_TASK_PRIORITY);
}

static void measure_calls(void)
{
    BaseType_t result;
    TickType_t ticks;
    void *id;

    for (unsigned state = 2; state-- > 0;) {
        wcet_param(0, state);
        MEASURE(SERVICE_XTIMERCREATESTATIC,
                timer = xTimerCreateStatic("timer", LONG, state == 0 ? pdTRUE : pdFALSE, &control,
                                           timer_expired, &control));
        CHECK(timer != NULL);
    }
    MEASURE(SERVICE_XTIMERSTART, result = xTimerStart(timer, 0));
    CHECK(result == pdPASS);
    MEASURE(SERVICE_XTIMERISTIMERACTIVE, result = xTimerIsTimerActive(timer));
    CHECK(result == pdTRUE);
    MEASURE(SERVICE_XTIMERGETPERIOD, ticks = xTimerGetPeriod(timer));
    CHECK(ticks == LONG);
    MEASURE(SERVICE_XTIMERGETEXPIRYTIME, ticks = xTimerGetExpiryTime(timer));
    CHECK(ticks == xTaskGetTickCount() + LONG);
    MEASURE(SERVICE_VTIMERSETTIMERID, vTimerSetTimerID(timer, &timer));
    MEASURE(SERVICE_PVTIMERGETTIMERID, id = pvTimerGetTimerID(timer));
    CHECK(id == &timer);
    for (BaseType_t mode = pdFALSE; mode <= pdTRUE; mode++) {
        wcet_param(0, (unsigned)mode);
        MEASURE(SERVICE_VTIMERSETRELOADMODE, vTimerSetReloadMode(timer, mode));
        CHECK(xTimerGetReloadMode(timer) == mode);
    }
    MEASURE(SERVICE_XTIMERPENDFUNCTIONCALL,
            result = xTimerPendFunctionCall(nothing_to_do, NULL, 0, 0));
    CHECK(result == pdPASS);
    CHECK(xTimerStop(timer, 0) == pdPASS);
    measure_less_urgent();
    measure_from_isr();
    measure_full_queue();
    measure_bits_from_isr();
}

/* Worst: as for pvPortMalloc. */
static void measure_create(void)
{
    for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++) {
        struct holes holes;
        TimerHandle_t made;

        holes_take(&holes, n - 1, 1);
        holes_open(&holes);
        for (unsigned both = 0; both < 2 * HEAP_MINIMA; both++) {
            const unsigned state = both / HEAP_MINIMA;

            heap_minimum(both % HEAP_MINIMA);
            CHECK(heap_free_blocks() == n);
            wcet_param(0, n);
            wcet_param(1, state);
            wcet_param(2, both % HEAP_MINIMA);
            MEASURE(SERVICE_XTIMERCREATE,
                    made = xTimerCreate("timer", LONG, state == 0 ? pdTRUE : pdFALSE, NULL,
                                        timer_expired));
            CHECK(made != NULL && heap_free_blocks() == n);
            CHECK(n == 1 || (char *)made > (char *)holes.guard[n - 2]);
            CHECK(xTimerDelete(made, 0) == pdPASS);
        }
        holes_close(&holes);
        CHECK(heap_free_blocks() == 1);
    }
}

/* ---- commands, as the timers' task carries them out ------------------------------------------- */

/* What the callback that leaves the begin mark asks for. */
static struct {
    unsigned service;
    unsigned parameters[3]; /* the third is set before */
    unsigned count;
    TimerHandle_t timer;
    enum { START, CHANGE, STOP, DELETE, FUNCTION } command;
    TickType_t late; /* ticks that pass before the command is carried out */
    TickType_t ends; /* the end mark comes so many ticks after the start; 0: with the command */
} asked;

/* The command stands in the queue when the task looks for commands, after this callback. */
static void callback_begins(TimerHandle_t unused)
{
    BaseType_t result = pdFAIL;

    (void)unused;
    switch (asked.command) {
    case START:
        result = xTimerStart(asked.timer, 0);
        break;
    case CHANGE:
        result = xTimerChangePeriod(asked.timer, LONG + 1, 0);
        break;
    case STOP:
        result = xTimerStop(asked.timer, 0);
        break;
    case DELETE:
        result = xTimerDelete(asked.timer, 0);
        break;
    case FUNCTION:
        result = xTimerPendFunctionCall(nothing_to_do, NULL, 0, 0);
        break;
    }
    CHECK(result == pdPASS);
    pass_time(asked.late);
    driver_invocations++;
    for (unsigned i = 0; i < asked.count; i++)
        wcet_param(i, asked.parameters[i]);
    wcet_begin(asked.service);
}

static void callback_ends(TimerHandle_t unused)
{
    (void)unused;
    wcet_end(asked.service);
}

/* Both callbacks come at the next tick, one after the other, unless `asked` says otherwise. */
static void carry_out(unsigned service, unsigned count, unsigned first, unsigned second,
                      TimerHandle_t which, int command)
{
    asked.service = service;
    asked.count = count;
    asked.parameters[0] = first;
    asked.parameters[1] = second;
    asked.timer = which;
    asked.command = command;
    CHECK(xTimerStart(begins, 0) == pdPASS);
    CHECK(xTimerChangePeriod(ends, asked.ends == 0 ? 1 : asked.ends, 0) == pdPASS);
    board_tick();
    CHECK(xTimerIsTimerActive(begins) == pdFALSE && xTimerIsTimerActive(ends) == pdFALSE);
}

/* The timers' task notes the time at each command; where the tick count has gone back since, that is when it
 * swaps its lists. No timer is active. */
static void go_back_in_time(void)
{
    clock_far_from_wrap();
    CHECK(xTimerStop(timer, 0) == pdPASS);
}

/* The tick count wraps around between the command, which comes one tick from now, and its being carried out;
 * the end mark comes `ends` ticks from now, when the tick count is 0, and no timer expires before the wrap. */
static void carry_out_late(unsigned service, unsigned count, unsigned first, unsigned second,
                           TimerHandle_t which, int command, TickType_t late, TickType_t ends_at)
{
    asked.late = late;
    asked.ends = ends_at;
    carry_out(service, count, first, second, which, command);
    asked.late = 0;
    asked.ends = 0;
}

#define UNTIL_WRAP 4u

static void carry_out_at_wrap(unsigned service, unsigned count, unsigned first, unsigned second,
                              TimerHandle_t which, int command)
{
    CHECK(xTaskGetTickCount() == portMAX_DELAY - UNTIL_WRAP + 1);
    carry_out_late(service, count, first, second, which, command, UNTIL_WRAP, UNTIL_WRAP);
    CHECK(xTaskGetTickCount() == 1);
}

/* As below, and the tick count has wrapped around since the timers' task last looked at it, which the command
 * finds; all timers, also the one that leaves the end mark, expire after the wrap. */
static void measure_commands_at_wrap(void)
{
    for (unsigned active = 1; active <= OTHERS_MAX; active++)
        for (unsigned change = 0; change <= 1; change++) {
            clock_wraps_in(UNTIL_WRAP);
            start_others(active - 1, LONG - 10);
            CHECK(xTimerStart(timer, 0) == pdPASS);
            carry_out_at_wrap(change ? SERVICE_TIMER_COMMAND_CHANGE : SERVICE_TIMER_COMMAND_START,
                              2, active, 2, timer, change ? CHANGE : START);
            CHECK(xTimerIsTimerActive(timer) == pdTRUE);
            CHECK(xTimerGetExpiryTime(timer) == (change ? 1 + LONG + 1 : LONG + 1 - UNTIL_WRAP));
            CHECK(active == 1 || xTimerGetExpiryTime(others[0]) == LONG - 10 - UNTIL_WRAP);
            CHECK(xTimerChangePeriod(timer, LONG, 0) == pdPASS);
            stop_others();
            CHECK(xTimerStop(timer, 0) == pdPASS);
            go_back_in_time();
        }
    clock_wraps_in(UNTIL_WRAP);
    CHECK(xTimerStart(timer, 0) == pdPASS);
    carry_out_at_wrap(SERVICE_TIMER_COMMAND_STOP, 1, 1, 0, timer, STOP);
    CHECK(xTimerIsTimerActive(timer) == pdFALSE);
    go_back_in_time();
}

/* Worst: the timer is active already, so that it is taken out of the list first, and expires no
 * sooner than all others. The timer that leaves the end mark is one of these. Or all but that expire after the
 * tick count has wrapped around, and stand in the other list. */
static void measure_commands(void)
{
    for (unsigned state = 0; state < 2; state++)
        for (unsigned active = 1; active <= OTHERS_MAX; active++) {
            if (state == 1)
                clock_wraps_in(LONG / 2);
            start_others(state == 0 ? active - 1 : active, LONG - 10);
            CHECK(xTimerStart(timer, 0) == pdPASS);
            carry_out(SERVICE_TIMER_COMMAND_START, 2, active, state, timer, START);
            CHECK(xTimerIsTimerActive(timer) == pdTRUE);
            CHECK(xTimerGetExpiryTime(timer) == xTaskGetTickCount() + LONG);
            carry_out(SERVICE_TIMER_COMMAND_CHANGE, 2, active, state, timer, CHANGE);
            CHECK(xTimerGetPeriod(timer) == LONG + 1);
            CHECK(xTimerGetExpiryTime(timer) == xTaskGetTickCount() + LONG + 1);
            CHECK((xTimerGetExpiryTime(timer) < LONG) == (state == 1));
            CHECK(xTimerChangePeriod(timer, LONG, 0) == pdPASS);
            stop_others();
            CHECK(xTimerStop(timer, 0) == pdPASS);
            if (state == 1)
                go_back_in_time();
        }
    CHECK(xTimerStart(timer, 0) == pdPASS);
    carry_out(SERVICE_TIMER_COMMAND_STOP, 1, 0, 0, timer, STOP);
    CHECK(xTimerIsTimerActive(timer) == pdFALSE);
    carry_out(SERVICE_TIMER_COMMAND_FUNCTION, 0, 0, 0, NULL, FUNCTION);

    measure_commands_at_wrap();
}

/* Worst for the heap: as for vPortFree. For the tick count: as for the other commands. */
static void measure_delete(unsigned n, unsigned wraps)
{
    struct holes holes;
    TimerHandle_t made;

    holes_take(&holes, n, 0);
    made = xTimerCreate("timer", LONG, pdTRUE, NULL, timer_expired);
    CHECK((char *)made > (char *)holes.small[n - 1]);
    holes_open(&holes);
    CHECK(heap_free_blocks() == n + 1);
    if (wraps)
        clock_wraps_in(UNTIL_WRAP);
    CHECK(xTimerStart(made, 0) == pdPASS);
    (wraps ? carry_out_at_wrap : carry_out)(SERVICE_TIMER_COMMAND_DELETE, 2, n, wraps, made,
                                            DELETE);
    if (wraps)
        go_back_in_time();
    CHECK(heap_free_blocks() == n);
    holes_close(&holes);
    CHECK(heap_free_blocks() == 1);
}

static void end_late_command(void)
{
    CHECK(xTimerStop(timer, 0) == pdPASS);
    stop_others();
    go_back_in_time();
}

/* The timers' task did not run for so long that the timer should have expired already, several times. Its next
 * time is behind all others: before the tick count wraps around, or after. */
static void measure_late_before_wrap(unsigned active, unsigned late, unsigned state)
{
    TickType_t expires;

    if (state == 1)
        clock_wraps_in(late + 2);
    expires = xTaskGetTickCount() + late + 2;
    CHECK(xTimerChangePeriod(timer, 1, 0) == pdPASS);
    start_others(state == 0 ? active - 1 : active, late + 2);
    carry_out_late(SERVICE_TIMER_COMMAND_START_LATE, 3, active, late, timer, START, late, 0);
    CHECK(xTimerGetExpiryTime(timer) == expires && xTaskGetTickCount() == expires - 1);
    CHECK((expires == 0) == (state == 1));
    CHECK(active == 1 || xTimerGetExpiryTime(others[0]) == expires);
    end_late_command();
}

/* The tick count has wrapped around: after all periods that have passed, or before the last of them is over. */
static void measure_late_at_wrap(unsigned active, unsigned late, unsigned state)
{
    const unsigned period = state == 2 ? 2 : 1;
    const TickType_t passes = state == 2 ? 2 * late + 1 : late;

    clock_wraps_in(passes + 1);
    CHECK(xTimerChangePeriod(timer, period, 0) == pdPASS);
    start_others(active - 1, passes + 2);
    carry_out_late(SERVICE_TIMER_COMMAND_START_LATE, 3, active, late, timer, START, passes,
                   passes + 1);
    CHECK(xTaskGetTickCount() == 0 && xTimerGetExpiryTime(timer) == 1);
    CHECK(active == 1 || xTimerGetExpiryTime(others[0]) == 1);
    end_late_command();
}

static void measure_late_commands(void)
{
    for (unsigned active = 1; active <= OTHERS_MAX; active++)
        for (unsigned late = 1; late <= MISSED_MAX; late++)
            for (unsigned state = 0; state <= 3; state++) {
                asked.parameters[2] = state;
                if (state < 2)
                    measure_late_before_wrap(active, late, state);
                else
                    measure_late_at_wrap(active, late, state);
            }
    CHECK(xTimerChangePeriod(timer, LONG, 0) == pdPASS && xTimerStop(timer, 0) == pdPASS);
}

/* ---- expiry --------------------------------------------------------------------------------- */

static struct {
    unsigned service;
    unsigned parameters[3]; /* the third is set before */
    unsigned count;
} expiring;

static void begin_expiry(void *unused, uint32_t unused_too)
{
    (void)unused;
    (void)unused_too;
    driver_invocations++;
    for (unsigned i = 0; i < expiring.count; i++)
        wcet_param(i, expiring.parameters[i]);
    wcet_begin(expiring.service);
}

static void end_expiry(void *unused, uint32_t unused_too)
{
    (void)unused;
    (void)unused_too;
    wcet_end(expiring.service);
}

/* Lets `ticks` ticks pass at once, and in them what is measured happen. */
static void expire(unsigned service, unsigned count, unsigned first, unsigned second,
                   unsigned ticks)
{
    expiring.service = service;
    expiring.count = count;
    expiring.parameters[0] = first;
    expiring.parameters[1] = second;
    CHECK(xTimerPendFunctionCall(begin_expiry, NULL, 0, 0) == pdPASS);
    vTaskSuspendAll();
    pass_time(ticks);
    CHECK(xTaskResumeAll() == pdTRUE);
    CHECK(xTimerPendFunctionCall(end_expiry, NULL, 0, 0) == pdPASS);
}

/* Worst: the timer starts again by itself, and all others expire before its next time: before the tick count
 * wraps around, or after. */
static void measure_expiry(void)
{
    for (unsigned state = 0; state < 2; state++)
        for (unsigned active = 0; active <= OTHERS_MAX; active++) {
            TickType_t expires;

            if (state == 1)
                clock_wraps_in(6);
            CHECK(xTimerChangePeriod(timer, 4, 0) == pdPASS);
            expires = xTimerGetExpiryTime(timer);
            pass_time(3);
            start_others(active, 4);
            expire(SERVICE_TIMER_EXPIRY, 2, active, state, 1);
            CHECK(xTimerGetExpiryTime(timer) == (TickType_t)(expires + 4));
            CHECK((xTimerGetExpiryTime(timer) < expires) == (state == 1));
            CHECK(xTimerStop(timer, 0) == pdPASS);
            stop_others();
            if (state == 1)
                go_back_in_time();
        }
    vTimerSetReloadMode(timer, pdFALSE);
    CHECK(xTimerChangePeriod(timer, 1, 0) == pdPASS);
    expire(SERVICE_TIMER_EXPIRY_ONCE, 0, 0, 0, 1);
    CHECK(xTimerIsTimerActive(timer) == pdFALSE);
    vTimerSetReloadMode(timer, pdTRUE);
}

/* The timers' task did not run for so long that the timer should have expired several times more. Its next time
 * is behind all others: before the tick count wraps around, or after. */
static void measure_missed(unsigned active, unsigned missed, unsigned state)
{
    TickType_t expires;

    if (state == 1)
        clock_wraps_in(missed + 2);
    CHECK(xTimerChangePeriod(timer, 1, 0) == pdPASS);
    expires = xTimerGetExpiryTime(timer);
    start_others(active, missed + 2);
    expiring.parameters[2] = state;
    expire(SERVICE_TIMER_EXPIRY_MISSED, 3, active, missed, missed + 1);
    CHECK(xTimerGetExpiryTime(timer) == (TickType_t)(expires + missed + 1));
    CHECK((xTimerGetExpiryTime(timer) == 0) == (state == 1));
    CHECK(active == 0 || xTimerGetExpiryTime(others[0]) == xTimerGetExpiryTime(timer));
    CHECK(xTimerStop(timer, 0) == pdPASS);
    stop_others();
    if (state == 1)
        go_back_in_time();
}

/* The tick count wraps around: every timer that should have expired before does so, starts again, and
 * goes to the list of those that expire after the wrap. Worst: each behind all before it, and behind those that
 * stand there already. */
static void measure_wrap(unsigned expired, unsigned already)
{
    /* No task is delayed and no timer active. The timers' task notes the time at each command. */
    xTickCount = portMAX_DELAY - 10;
    board_tick();
    CHECK(xTaskGetTickCount() == portMAX_DELAY - 9);
    start_others(expired, 8);
    for (unsigned i = 0; i < already; i++)
        CHECK(xTimerChangePeriod(there[i], 14, 0) == pdPASS);
    expire(SERVICE_TIMER_LISTS_SWITCH, 2, expired, already, 10);
    CHECK(xTaskGetTickCount() == 0);
    for (unsigned i = 0; i < expired; i++)
        CHECK(xTimerGetExpiryTime(others[i]) == 6);
    for (unsigned i = 0; i < already; i++) {
        CHECK(xTimerGetExpiryTime(there[i]) == 4);
        CHECK(xTimerStop(there[i], 0) == pdPASS);
    }
    stop_others();
    (void)xTimerStop(timer, 0);
}

void measure_timers(void)
{
    measure_create();
    measure_calls();
    for (unsigned i = 0; i < OTHERS_MAX; i++)
        others[i] = xTimerCreateStatic("other", LONG, pdTRUE, NULL, timer_expired,
                                       &other_controls[i]);
    for (unsigned i = 0; i < THERE_MAX; i++)
        there[i] = xTimerCreateStatic("there", LONG, pdTRUE, NULL, timer_expired,
                                      &there_controls[i]);
    begins = xTimerCreateStatic("begins", 1, pdFALSE, NULL, callback_begins, &begin_control);
    ends = xTimerCreateStatic("ends", 1, pdFALSE, NULL, callback_ends, &end_control);
    measure_commands();
    for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++)
        for (unsigned wraps = 0; wraps <= 1; wraps++)
            measure_delete(n, wraps);
    measure_late_commands();
    measure_expiry();
    for (unsigned active = 0; active <= OTHERS_MAX; active++)
        for (unsigned missed = 1; missed <= MISSED_MAX; missed++)
            for (unsigned state = 0; state <= 1; state++)
                measure_missed(active, missed, state);
    for (unsigned expired = 1; expired <= OTHERS_MAX; expired++)
        for (unsigned already = 0; already <= THERE_MAX; already++)
            measure_wrap(expired, already);
}

#endif
