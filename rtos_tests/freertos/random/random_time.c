/* Time: delays, ticks, limits, and the scheduler's lock with what happens meanwhile. */
#include "random.h"

#include "board.h"

static void say_delay(TickType_t ticks)
{
    say("ticks", (unsigned)ticks);
    say("D", delayed_before(ticks));
    say("wrap", (unsigned)wraps_within(ticks));
    say("last", xTickCount + ticks == portMAX_DELAY);
    say("ready", (unsigned)urgent_ready());
    say("me", (unsigned)priority_of(NULL));
}

static void delay(void)
{
    const TickType_t ticks = chance(8) ? 1 + chance(10) : 0;
    const unsigned number = say_call("vTaskDelay");

    say_delay(ticks);
    MEASURED(number, vTaskDelay(ticks));
}

static void delay_until(void)
{
    static TickType_t wakes[4] CALLER_DATA;
    TickType_t *wake = &wakes[chance(4)];
    const TickType_t increment = 1 + chance(12);
    const unsigned ago = chance(6);
    TickType_t then;
    BaseType_t delayed;
    unsigned number;

    *wake = xTickCount - ago;
    then = *wake + increment;
    number = say_call("xTaskDelayUntil");
    say("ago", ago);
    say("increment", (unsigned)increment);
    say("late", (unsigned)(increment <= ago));
    say("past_wrap", (unsigned)(xTickCount < *wake));
    say_delay(increment > ago ? then - xTickCount : 0);
    MEASURED(number, delayed = xTaskDelayUntil(wake, increment));
    say_result(number, (unsigned)delayed);
}

static void tick(void)
{
    measured_tick();
}

static BaseType_t tick_count_from_isr(void)
{
    const unsigned number = say_call("xTaskGetTickCountFromISR");

    MEASURED(number, (void)xTaskGetTickCountFromISR());
    return pdFALSE;
}

static void tick_count(void)
{
    const unsigned number = say_call("xTaskGetTickCount");

    MEASURED(number, (void)xTaskGetTickCount());
    switch_in_interrupt(tick_count_from_isr);
}

static void time_out(void)
{
    static TimeOut_t since CALLER_DATA;
    static TickType_t remaining CALLER_DATA;
    BaseType_t over;
    unsigned number = say_call("vTaskSetTimeOutState");

    MEASURED(number, vTaskSetTimeOutState(&since));
    for (unsigned i = chance(4); i > 0; i--)
        measured_tick();
    remaining = chance(5) ? chance(5) : portMAX_DELAY;
    number = say_call("xTaskCheckForTimeOut");
    say("left", (unsigned)wait_was_aborted());
    MEASURED(number, over = xTaskCheckForTimeOut(&since, &remaining));
    say_result(number, (unsigned)over);
}

static void catch_up(void)
{
    const TickType_t ticks = 1 + chance(6);
    const unsigned number = say_call("xTaskCatchUpTicks");

    say("P", (unsigned)ticks);
    say("K", woken_by(ticks));
    say("wrap", (unsigned)wraps_within(ticks));
    MEASURED(number, (void)xTaskCatchUpTicks(ticks));
}

const struct choice time_choices[] = {
    {delay, 6}, {delay_until, 4}, {tick, 6}, {tick_count, 1}, {time_out, 1}, {catch_up, 2}, {NULL, 0},
};

/* ---- the lock ----------------------------------------------------------------------------- */

static void unlock(void)
{
    BaseType_t yielded;
    const unsigned number = say_call("xTaskResumeAll");

    say("nested", (unsigned)uxSchedulerSuspended - 1);
    say("R", (unsigned)xPendingReadyList.uxNumberOfItems);
    say("P", (unsigned)xPendedTicks);
    say("K", woken_by(xPendedTicks));
    say("stays", delayed_after(xPendedTicks));
    say("wrap", (unsigned)wraps_within(xPendedTicks));
    say("most", (unsigned)most_urgent_of(&xPendingReadyList));
    say("me", (unsigned)priority_of(NULL));
    MEASURED(number, yielded = xTaskResumeAll());
    say_result(number, (unsigned)yielded);
}

extern isr_operation *const isr_operations[];
extern const unsigned isr_operation_count;

static void locked(void)
{
    unsigned number = say_call("vTaskSuspendAll");

    MEASURED(number, vTaskSuspendAll());
    for (unsigned i = chance(7); i > 0; i--) {
        switch (chance(6)) {
        case 0:
        case 1:
            measured_tick();
            break;
        case 2:
            number = say_call("vTaskSuspendAll");
            MEASURED(number, vTaskSuspendAll());
            unlock();
            break;
        default:
            switch_in_interrupt(isr_operations[chance(isr_operation_count)]);
        }
    }
    unlock();
}

static void interrupt(void)
{
    switch_in_interrupt(isr_operations[chance(isr_operation_count)]);
}

const struct choice locked_choices[] = {{locked, 2}, {interrupt, 3}, {NULL, 0}};
