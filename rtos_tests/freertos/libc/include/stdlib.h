/* The kernel includes <stdlib.h> for size_t and NULL, and in heap_3 for these two. */
#ifndef FIRMWARE_STDLIB_H
#define FIRMWARE_STDLIB_H

#include <stddef.h>

void *malloc(size_t bytes);
void free(void *block);

#endif
