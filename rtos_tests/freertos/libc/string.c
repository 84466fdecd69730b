/* memcpy and friends, so that the firmware needs no C library and the copying that is part of a
 * service is the same on every machine: words where both ends are aligned, bytes otherwise and at
 * the end. The file is compiled with -fno-tree-loop-distribute-patterns, or GCC would see a memcpy
 * in the loop of memcpy and call it.
 */
#include <stdint.h>
#include <string.h>

#define WORD sizeof(uint32_t)

/* Words of memory that may hold any type. */
typedef uint32_t __attribute__((may_alias)) word_t;

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    unsigned char *out = to;
    const unsigned char *in = from;

    if ((((uintptr_t)out | (uintptr_t)in) & (WORD - 1)) == 0) {
        for (; size >= WORD; size -= WORD, out += WORD, in += WORD)
            *(word_t *)out = *(const word_t *)in;
    }
    for (; size != 0; size--)
        *out++ = *in++;
    return to;
}

void *memset(void *to, int value, size_t size)
{
    unsigned char *out = to;
    const uint32_t byte = (unsigned char)value;

    if (((uintptr_t)out & (WORD - 1)) == 0) {
        for (; size >= WORD; size -= WORD, out += WORD)
            *(word_t *)out = byte * 0x01010101u;
    }
    for (; size != 0; size--)
        *out++ = (unsigned char)byte;
    return to;
}

int memcmp(const void *left, const void *right, size_t size)
{
    const unsigned char *a = left;
    const unsigned char *b = right;

    for (; size != 0; size--, a++, b++) {
        if (*a != *b)
            return *a - *b;
    }
    return 0;
}

size_t strlen(const char *text)
{
    size_t length = 0;

    while (text[length] != '\0')
        length++;
    return length;
}
