/* The scheduler lock and what else takes no other task. */
#include "driver.h"

void measure_scheduler(void)
{
    BaseType_t yielded;
    TickType_t ticks;

    MEASURE(SERVICE_VTASKSUSPENDALL, vTaskSuspendAll());
    MEASURE(SERVICE_XTASKRESUMEALL, yielded = xTaskResumeAll());
    CHECK(yielded == pdFALSE);
    MEASURE(SERVICE_XTASKGETTICKCOUNT, ticks = xTaskGetTickCount());
    CHECK(ticks == 0);
}
