/* The switch to another task. */
#ifndef DRIVER_SWITCHES_H
#define DRIVER_SWITCHES_H

#include "driver.h"

/* A processor that cannot count leading zeros finds the most urgent ready task by a function, which
 * takes longer for priorities from 16 on. (19 may be the timers' task.) */
#define PRIORITY_URGENT 18

/* A task of the driver's priority that gives the processor back at once; to be deleted when all is measured. */
TaskHandle_t partner_created(void);

/* The switch that a task asks for; and all of them. */
void measure_switch_by_call(TaskHandle_t partner);
void measure_switches(TaskHandle_t partner);

#endif
