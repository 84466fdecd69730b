/* Goes before the kernel's tasks.c, except in `basic`: a function of the idle task that is measured
 * stays a function. GCC would put it into its only caller, and nothing would tell where it begins. */
#ifndef DRIVER_TASK_FUNCTIONS_H
#define DRIVER_TASK_FUNCTIONS_H

static __attribute__((noinline, noclone)) void prvCheckTasksWaitingTermination(void);

#endif
