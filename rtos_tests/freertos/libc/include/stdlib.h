/* The kernel includes <stdlib.h> for size_t and NULL alone. */
#ifndef FIRMWARE_STDLIB_H
#define FIRMWARE_STDLIB_H

#include <stddef.h>

#endif
