/* As on the board versatilepb. */
#include "../versatilepb/start.S"
