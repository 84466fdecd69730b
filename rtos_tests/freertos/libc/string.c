/* memcpy and friends, so that the firmware needs no C library and the copying that is part of a
 * service is the same on every machine: words where both ends are aligned, bytes otherwise and at
 * the end. The file is compiled with -fno-tree-loop-distribute-patterns, or GCC would see a memcpy
 * in the loop of memcpy and call it.
 *
 * An unaligned copy is never cheaper than an aligned one of the same size, so the driver measures
 * unaligned ones: what is shorter than a word goes the same way, a word takes fewer instructions
 * than four bytes, and neither way needs the stack. The empty asm statements keep GCC from making
 * two branches of the condition, from counting by other variables than `size`, and from a register
 * that would have to be saved.
 */
#include <stdint.h>
#include <string.h>

#define WORD sizeof(uint32_t)

/* Words of memory that may hold any type. */
typedef uint32_t __attribute__((may_alias)) word_t;

#define OPAQUE(variable) __asm("" : "+r"(variable))
#ifdef __thumb2__
#define NOT_SAVED(variable) __asm("" : "+h"(variable))
#else
#define NOT_SAVED(variable) ((void)0)
#endif

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    unsigned char *out = to;
    const unsigned char *in = from;
    unsigned bytes_only = (((uintptr_t)out | (uintptr_t)in) & (WORD - 1)) | (size < WORD);

    OPAQUE(bytes_only);
    if (!bytes_only) {
        do {
            word_t word = *(const word_t *)in;

            NOT_SAVED(word);
            *(word_t *)out = word;
            out += WORD;
            in += WORD;
            size -= WORD;
            OPAQUE(size);
        } while (size >= WORD);
    }
    while (size != 0) {
        *out++ = *in++;
        size--;
        OPAQUE(size);
    }
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
