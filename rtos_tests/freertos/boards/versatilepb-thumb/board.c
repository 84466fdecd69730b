/* As on the board versatilepb. */
#include "../versatilepb/board.c"
