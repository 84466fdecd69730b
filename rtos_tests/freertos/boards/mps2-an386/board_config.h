#include "../mps2-an385/board_config.h"

/* The driver calls measure_board() as its last family of services (float.c). */
#define BOARD_HAS_SERVICES 1
