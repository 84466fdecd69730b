/* What the driver needs from the board: a console, an end, and interrupts that it raises itself. */
#ifndef BOARD_H
#define BOARD_H

void board_start(void);

/* Lets interrupts in, where they are let in already. */
void board_unmask(void);

void board_print(const char *text);
void board_print_number(unsigned value);
void board_exit(int status) __attribute__((noreturn));

/* The tick interrupt. */
void board_tick(void);

/* An interrupt that is the driver's own; the handler calls what was set, or returns at once. */
void board_interrupt(void);
void board_on_interrupt(void (*handler)(void));

/* Of the system timer's counter, with a tickless kernel: lets it count down to the interrupt, which
 * board_counted() then lets in; or lets it run and wrap after some cycles (0: not at all), without an
 * interrupt; or wrap once. */
void board_count_down(void);
void board_counted(void);
void board_counter_run(unsigned cycles);
void board_counter_stop(void);
void board_counter_wrap(void);

#endif
