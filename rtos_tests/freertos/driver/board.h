/* What the driver needs of the machine: a console, an end, ticks and an interrupt, all by hand. */
#ifndef DRIVER_BOARD_H
#define DRIVER_BOARD_H

#include "board_config.h"

/* Writes to the debugger's console (semihosting). */
void board_print(const char *text);
void board_print_number(unsigned value);

/* Ends the run; `status` becomes the emulator's exit status. */
void board_exit(int status) __attribute__((noreturn));

/* Makes SysTick pending and lets it in, as the timer would. It has been served on return, unless
 * the caller masks it. */
void board_tick(void);

/* The same for external interrupt 0, whose handler is driver_interrupt(). */
void board_interrupt(void);

/* The same for an interrupt whose handler does nothing, but withdraw the interrupt where software has to. The
 * handler lies in .caller_text, as one of the application, and so does the next one. */
void board_minimal_interrupt(void);

#ifdef BOARD_SWITCHES_IN_HANDLERS
/* The same, but then the handler asks for a switch. */
void board_switching_interrupt(void);
#endif

#if configUSE_TICKLESS_IDLE != 0
/* Called by the first task that runs, before anything else: stops the timer that the port started. */
void board_first_task_begins(void);
#endif

/* What most ports call portYIELD_FROM_ISR; a board whose port has another one defines it. */
#ifndef BOARD_YIELD_FROM_ISR
#define BOARD_YIELD_FROM_ISR(woken) portYIELD_FROM_ISR((woken))
#endif

#endif
