/* As on the board versatilepb. */
#include "../versatilepb/board_config.h"
