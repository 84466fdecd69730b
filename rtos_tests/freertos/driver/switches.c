/* The switch to another task: asked for by a call, and by an interrupt handler. */
#include "switches.h"

#include "board.h"

#define PARTNER_STACK_WORDS configMINIMAL_STACK_SIZE

static StaticTask_t partner_control KERNEL_OBJECT;
static StackType_t partner_stack[PARTNER_STACK_WORDS] TASK_STACK;
static volatile unsigned measured_switch; /* 0: none */
static volatile unsigned partner_turns;
static volatile unsigned passed_over; /* priorities without a ready task */

/* A task of the driver's priority that gives the processor back at once. */
static void partner_task(void *unused)
{
    (void)unused;
    for (;;) {
        partner_turns++;
        if (measured_switch != 0) {
            wcet_end(measured_switch);
            measured_switch = 0;
        }
        taskYIELD();
    }
}

/* By who asks for the switch: what an interrupt marks is not what a task does. */
static void mark_passed_over(void)
{
    if (configUSE_PORT_OPTIMISED_TASK_SELECTION == 0)
        wcet_param(0, passed_over);
}

/* The partner leaves the end mark. */
static void begin_switch(unsigned service)
{
    mark_passed_over();
    driver_invocations++;
    measured_switch = service;
    wcet_begin(service);
}

static void switch_by_call(void)
{
    begin_switch(SERVICE_CONTEXT_SWITCH);
    taskYIELD();
}

#if DRIVER_WHOLE
/* Runs as an interrupt handler. Where the switch is made inside of it, it is a call that returns. */
static void ask_for_switch(void)
{
#ifdef BOARD_SWITCHES_IN_HANDLERS
    mark_passed_over();
    MEASURE(SERVICE_CONTEXT_SWITCH_INTERRUPT, BOARD_YIELD_FROM_ISR(pdTRUE));
#else
    begin_switch(SERVICE_CONTEXT_SWITCH_INTERRUPT);
    BOARD_YIELD_FROM_ISR(pdTRUE);
#endif
}

static void switch_by_interrupt(void)
{
    in_interrupt(ask_for_switch);
}
#endif

#if DRIVER_WHOLE && defined(BOARD_SWITCHES_IN_HANDLERS)
static void switch_in_interrupt(void)
{
    begin_switch(SERVICE_INTERRUPT_SWITCH);
    board_switching_interrupt();
}
#endif

static void check_switch(unsigned turns)
{
    CHECK(measured_switch == 0 && partner_turns == turns + 1);
}

/* Worst: the choice of the next task passes the end of the ready list, in which the partner stands before
 * the driver. */
#if configUSE_PORT_OPTIMISED_TASK_SELECTION == 1
static void measure_switch(TaskHandle_t partner, void (*switch_once)(void))
{
    unsigned turns;

    vTaskPrioritySet(NULL, PRIORITY_URGENT);
    /* Puts the index of the ready list on the driver; what is added later stands before it. */
    taskYIELD();
    vTaskPrioritySet(partner, PRIORITY_URGENT);
    turns = partner_turns;
    switch_once();
    check_switch(turns);
    vTaskPrioritySet(partner, PRIORITY_DRIVER);
    vTaskPrioritySet(NULL, PRIORITY_DRIVER);
}
#else
/* This choice goes down one by one from the most urgent priority at which a task was ready when the kernel
 * last looked: the one that waits now may have been alone there, and nobody is ready down to the idle
 * task's priority. Both tasks get that, and the idle task stands aside, so that it is not chosen. */
static void measure_switch(TaskHandle_t partner, void (*switch_once)(void))
{
    const TaskHandle_t idle = xIdleTaskHandles[0];
    unsigned turns;

    for (unsigned empty = 0; empty < configMAX_PRIORITIES; empty++) {
        vTaskSuspend(idle);
        vTaskPrioritySet(partner, tskIDLE_PRIORITY);
        vTaskPrioritySet(NULL, tskIDLE_PRIORITY);
        /* The partner is ready at no priority while the index is put on the driver. */
        vTaskSuspend(partner);
        taskYIELD();
        vTaskResume(partner);
        CHECK(uxTopReadyPriority == tskIDLE_PRIORITY);
        uxTopReadyPriority = empty;
        turns = partner_turns;
        passed_over = empty;
        switch_once();
        check_switch(turns);
        CHECK(uxTopReadyPriority == tskIDLE_PRIORITY);
        vTaskPrioritySet(NULL, PRIORITY_DRIVER);
        vTaskPrioritySet(partner, PRIORITY_DRIVER);
        vTaskResume(idle);
    }
}
#endif

#if DRIVER_WHOLE
/* The request alone is no function of the kernel: the compiler puts it into the application's. */
CALLER_TEXT void application_taskYIELD(void)
{
    taskYIELD();
}

/* The partner is ready, and gives the processor back. */
static void measure_yield(void)
{
    unsigned turns;

    /* Puts the index of the ready list on the driver, so that the partner is the next. */
    taskYIELD();
    turns = partner_turns;
    MEASURE(SERVICE_TASKYIELD, application_taskYIELD());
    CHECK(partner_turns == turns + 1);
}

#ifndef BOARD_SWITCHES_IN_HANDLERS
CALLER_TEXT void application_portYIELD_FROM_ISR(BaseType_t wanted)
{
    portYIELD_FROM_ISR(wanted);
}

static unsigned wanted;

/* Runs as an interrupt handler: the switch comes when it has ended. */
static void measure_request(void)
{
    const unsigned turns = partner_turns;

    wcet_param(0, !wanted);
    MEASURE(SERVICE_PORTYIELD_FROM_ISR, application_portYIELD_FROM_ISR(wanted ? pdTRUE : pdFALSE));
    CHECK(partner_turns == turns);
}

static void measure_requests(void)
{
    for (wanted = 0; wanted <= 1; wanted++) {
        unsigned turns;

        taskYIELD(); /* as in measure_yield() */
        turns = partner_turns;
        in_interrupt(measure_request);
        CHECK(partner_turns == turns + wanted);
    }
}
#endif
#endif

TaskHandle_t partner_created(void)
{
    const TaskHandle_t partner =
        xTaskCreateStatic(partner_task, "partner", PARTNER_STACK_WORDS, NULL, PRIORITY_DRIVER,
                          partner_stack, &partner_control);

    CHECK(partner != NULL);
    return partner;
}

void measure_switch_by_call(TaskHandle_t partner)
{
    measure_switch(partner, switch_by_call);
}

void measure_switches(TaskHandle_t partner)
{
    measure_switch_by_call(partner);
#if DRIVER_WHOLE
    measure_switch(partner, switch_by_interrupt);
#ifdef BOARD_SWITCHES_IN_HANDLERS
    measure_switch(partner, switch_in_interrupt);
#else
    measure_requests();
#endif
    measure_yield();
#endif
}
