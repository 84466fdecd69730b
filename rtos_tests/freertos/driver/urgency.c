/* See urgency.h. */
#include "driver.h"

#if DRIVER_WHOLE

#include "urgency.h"

static unsigned less_urgent(unsigned count, enum urgent urgent)
{
    return urgent == ALL_URGENT ? 0 : urgent == LAST_URGENT ? count - 1 : count;
}

static BaseType_t stands(void *unused)
{
    (void)unused;
    return pdTRUE;
}

void urgency_stand(unsigned helper, UBaseType_t priority)
{
    vTaskPrioritySet(helper_handle(helper), priority);
    helper_call(helper, stands, NULL);
}

void urgency_start(unsigned count, enum urgent urgent)
{
    helpers_start(count + (urgent == LAST_URGENT));
    if (urgent == LAST_URGENT)
        urgency_stand(count, PRIORITY_CREATED);
}

void urgency_set(unsigned first, unsigned count, enum urgent urgent)
{
    for (unsigned i = first; i < first + less_urgent(count, urgent); i++)
        vTaskPrioritySet(helper_handle(i), PRIORITY_CREATED);
}

void urgency_check(unsigned first, unsigned count, enum urgent urgent, int ran)
{
    for (unsigned i = first; i < first + less_urgent(count, urgent); i++) {
        CHECK(ran ? !helper_busy(i) : helper_busy(i) && eTaskGetState(helper_handle(i)) == eReady);
        vTaskPrioritySet(helper_handle(i), helper_priority(i));
    }
}

void urgency_wait_for_caller(helper_function *order, unsigned delayed, int urgent)
{
    helpers_start(delayed + 1);
    helper_call(delayed, order, NULL);
    if (!urgent)
        vTaskPrioritySet(helper_handle(delayed), PRIORITY_CREATED);
}

void urgency_check_went_on(unsigned delayed, int urgent)
{
    CHECK(!helper_busy(0) && helper_result(0) == pdTRUE);
    CHECK(helper_busy(delayed) == !urgent);
    CHECK(urgent || eTaskGetState(helper_handle(delayed)) == eReady);
    vTaskPrioritySet(helper_handle(delayed), helper_priority(delayed));
    CHECK(!helper_busy(delayed) && helper_result(delayed) == pdTRUE);
    helpers_stop();
}

#endif
