/* As on the board versatilepb. */
#include "../versatilepb/board_config.h"

/* In Thumb state of Armv4T each condition is a branch, as on RISC-V (boards/virt/board_config.h); 2: there are a few
 * such states more. */
#define BOARD_NEEDS_STATES 2
