/* The core's other registers are not touched before the scheduler runs: the port enables them. */
extern void board_float_handler(void);
#define BOARD_HANDLERS board_float_handler,

#include "../mps2-an385/board.c"
