/* The core's other registers are not touched before the scheduler runs: the port enables them. */
extern void board_float_handler(void) __attribute__((weak)); /* not in the random driver */
#define BOARD_HANDLERS board_float_handler,

#include "../mps2-an385/board.c"
