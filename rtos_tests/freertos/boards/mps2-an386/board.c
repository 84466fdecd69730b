/* The core's other registers are not touched before the scheduler runs: the port enables them. */
#include "../mps2-an385/board.c"
