/*
 * wcetchar TCG plugin: writes what an M-profile, Armv4T or RISC-V firmware executes as a wcetchar
 * trace stream.
 *
 * Copyright (C) the wcetchar authors
 *
 * This program is free software; you can redistribute it and/or modify it under the terms of the
 * GNU General Public License as published by the Free Software Foundation; either version 2 of
 * the License, or (at your option) any later version. See the file COPYING.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One object serves every plugin API from version 1 (QEMU 6.0 .. 8.2) to 7 (QEMU 11.1). The few
 * prototypes it needs are declared here, because distributions ship no qemu-plugin.h. Of those
 * qemu_plugin_insn_data() changed, which copies from version 3 on; and from version 7 on callbacks
 * of the whole plugin are told their user data in the place of the plugin's number.
 *
 * Exceptions: the plugin API of QEMU up to 10.1 has no callback for them, and that of later ones
 * tells no numbers. QEMU's own interrupt log (-d int) names every entry, with its number and the
 * handler's address, and every return; it is written by the thread that executes, and flushed
 * before the next instruction runs. So the log goes to a memory file that this plugin has mapped:
 * at the start of a translation block it looks at the first byte and, where that is not zero, reads
 * the lines, emits the events and rewinds the file. Exceptions are only ever taken between blocks,
 * so the order is exact. Everything that the log says is checked: a line that is not understood, or
 * a handler that does not start where the log says, ends the run. What differs between the
 * instruction sets is in one table, "struct instruction_set".
 *
 * The stream's format is described in docs/reference/trace-format.md.
 *
 * Arguments (all numbers in C notation):
 *   out=FD           the stream; the caller has written magic and header chunk
 *   log=FD           the memory file that QEMU logs to (-d int -D /proc/self/fd/FD)
 *   crc=N            CRC of the header chunk: the chain of checksums starts there
 *   limit=N          instructions after which the run is given up
 *   entry=A          where execution has to start (M-profile: the log says it)
 *   until=A:N        the run ends before the instruction at A executes for the Nth time
 *   core=NAME        which of an emulator's kinds of core executes: armv4t; else the first of them
 *   exclude=A-B+...  instructions in A <= pc < B are counted, not recorded
 *   keep=A-B+...     instructions in A <= pc < B are recorded whatever the other filters say
 *   start=A-B+...    record only from a store to one of these addresses on ...
 *   stop=A-B+...     ... up to and including the instruction that stores to one of these
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define WEAK __attribute__((weak))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* ---- What is needed of QEMU's plugin interface ------------------------------------------------ */

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

typedef struct {
    const char *target_name;
    struct {
        int min;
        int cur;
    } version;
    bool system_emulation;
    struct {
        int smp_vcpus;
        int max_vcpus;
    } system;
} qemu_info_t;

enum { CB_NO_REGS = 0 };
enum { MEM_RW = 3 };

typedef void (*any_cb)(void);
typedef void (*exec_cb)(unsigned int vcpu, void *udata);
typedef void (*mem_cb)(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata);

void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, any_cb cb, void *udata);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, exec_cb cb, int flags,
                                            void *udata);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, mem_cb cb, int flags, int rw,
                                      void *udata);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);

/* Versions 1 and 2: returns a pointer. From 3 on: copies, and returns the number of bytes. Declared
 * without prototype is not possible for both, so the one name is called through two types. */
void qemu_plugin_insn_data(void);
typedef const void *(*insn_data_pointer)(const struct qemu_plugin_insn *insn);
typedef size_t (*insn_data_copy)(const struct qemu_plugin_insn *insn, void *dest, size_t len);

/* The same: version 7 has one argument more, user data. */
void qemu_plugin_register_vcpu_tb_trans_cb(void);
typedef void (*register_trans)(qemu_plugin_id_t id, any_cb cb);
typedef void (*register_trans_udata)(qemu_plugin_id_t id, any_cb cb, void *udata);

/* Never called: that QEMU has them tells its version before it asks for ours. */
WEAK void qemu_plugin_scoreboard_new(void);
WEAK void qemu_plugin_read_memory_vaddr(void);
WEAK void qemu_plugin_write_memory_vaddr(void);
WEAK void qemu_plugin_set_pc(void);

EXPORT int qemu_plugin_version = 1;
#define NEWEST_API 7
static int api = 1;

/* Versions 6 (QEMU 11.0) and 7 have the same functions: which of them it is, somebody has to say. */
static const char API_VARIABLE[] = "WCETCHAR_PLUGIN_API";

__attribute__((constructor)) static void choose_version(void)
{
    const char *stated = getenv(API_VARIABLE);
    if (qemu_plugin_set_pc) {
        qemu_plugin_version = stated && !strcmp(stated, "6") ? 6 : 7;
    } else if (qemu_plugin_write_memory_vaddr) {
        qemu_plugin_version = 5;
    } else if (qemu_plugin_read_memory_vaddr) {
        qemu_plugin_version = 4;
    } else if (qemu_plugin_scoreboard_new) {
        qemu_plugin_version = 2; /* 3 accepts it, too */
    }
}

/* ---- Errors ----------------------------------------------------------------------------------- */

/* There is no way to tell QEMU to give up; without an end record nobody takes the stream for
 * complete, so leaving at once is safe. */
__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
    va_list args;
    fputs("wcetchar-plugin: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    fflush(stderr);
    _exit(86);
}

static void *grow(void *old, size_t n, size_t size)
{
    void *memory = realloc(old, n * size);
    if (!memory) {
        fail("out of memory");
    }
    return memory;
}

/* ---- The stream ------------------------------------------------------------------------------- */

enum {
    CHUNK_EVENTS = 1 << 16,
    WORD_READ = 0,  /* + log2 of the width in bytes */
    WORD_WRITE = 8, /* + log2 of the width in bytes */
    WORD_EXCEPTION = 16,
    WORD_EXCEPTION_EXIT = 17,
    WORD_GAP = 18,
    WORD_INSTRUCTION = 32, /* + number of the instruction's definition */
};

struct definition {
    uint64_t address;
    uint32_t length;
    uint8_t code[12];
};

static int out_fd = -1;
static uint32_t chain;
static uint32_t crc_table[8][256];
/* Header, counts, then words and operands: room for a whole chunk, written with one call. */
static uint32_t chunk[4 + 2 * CHUNK_EVENTS + 1];
static uint32_t *const words = chunk + 4;
static uint32_t operands[CHUNK_EVENTS];
static uint32_t n_words, n_operands;

static struct definition *definitions;
static uint32_t n_definitions, n_written, room;
static uint32_t *buckets; /* number of a definition + 1; 0: free */
static uint32_t n_buckets;

static struct {
    uint64_t instructions, accesses, exceptions, exits, filtered, filtered_accesses, definitions;
    uint32_t ended; /* 1: by the firmware's exit call; 2: where until= says */
    uint32_t reserved;
} totals;

static void crc_init(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) {
            c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
        }
        crc_table[0][i] = c;
    }
    for (int t = 1; t < 8; t++) {
        for (int i = 0; i < 256; i++) {
            uint32_t c = crc_table[t - 1][i];
            crc_table[t][i] = (c >> 8) ^ crc_table[0][c & 0xff];
        }
    }
}

/* CRC-32 (ISO 3309, as in zlib), eight bytes a step. Lengths are multiples of four. */
static uint32_t crc32_of(uint32_t crc, const uint32_t *p, size_t n_bytes)
{
    crc = ~crc;
    for (; n_bytes >= 8; n_bytes -= 8, p += 2) {
        uint32_t a = p[0] ^ crc, b = p[1];
        crc = crc_table[7][a & 0xff] ^ crc_table[6][a >> 8 & 0xff] ^
              crc_table[5][a >> 16 & 0xff] ^ crc_table[4][a >> 24] ^ crc_table[3][b & 0xff] ^
              crc_table[2][b >> 8 & 0xff] ^ crc_table[1][b >> 16 & 0xff] ^ crc_table[0][b >> 24];
    }
    if (n_bytes) {
        uint32_t a = p[0] ^ crc;
        crc = crc_table[3][a & 0xff] ^ crc_table[2][a >> 8 & 0xff] ^
              crc_table[1][a >> 16 & 0xff] ^ crc_table[0][a >> 24];
    }
    return ~crc;
}

static void write_all(const void *data, size_t n)
{
    const char *p = data;
    while (n) {
        ssize_t done = write(out_fd, p, n);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            fail("the trace cannot be written: %s", strerror(errno));
        }
        p += done;
        n -= (size_t)done;
    }
}

/* buffer: two words of room, the payload, one word of room. */
static void write_chunk(uint32_t *buffer, const char *tag, uint32_t n_bytes)
{
    memcpy(buffer, tag, 4);
    buffer[1] = n_bytes;
    chain = crc32_of(chain, buffer, 8 + (size_t)n_bytes);
    buffer[2 + n_bytes / 4] = chain;
    write_all(buffer, 12 + (size_t)n_bytes);
}

static void flush_definitions(void)
{
    while (n_written < n_definitions) {
        static uint32_t buffer[3 + 1024 * sizeof(struct definition) / 4];
        uint32_t n = n_definitions - n_written;
        n = n < 1024 ? n : 1024;
        memcpy(buffer + 2, definitions + n_written, n * sizeof(struct definition));
        write_chunk(buffer, "CODE", n * (uint32_t)sizeof(struct definition));
        n_written += n;
    }
}

static void flush_events(void)
{
    if (!n_words) {
        return;
    }
    flush_definitions();
    chunk[2] = n_words;
    chunk[3] = n_operands;
    memcpy(words + n_words, operands, n_operands * 4);
    write_chunk(chunk, "EVNT", 8 + 4 * (n_words + n_operands));
    n_words = n_operands = 0;
}

static inline void put(uint32_t word)
{
    words[n_words++] = word;
    if (UNLIKELY(n_words == CHUNK_EVENTS)) {
        flush_events();
    }
}

static inline void put_with(uint32_t word, uint32_t operand)
{
    operands[n_operands++] = operand;
    put(word);
}

/* ---- What is recorded ------------------------------------------------------------------------- */

struct range {
    uint64_t start, end;
};

enum { MAX_RANGES = 4096, MAX_HELD = 64 };
static struct range exclude[MAX_RANGES], keep[MAX_RANGES], starts[MAX_RANGES], stops[MAX_RANGES];
static unsigned n_exclude, n_keep, n_starts, n_stops;

enum {
    OFF = 1,      /* waiting for a start mark */
    STOPPING = 2, /* a stop mark was stored; the next instruction is left out */
    LEFT_OUT = 4, /* gap > 0 */
};
static unsigned attention; /* 0: just record */

static uint64_t total, limit = UINT64_MAX, gap;
static uint32_t last; /* word of the instruction that executes */
static struct {
    uint32_t word, address;
} held[MAX_HELD]; /* accesses of that instruction while OFF: it may turn out to be a start mark */
static unsigned n_held;

/* The ranges are sorted and do not overlap (join_ranges). */
static inline bool within(const struct range *ranges, unsigned n, uint64_t address)
{
    unsigned low = 0;
    while (low < n) {
        unsigned middle = low + (n - low) / 2;
        if (address < ranges[middle].start) {
            n = middle;
        } else if (address >= ranges[middle].end) {
            low = middle + 1;
        } else {
            return true;
        }
    }
    return false;
}

static void put_gap(void)
{
    while (gap) {
        uint32_t part = gap > UINT32_MAX ? UINT32_MAX : (uint32_t)gap;
        put_with(WORD_GAP, part);
        gap -= part;
    }
    attention &= ~LEFT_OUT;
}

static void leave_out(void)
{
    totals.filtered++;
    gap++;
    attention |= LEFT_OUT;
    totals.filtered_accesses += n_held;
    n_held = 0;
}

static bool wanted(void)
{
    if (attention & STOPPING) {
        attention = (attention & ~STOPPING) | OFF;
    }
    if (attention & OFF) {
        leave_out();
        return false;
    }
    put_gap();
    return true;
}

static inline void step(uint32_t word)
{
    last = word;
    total++;
    if (UNLIKELY(attention) && !wanted()) {
        return;
    }
    totals.instructions++;
    put(word);
}

static inline void step_excluded(uint32_t word)
{
    last = word;
    total++;
    if (attention & STOPPING) {
        attention = (attention & ~STOPPING) | OFF;
    }
    leave_out();
}

/* An instruction that is recorded even while nothing else is. */
static inline void step_kept(uint32_t word)
{
    last = word;
    total++;
    if (attention & STOPPING) {
        attention = (attention & ~STOPPING) | OFF;
    }
    put_gap();
    totals.instructions++;
    put(word);
}

static inline void put_access(uint32_t word, uint32_t address)
{
    totals.accesses++;
    put_with(word, address);
}

static void start_recording(void)
{
    /* The instruction that stored the mark was counted as left out; it is the first one in. */
    gap--;
    totals.filtered--;
    put_gap();
    attention &= ~OFF;
    totals.instructions++;
    put(last);
    for (unsigned i = 0; i < n_held; i++) {
        put_access(held[i].word, held[i].address);
    }
    n_held = 0;
}

static void check_access(uint32_t word)
{
    if (UNLIKELY(word != last)) {
        fail("QEMU reported an access of the instruction at 0x%" PRIx64
             " while the one at 0x%" PRIx64 " executes",
             definitions[word - WORD_INSTRUCTION].address,
             last >= WORD_INSTRUCTION ? definitions[last - WORD_INSTRUCTION].address : 0);
    }
}

static void access_one(uint32_t word, uint32_t address)
{
    if (UNLIKELY(attention & OFF)) {
        if (n_held == MAX_HELD) {
            fail("an instruction made more than %d accesses", MAX_HELD);
        }
        held[n_held].word = word;
        held[n_held++].address = address;
        if (word >= WORD_WRITE && within(starts, n_starts, address)) {
            start_recording();
        }
        return;
    }
    put_access(word, address);
    if (n_stops && word >= WORD_WRITE && within(stops, n_stops, address)) {
        attention |= STOPPING;
    }
}

/* ---- QEMU's interrupt log --------------------------------------------------------------------- */

enum { LOG_SIZE = 1 << 16 };
static int log_fd = -1, qemu_log_fd = -1;
static char *log_text;
static bool log_open;

static void open_log(void)
{
    struct stat ours, other;
    if (fstat(log_fd, &ours)) {
        fail("the interrupt log is not there: %s", strerror(errno));
    }
    for (int fd = 3; fd < 1024 && qemu_log_fd < 0; fd++) {
        if (fd != log_fd && !fstat(fd, &other) && other.st_ino == ours.st_ino &&
            other.st_dev == ours.st_dev) {
            qemu_log_fd = fd;
        }
    }
    if (qemu_log_fd < 0) {
        fail("QEMU did not open the interrupt log");
    }
    /* Rewinding needs a plain file position; some builds open the log for appending. */
    int flags = fcntl(qemu_log_fd, F_GETFL);
    if (flags < 0 || fcntl(qemu_log_fd, F_SETFL, flags & ~O_APPEND) ||
        ftruncate(log_fd, LOG_SIZE)) {
        fail("the interrupt log cannot be used: %s", strerror(errno));
    }
    log_text = mmap(NULL, LOG_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, log_fd, 0);
    if (log_text == MAP_FAILED) {
        fail("the interrupt log cannot be mapped: %s", strerror(errno));
    }
    log_open = true;
}

static const char *after(const char *line, const char *text)
{
    const char *found = strstr(line, text);
    return found ? found + strlen(text) : NULL;
}

static const char *begins(const char *line, const char *text)
{
    size_t n = strlen(text);
    return strncmp(line, text, n) ? NULL : line + n;
}

static void put_entry(uint32_t number)
{
    if (attention & LEFT_OUT) {
        put_gap();
    }
    totals.exceptions++;
    put_with(WORD_EXCEPTION, number);
}

static void put_exit(uint32_t number)
{
    if (attention & LEFT_OUT) {
        put_gap();
    }
    totals.exits++;
    put_with(WORD_EXCEPTION_EXIT, number);
}

/* ---- What differs between the instruction sets ------------------------------------------------ */

enum role {
    PLAIN,
    RETURN,       /* returns from an exception, and the log does not show it */
    MAYBE_RETURN, /* the same, if its condition holds */
    MOVES_HANDLERS,
    WRITES_STATUS,
    HALF,        /* of a call that QEMU executes in two parts */
    NOT_EMULATED /* QEMU does something else than the architecture says */
};

static struct instruction_set {
    const char *target; /* as QEMU calls it */
    const char *core;   /* as the argument core= does */
    /* Looks at a block before its instructions are; NULL: nothing is to be known of it. */
    void (*begin_block)(const struct qemu_plugin_tb *tb);
    uint32_t (*length)(const struct definition *d);
    /* QEMU compares before it stores; the load that this takes is not the instruction's. */
    bool (*store_exclusive)(const struct definition *d);
    enum role (*role)(const struct definition *d);
    unsigned widest; /* log2 of the bytes of the widest access; QEMU may join several of them */
    void (*read)(char *lines);         /* the log; ends each line with a zero in place */
    void (*check_first)(uint64_t address); /* of the first instruction after lines in the log */
    bool (*ended)(void);               /* the newest thing that happened is the exit call */
} isa;

static bool returned;       /* the newest instruction was of role RETURN or MAYBE_RETURN */
static pthread_t executing; /* QEMU's thread that executes */
static uint64_t entry = 1;  /* where the first instruction must be; 1: anywhere */

/* ---- M-profile -------------------------------------------------------------------------------- */

static uint64_t handler = 1; /* where the next instruction must be; 1: anywhere */
static bool exit_call;       /* the newest thing in the log is the firmware's exit call */

/* Lines of QEMU's target/arm M-profile code, 7.2 and 10.0; each group begins with "Taking
 * exception" and must come to one of three ends: a handler is entered, an exception is left
 * (and perhaps another one entered at once), a semihosting call is served. */
static void m_profile_log(char *line)
{
    bool open = false;
    long pending = -1;

    while (*line) {
        char *end = strchr(line, '\n');
        const char *value;
        *end = 0;
        if (begins(line, "Taking exception ")) {
            if (open) {
                fail("the interrupt log says nothing of how an exception ended");
            }
            open = true;
            exit_call = false;
            pending = -1;
        } else if ((value = begins(line, "Loaded reset SP "))) {
            value = after(value, " PC 0x");
            if (!value || total) {
                fail("the machine was reset");
            }
            handler = strtoull(value, NULL, 16) & ~1ull;
        } else if (!open && line == log_text) {
            fail("not understood in the interrupt log: %s", line);
        } else if ((value = begins(line, "Exception return: magic PC "))) {
            value = after(value, " previous exception ");
            if (!value) {
                fail("not understood in the interrupt log: %s", line);
            }
            put_exit((uint32_t)strtoul(value, NULL, 10));
            handler = 1;
            open = false;
        } else if ((value = after(line, "...taking pending "))) {
            /* may stand behind "...derived exception ..." on one line */
            value = after(value, "exception ");
            if (!value) {
                fail("not understood in the interrupt log: %s", line);
            }
            pending = strtol(value, NULL, 10);
        } else if ((value = begins(line, "...loaded new PC 0x"))) {
            if (pending <= 0) {
                fail("the interrupt log enters a handler without an exception");
            }
            put_entry((uint32_t)pending);
            handler = strtoull(value, NULL, 16) & ~1ull;
            pending = -1;
            open = false;
        } else if ((value = begins(line, "...handling as semihosting call 0x"))) {
            unsigned long call = strtoul(value, NULL, 16);
            exit_call = call == 0x18 || call == 0x20; /* SYS_EXIT, SYS_EXIT_EXTENDED */
            open = false;
        }
        line = end + 1;
    }
    if (open || pending >= 0) {
        fail("the interrupt log says nothing of how an exception ended");
    }
}

static void m_profile_first(uint64_t address)
{
    if (handler != 1 && handler != address) {
        fail("a handler at 0x%" PRIx64 " was entered, but the next instruction is at 0x%" PRIx64,
             handler, address);
    }
    handler = 1;
    exit_call = false; /* it executes on, so that call did not end it */
}

static bool m_profile_ended(void)
{
    return exit_call;
}

/* Store-exclusive, and its store-release kin of Armv8-M (Armv7-M ARM, A7.7.167..169; Armv8-M ARM,
 * C2.4). QEMU compares before it stores; the load that this takes is not the instruction's. */
static bool thumb_store_exclusive(const struct definition *d)
{
    if (d->length != 4) {
        return false;
    }
    unsigned first = d->code[0] | d->code[1] << 8, kind = d->code[2] >> 4;
    return (first & 0xfff0) == 0xe840 ||
           ((first & 0xfff0) == 0xe8c0 && (kind == 0x4 || kind == 0x5 || kind == 0x7 ||
                                           kind == 0xc || kind == 0xd || kind == 0xe || kind == 0xf));
}

/* Bytes of a Thumb instruction by its first halfword (Armv7-M ARM, A5.1); M-profile cores execute
 * nothing else. QEMU's own size cannot be taken: before the end of a page it looks at one halfword
 * more, to see whether the next instruction crosses the page, and counts it to this one. */
static uint32_t thumb_length(const struct definition *d)
{
    return d->code[1] >> 3 >= 0x1d ? 4 : 2;
}

static enum role thumb_role(const struct definition *d)
{
    (void)d;
    return PLAIN;
}

/* ---- RISC-V, machine mode alone --------------------------------------------------------------- */

/* What QEMU decodes: two lengths (Unprivileged ISA, 1.5, has longer ones, which it traps on). */
static uint32_t riscv_length(const struct definition *d)
{
    return (d->code[0] & 3) == 3 ? 4 : 2;
}

static uint32_t riscv_word(const struct definition *d)
{
    uint32_t word;
    memcpy(&word, d->code, 4); /* a compressed one has zeros behind */
    return word;
}

/* sc.w (Unprivileged ISA, 8.2). */
static bool riscv_store_exclusive(const struct definition *d)
{
    return (riscv_word(d) & 0xf800707f) == 0x1800202f;
}

static bool riscv_ebreak(const struct definition *d)
{
    return riscv_word(d) == 0x00100073;
}

static enum role riscv_role(const struct definition *d)
{
    uint32_t word = riscv_word(d), function = word >> 12 & 7;
    if (word == 0x30200073) { /* mret */
        return RETURN;
    }
    /* csrrw to mtvec always writes, csrrs and csrrc with a mask that is not x0 or 0 do. */
    if ((word & 0xfff0007f) == 0x30500073 && (function & 3) &&
        ((function & 3) == 1 || (word >> 15 & 31))) {
        return MOVES_HANDLERS;
    }
    return PLAIN;
}

/* Goes on behind itself, unless it traps. */
static bool riscv_falls_through(const struct definition *d)
{
    uint32_t word = riscv_word(d), quadrant = word & 3, function = word >> 13 & 7;
    if (quadrant == 3) {
        uint32_t opcode = word & 0x7f;
        return opcode != 0x63 && opcode != 0x67 && opcode != 0x6f && riscv_role(d) != RETURN;
    }
    /* c.jal, c.j, c.beqz, c.bnez; c.jr, c.jalr */
    return !(quadrant == 1 && (function == 1 || function >= 5)) &&
           !(quadrant == 2 && function == 4 && !(word >> 2 & 31));
}

enum { MISALIGNED_FETCH = 0, FETCH_FAULT = 1, ILLEGAL = 2, FETCH_PAGE_FAULT = 12 };
static const uint32_t INTERRUPT = 1u << 31;

static struct active {
    uint32_t cause;
    bool opened; /* Armv4T: its handler wrote the status, so that it may have admitted interrupts */
} *active;       /* traps and exceptions that were not left */
static uint32_t n_active, room_active;
static bool entered; /* active[n_active - 1], and its handler has not begun */

/* Where handlers are, as far as entries have shown since mtvec was written: base and mode can be
 * in two ways, until an entry contradicts one of them. */
enum { DIRECT = 1, VECTORED = 2 };
static unsigned modes; /* 0: nothing is known */
static uint64_t direct_base, vectored_base;

static void begin_handler(uint64_t address)
{
    uint32_t cause = active[n_active - 1].cause;
    uint64_t skipped = cause & INTERRUPT ? 4ull * (cause & ~INTERRUPT) : 0;
    unsigned possible = 0;

    if (!(address & 3) && (!modes || address == direct_base)) {
        possible |= DIRECT;
    }
    if (!(address & 3) && address >= skipped && (!modes || address - skipped == vectored_base)) {
        possible |= VECTORED;
    }
    if (!modes) {
        direct_base = address;
        vectored_base = address - skipped;
    } else {
        possible &= modes;
    }
    if (!possible) {
        fail("the handler of trap 0x%" PRIx32 " began at 0x%" PRIx64
             ", which is neither the base of mtvec nor base + 4 * cause as of the traps before",
             cause, address);
    }
    modes = possible;
    entered = false;
}

static void enter(uint32_t cause)
{
    if (n_active == room_active) {
        room_active = room_active ? 2 * room_active : 64;
        active = grow(active, room_active, sizeof *active);
    }
    active[n_active++] = (struct active){cause, false};
    entered = true;
    put_entry(cause);
}

/* mret names no trap: it is the newest one that was not left, if there is any. */
static void leave(void)
{
    returned = false;
    if (n_active) {
        put_exit(active[--n_active].cause);
    }
}

/* Traps of QEMU's target/riscv, 7.2 and 10.0, one a line. Semihosting calls are not logged. */
static void riscv_log(char *line)
{
    while (*line) {
        char *end = strchr(line, '\n');
        unsigned hart, async;
        uint32_t cause, epc;
        uint64_t shown, tval; /* QEMU 11.1 extends the sign of addresses */
        int n = 0;
        *end = 0;
        if (sscanf(line,
                   "riscv_cpu_do_interrupt: hart:%u, async:%u, cause:%" SCNx32 ", epc:0x%" SCNx64
                   ", tval:0x%" SCNx64 ", desc=%n",
                   &hart, &async, &cause, &shown, &tval, &n) != 5 ||
            !n || hart || async > 1 || cause >= INTERRUPT) {
            fail("not understood in the interrupt log: %s", line);
        }
        epc = (uint32_t)shown;
        const struct definition *newest = last ? &definitions[last - WORD_INSTRUCTION] : NULL;
        bool fetch = !async && (cause == MISALIGNED_FETCH || cause == FETCH_FAULT ||
                                cause == FETCH_PAGE_FAULT);
        if (returned && !async && cause == ILLEGAL && newest->address == epc) {
            returned = false; /* below machine mode: it did not return */
        } else if (returned) {
            leave();
        }
        if (entered) {
            begin_handler(epc); /* the handler of the trap before cannot be fetched */
        } else if (!fetch && !async && (!newest || newest->address != epc)) {
            fail("trap 0x%" PRIx32 " was taken at 0x%" PRIx32 ", not by the newest instruction",
                 cause, epc);
        } else if (async && newest && riscv_falls_through(newest) &&
                   newest->address + newest->length != epc) {
            fail("interrupt 0x%" PRIx32 " was taken at 0x%" PRIx32
                 ", not behind the newest instruction",
                 cause, epc);
        }
        enter(async ? cause | INTERRUPT : cause);
        line = end + 1;
    }
}

static void riscv_first(uint64_t address)
{
    if (entered) {
        begin_handler(address);
    }
}

/* A call of SYS_EXIT ends QEMU within the instruction, in the thread that executes it; of all
 * other calls it returns. A breakpoint trap would be in the log. */
static bool riscv_ended(void)
{
    return last && riscv_ebreak(&definitions[last - WORD_INSTRUCTION]) && !entered &&
           pthread_equal(pthread_self(), executing);
}

/* ---- Armv4T: Arm and Thumb state, vectors at 0 or 0xffff0000 ----------------------------------- */

static const struct definition *definition_at(uint64_t address, uint32_t length);
static uint32_t define(const struct definition *new);

static bool thumb_state; /* of the block that is translated */
enum { PAGE = 1024 }; /* QEMU's smallest */

/* Which state a block is in: there is no other way to know it than the sizes of its instructions.
 * In Thumb state only a call has four bytes, and it ends its block. One instruction alone with four
 * bytes is of Arm state or a call, which are told apart later by their codes. But in front of a
 * page's last halfword QEMU counts that one to the instruction before. Such a block of one was cut
 * from a longer one (for a device access, or where the instruction counter wants to stop), which was
 * translated first, so that the instruction is known. */
static void armv4t_block(const struct qemu_plugin_tb *tb)
{
    struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
    uint64_t address = qemu_plugin_insn_vaddr(first);

    if (qemu_plugin_tb_n_insns(tb) > 1) {
        thumb_state = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 1)) - address == 2;
    } else {
        thumb_state = qemu_plugin_insn_size(first) == 2 || address % 4 ||
                      (address % PAGE == PAGE - 4 && definition_at(address, 2));
    }
}

static unsigned thumb_first(const struct definition *d)
{
    return d->code[0] | d->code[1] << 8;
}

static unsigned thumb_second(const struct definition *d)
{
    return d->code[2] | d->code[3] << 8;
}

enum { BL_PREFIX = 0x1e, BL_SUFFIX = 0x1f }; /* bits 15 to 11 (DDI 0100I, A7.1.17) */

/* On entry d->length is QEMU's size. */
static uint32_t armv4t_length(const struct definition *d)
{
    if (!thumb_state) {
        return 4;
    }
    return d->length >= 4 && thumb_first(d) >> 11 == BL_PREFIX &&
                   thumb_second(d) >> 11 == BL_SUFFIX
               ? 4
               : 2;
}

/* swp and swpb read and write for themselves. */
static bool armv4t_store_exclusive(const struct definition *d)
{
    (void)d;
    return false;
}

/* Of Thumb state: a call has the bits of condition 15 here, which no instruction of Arm state has. */
static enum role armv4t_role(const struct definition *d)
{
    uint32_t word, opcode;
    if (d->length == 2) {
        return thumb_first(d) >> 11 == BL_PREFIX ? HALF : PLAIN;
    }
    memcpy(&word, d->code, 4);
    opcode = word >> 21 & 15;
    if (word >> 28 == 15) {
        return PLAIN;
    }
    enum role returns = word >> 28 == 14 ? RETURN : MAYBE_RETURN;
    if ((word & 0x0e508000) == 0x08508000) {
        return returns; /* ldm {.., pc}^ */
    }
    if ((word & 0x0df1f000) == 0x0121f000) {
        return WRITES_STATUS; /* msr cpsr_c.. */
    }
    if ((word & 0x0c10f000) == 0x0010f000 && opcode >> 2 != 2 && /* data processing, S, to pc */
        (word & 0x02000000 || (word & 0x90) != 0x90)) {
        /* QEMU restores the status with subs and movs alone. */
        return opcode == 2 || opcode == 13 ? returns : NOT_EMULATED;
    }
    return PLAIN;
}

/* Vector by QEMU's number of the exception (target/arm/cpu.h); 0: not one of Armv4T. */
static const uint32_t armv4t_vectors[] = {0, 1, 2, 3, 4, 6, 7};
enum { DATA_ABORT = 4, IRQ = 6 }; /* vectors */
enum { SEMIHOSTING = 16 };         /* QEMU's number */

/* Lines of QEMU's target/arm for AArch32 without security and virtualization, 7.2 and 10.0. Each
 * exception begins with "Taking exception"; what follows says nothing that is needed, but for calls
 * of semihosting, which enter no handler. A return is logged where it changes the mode, and only
 * there: so returns are known by their instructions, and the log confirms them. */
static void armv4t_log(char *line)
{
    bool call = false;

    while (*line) {
        char *end = strchr(line, '\n');
        const char *value;
        *end = 0;
        if ((value = begins(line, "Taking exception "))) {
            unsigned long number = strtoul(value, NULL, 10);
            exit_call = false;
            call = number == SEMIHOSTING; /* its instruction was the newest: returned is not set */
            if (!call && (number >= sizeof armv4t_vectors / sizeof *armv4t_vectors ||
                          !armv4t_vectors[number])) {
                fail("not understood in the interrupt log: %s", line);
            }
            if (!call) {
                uint32_t vector = armv4t_vectors[number];
                const struct definition *newest =
                    last ? &definitions[last - WORD_INSTRUCTION] : NULL;
                if (returned && vector == DATA_ABORT) {
                    returned = false; /* the load of pc was aborted */
                } else if (returned && armv4t_role(newest) == MAYBE_RETURN &&
                           (vector != IRQ || !n_active || active[n_active - 1].opened)) {
                    /* An interrupt where only the return can have admitted one says that it did. */
                    fail("an exception was taken right behind the conditional return at 0x%" PRIx64
                         ": whether that returned is not known",
                         newest->address);
                } else if (returned) {
                    leave();
                }
                enter(vector);
            }
        } else if ((value = begins(line, "...handling as semihosting call 0x")) && call) {
            unsigned long number = strtoul(value, NULL, 16);
            exit_call = number == 0x18 || number == 0x20; /* SYS_EXIT, SYS_EXIT_EXTENDED */
        } else if (begins(line, "Exception return from AArch32 ")) {
            if (!returned) {
                fail("an exception return that no instruction made: %s", line);
            }
            leave();
        } else if (!begins(line, "AArch32 mode switch from ") && !begins(line, "...from EL") && !begins(line, "...with ")) {
            fail("not understood in the interrupt log: %s", line);
        }
        line = end + 1;
    }
}

static void armv4t_first(uint64_t address)
{
    exit_call = false; /* it executes on, so that call did not end it */
    if (entered) {
        uint64_t vector = 4ull * active[n_active - 1].cause;
        if (address != vector && address != 0xffff0000 + vector) {
            fail("exception %" PRIu32 " was taken, but the next instruction is at 0x%" PRIx64,
                 active[n_active - 1].cause, address);
        }
        entered = false;
    }
}

/* ---- Blocks ----------------------------------------------------------------------------------- */

static const struct instruction_set instruction_sets[] = {
    {"arm", "m-profile", NULL, thumb_length, thumb_store_exclusive, thumb_role, 2, m_profile_log,
     m_profile_first, m_profile_ended},
    {"arm", "armv4t", armv4t_block, armv4t_length, armv4t_store_exclusive, armv4t_role, 2,
     armv4t_log, armv4t_first, m_profile_ended},
    {"riscv32", "machine", NULL, riscv_length, riscv_store_exclusive, riscv_role, 3, riscv_log,
     riscv_first, riscv_ended},
};

static void read_log(void)
{
    size_t used = strnlen(log_text, LOG_SIZE);
    if (used == LOG_SIZE || log_text[used - 1] != '\n') {
        fail("the interrupt log ends within a line");
    }
    isa.read(log_text);
    memset(log_text, 0, used);
    if (lseek(qemu_log_fd, 0, SEEK_SET)) {
        fail("the interrupt log cannot be rewound: %s", strerror(errno));
    }
}

static void step_in_range(uint32_t word)
{
    const struct definition *d = &definitions[word - WORD_INSTRUCTION];
    if (within(keep, n_keep, d->address)) {
        step_kept(word);
    } else if (within(exclude, n_exclude, d->address)) {
        step_excluded(word);
    } else {
        step(word);
    }
}

/* First halves of calls that were executed, and their other halves not yet: a call that lies over the
 * end of a page, which QEMU executes as two instructions, is told as one where its second half
 * executes. An interrupt that comes in between is told before the call. */
static uint64_t halves;

static inline void block_start(uint32_t word)
{
    if (UNLIKELY(*(volatile char *)log_text)) {
        read_log();
        isa.check_first(definitions[word - WORD_INSTRUCTION].address);
    }
    if (UNLIKELY(returned)) {
        const struct definition *newest = &definitions[last - WORD_INSTRUCTION];
        if (isa.role(newest) == MAYBE_RETURN &&
            newest->address + newest->length == definitions[word - WORD_INSTRUCTION].address) {
            returned = false; /* its condition did not hold */
        } else {
            leave();
        }
    }
    if (UNLIKELY(!total) && entry != 1 && entry != definitions[word - WORD_INSTRUCTION].address) {
        fail("execution begins at 0x%" PRIx64 ", not at the entry 0x%" PRIx64,
             definitions[word - WORD_INSTRUCTION].address, entry);
    }
    if (UNLIKELY(total >= limit)) {
        fail("limit: %" PRIu64 " instructions executed", total);
    }
}

/* ---- Callbacks -------------------------------------------------------------------------------- */

static inline uint32_t word_of(void *udata)
{
    return (uint32_t)(uintptr_t)udata;
}

static void on_first(unsigned int vcpu, void *udata)
{
    (void)vcpu;
    block_start(word_of(udata));
    step(word_of(udata));
}

static void on_next(unsigned int vcpu, void *udata)
{
    (void)vcpu;
    step(word_of(udata));
}

static void on_first_excluded(unsigned int vcpu, void *udata)
{
    (void)vcpu;
    block_start(word_of(udata));
    step_excluded(word_of(udata));
}

static void on_next_excluded(unsigned int vcpu, void *udata)
{
    (void)vcpu;
    step_excluded(word_of(udata));
}

static void on_first_kept(unsigned int vcpu, void *udata)
{
    (void)vcpu;
    block_start(word_of(udata));
    step_kept(word_of(udata));
}

static void on_next_kept(unsigned int vcpu, void *udata)
{
    (void)vcpu;
    step_kept(word_of(udata));
}

static uint64_t until, until_times; /* 0 times: to the firmware's own end */
static uint32_t ended_by_until;

static void finish(void);

/* Before the callback that counts the instruction. There is no way to tell QEMU to stop, but the
 * stream is complete here; what the firmware printed has been written by this thread. */
static void on_until(unsigned int vcpu, void *udata)
{
    (void)vcpu;
    block_start(word_of(udata));
    if (!--until_times) {
        ended_by_until = 2;
        finish();
        _exit(0);
    }
}

static void step_role(uint32_t word)
{
    const struct definition *d = &definitions[word - WORD_INSTRUCTION];
    switch (isa.role(d)) {
    case HALF:
        halves++;
        return;
    case NOT_EMULATED:
        fail("QEMU does not carry out the instruction at 0x%" PRIx64 " as the architecture says",
             d->address);
    case RETURN:
    case MAYBE_RETURN:
        step_in_range(word);
        returned = true;
        return;
    case WRITES_STATUS:
        step_in_range(word);
        if (n_active) {
            active[n_active - 1].opened = true;
        }
        return;
    default:
        step_in_range(word);
        modes = 0;
    }
}

/* The second half of a call, whose definition is that of the whole. */
static void on_second_half(unsigned int vcpu, void *udata)
{
    uint32_t word = word_of(udata);
    (void)vcpu;
    block_start(word);
    if (!halves--) {
        fail("half a call was executed at 0x%" PRIx64,
             definitions[word - WORD_INSTRUCTION].address + 2);
    }
    step_in_range(word);
}

static void on_first_role(unsigned int vcpu, void *udata)
{
    (void)vcpu;
    block_start(word_of(udata));
    step_role(word_of(udata));
}

static void on_next_role(unsigned int vcpu, void *udata)
{
    (void)vcpu;
    step_role(word_of(udata));
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata)
{
    (void)vcpu;
    unsigned shift = qemu_plugin_mem_size_shift(info);
    uint32_t word = qemu_plugin_mem_is_store(info) ? WORD_WRITE : WORD_READ;
    check_access(word_of(udata));
    if (UNLIKELY(n_keep) &&
        within(keep, n_keep, definitions[word_of(udata) - WORD_INSTRUCTION].address)) {
        /* Recorded even while nothing else is; no mark, which the caller's code stores. */
        for (uint32_t i = 0; i < (shift > isa.widest ? 1u << (shift - isa.widest) : 1u); i++) {
            put_access(word + (shift > isa.widest ? isa.widest : shift),
                       (uint32_t)vaddr + (i << isa.widest));
        }
        return;
    }
    if (UNLIKELY(shift > isa.widest)) {
        /* M-profile: ldrd and strd are two word accesses (Armv7-M ARM, A7.7.50, A7.7.166); newer
         * QEMU makes one of 64 bits. */
        for (uint32_t i = 0; i < 1u << (shift - isa.widest); i++) {
            access_one(word + isa.widest, (uint32_t)vaddr + (i << isa.widest));
        }
        return;
    }
    access_one(word + shift, (uint32_t)vaddr);
}

/* For store-exclusives. QEMU 7.2 does not keep to a registration for stores only. */
static void on_store(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata)
{
    if (qemu_plugin_mem_is_store(info)) {
        on_access(vcpu, info, vaddr, udata);
    }
}

static void on_access_excluded(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
                               void *udata)
{
    (void)vcpu;
    (void)vaddr;
    unsigned shift = qemu_plugin_mem_size_shift(info);
    check_access(word_of(udata));
    if (isa.store_exclusive(&definitions[word_of(udata) - WORD_INSTRUCTION]) &&
        !qemu_plugin_mem_is_store(info)) {
        return;
    }
    totals.filtered_accesses += shift > isa.widest ? 1u << (shift - isa.widest) : 1;
}

/* ---- Translation ------------------------------------------------------------------------------ */

static uint32_t slot_of(uint64_t address)
{
    return (uint32_t)((address * 0x9e3779b97f4a7c15ull) >> 32) & (n_buckets - 1);
}

static uint32_t define(const struct definition *new)
{
    if (n_definitions * 2 >= n_buckets) {
        n_buckets = n_buckets ? 2 * n_buckets : 1 << 14;
        free(buckets);
        buckets = calloc(n_buckets, sizeof *buckets);
        if (!buckets) {
            fail("out of memory");
        }
        for (uint32_t i = 0; i < n_definitions; i++) {
            uint32_t slot = slot_of(definitions[i].address);
            while (buckets[slot]) {
                slot = (slot + 1) & (n_buckets - 1);
            }
            buckets[slot] = i + 1;
        }
    }
    uint32_t slot = slot_of(new->address);
    for (; buckets[slot]; slot = (slot + 1) & (n_buckets - 1)) {
        if (!memcmp(&definitions[buckets[slot] - 1], new, sizeof *new)) {
            return buckets[slot] - 1;
        }
    }
    if (n_definitions == room) {
        room = room ? 2 * room : 1 << 13;
        definitions = grow(definitions, room, sizeof *definitions);
    }
    if (n_definitions >= UINT32_MAX - WORD_INSTRUCTION) {
        fail("too many distinct instructions");
    }
    definitions[n_definitions] = *new;
    buckets[slot] = n_definitions + 1;
    return n_definitions++;
}

/* A definition of an instruction at an address, of that length. */
static const struct definition *definition_at(uint64_t address, uint32_t length)
{
    if (!n_buckets) {
        return NULL;
    }
    for (uint32_t slot = slot_of(address); buckets[slot]; slot = (slot + 1) & (n_buckets - 1)) {
        const struct definition *d = &definitions[buckets[slot] - 1];
        if (d->address == address && d->length == length) {
            return d;
        }
    }
    return NULL;
}

/* The whole of a call whose second half is ``d``, where that stands behind a first half. */
static bool join_halves(struct definition *d)
{
    const struct definition *before;
    if (!isa.begin_block || !thumb_state || d->length != 2 || thumb_first(d) >> 11 != BL_SUFFIX ||
        !(before = definition_at(d->address - 2, 2)) || thumb_first(before) >> 11 != BL_PREFIX) {
        return false;
    }
    memcpy(d->code + 2, d->code, 2);
    memcpy(d->code, before->code, 2);
    d->address -= 2;
    d->length = 4;
    return true;
}

static void translated(const struct qemu_plugin_tb *tb)
{
    size_t n = qemu_plugin_tb_n_insns(tb);
    if (!log_open) {
        open_log();
        executing = pthread_self();
    }
    if (isa.begin_block) {
        isa.begin_block(tb);
    }
    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        struct definition new;
        size_t size = qemu_plugin_insn_size(insn);
        memset(&new, 0, sizeof new);
        new.address = qemu_plugin_insn_vaddr(insn);
        new.length = (uint32_t)size;
        if (size == 0 || size > sizeof new.code) {
            fail("an instruction of %zu bytes at 0x%" PRIx64, size, new.address);
        }
        if (api >= 3) {
            insn_data_copy copy = (insn_data_copy)qemu_plugin_insn_data;
            if (copy(insn, new.code, size) != size) {
                fail("the instruction at 0x%" PRIx64 " cannot be read", new.address);
            }
        } else {
            insn_data_pointer pointer = (insn_data_pointer)qemu_plugin_insn_data;
            memcpy(new.code, pointer(insn), size);
        }
        new.length = isa.length(&new);
        if (new.length > size) {
            fail("half an instruction at 0x%" PRIx64, new.address);
        }
        memset(new.code + new.length, 0, sizeof new.code - new.length);
        bool second = join_halves(&new);
        bool kept = within(keep, n_keep, new.address);
        bool out = !kept && within(exclude, n_exclude, new.address);
        mem_cb accesses = out ? on_access_excluded
                              : isa.store_exclusive(&new) ? on_store : on_access;
        void *udata = (void *)(uintptr_t)(define(&new) + WORD_INSTRUCTION);
        exec_cb executes = second                  ? on_second_half
                           : isa.role(&new) != PLAIN ? (i ? on_next_role : on_first_role)
                           : kept                  ? (i ? on_next_kept : on_first_kept)
                           : out                   ? (i ? on_next_excluded : on_first_excluded)
                                                   : (i ? on_next : on_first);
        if (UNLIKELY(until_times) && new.address == until) {
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_until, CB_NO_REGS, udata);
        }
        qemu_plugin_register_vcpu_insn_exec_cb(insn, executes, CB_NO_REGS, udata);
        qemu_plugin_register_vcpu_mem_cb(insn, accesses, CB_NO_REGS, MEM_RW, udata);
    }
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    translated(tb);
}

/* From version 7 on. */
static void on_translate_udata(struct qemu_plugin_tb *tb, void *udata)
{
    (void)udata;
    translated(tb);
}

static void finish(void)
{
    static uint32_t buffer[3 + sizeof totals / 4];
    if (log_open && *log_text) {
        read_log();
    }
    if (halves) {
        fail("the run ended within a call");
    }
    if (returned) {
        leave();
    }
    totals.filtered_accesses += n_held;
    n_held = 0;
    if (gap) {
        put_gap();
    }
    flush_events();
    totals.definitions = n_written;
    totals.ended = ended_by_until ? ended_by_until : isa.ended();
    memcpy(buffer + 2, &totals, sizeof totals);
    write_chunk(buffer, "DONE", sizeof totals);
}

static void on_end(qemu_plugin_id_t id, void *udata)
{
    (void)id;
    (void)udata;
    finish();
}

/* From version 7 on. */
static void on_end_udata(void *udata)
{
    (void)udata;
    finish();
}

/* ---- Arguments -------------------------------------------------------------------------------- */

static bool parse_ranges(const char *text, struct range *ranges, unsigned *n)
{
    do {
        char *end;
        if (*n == MAX_RANGES) {
            return false;
        }
        ranges[*n].start = strtoull(text, &end, 0);
        if (*end != '-') {
            return false;
        }
        ranges[*n].end = strtoull(end + 1, &end, 0);
        if (*end && *end != '+') {
            return false;
        }
        ++*n;
        text = *end ? end + 1 : NULL;
    } while (text);
    return true;
}

static int by_start(const void *one, const void *other)
{
    uint64_t a = ((const struct range *)one)->start, b = ((const struct range *)other)->start;
    return (a > b) - (a < b);
}

static void join_ranges(struct range *ranges, unsigned *n)
{
    unsigned last = 0;
    qsort(ranges, *n, sizeof *ranges, by_start);
    for (unsigned i = 1; i < *n; i++) {
        if (ranges[i].start > ranges[last].end) {
            ranges[++last] = ranges[i];
        } else if (ranges[i].end > ranges[last].end) {
            ranges[last].end = ranges[i].end;
        }
    }
    if (*n) {
        *n = last + 1;
    }
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    api = info->version.cur;
    if (api > NEWEST_API) {
        fprintf(stderr, "wcetchar-plugin: plugin API version %d; known are 1 to %d\n", api,
                NEWEST_API);
        return 1;
    }
    const char *core = NULL;
    for (int i = 0; i < argc; i++) {
        const char *value = begins(argv[i], "core=");
        core = value ? value : core;
    }
    for (size_t i = 0; i < sizeof instruction_sets / sizeof *instruction_sets && !isa.target; i++) {
        if (!strcmp(info->target_name, instruction_sets[i].target) &&
            (!core || !strcmp(core, instruction_sets[i].core))) {
            isa = instruction_sets[i];
        }
    }
    if (!info->system_emulation || !isa.target || info->system.smp_vcpus != 1) {
        fprintf(stderr, "wcetchar-plugin: needs qemu-system-arm or qemu-system-riscv32 and a "
                        "machine with one core\n");
        return 1;
    }
    for (int i = 0; i < argc; i++) {
        const char *value;
        bool good = true;
        if (begins(argv[i], "core=")) {
            continue;
        } else if ((value = begins(argv[i], "out="))) {
            out_fd = atoi(value);
        } else if ((value = begins(argv[i], "log="))) {
            log_fd = atoi(value);
        } else if ((value = begins(argv[i], "crc="))) {
            chain = (uint32_t)strtoul(value, NULL, 0);
        } else if ((value = begins(argv[i], "limit="))) {
            limit = strtoull(value, NULL, 0);
        } else if ((value = begins(argv[i], "entry="))) {
            entry = strtoull(value, NULL, 0);
        } else if ((value = begins(argv[i], "until="))) {
            char *end;
            until = strtoull(value, &end, 0);
            until_times = *end == ':' ? strtoull(end + 1, &end, 0) : 0;
            good = until_times && !*end;
        } else if ((value = begins(argv[i], "exclude="))) {
            good = parse_ranges(value, exclude, &n_exclude);
        } else if ((value = begins(argv[i], "keep="))) {
            good = parse_ranges(value, keep, &n_keep);
        } else if ((value = begins(argv[i], "start="))) {
            good = parse_ranges(value, starts, &n_starts);
        } else if ((value = begins(argv[i], "stop="))) {
            good = parse_ranges(value, stops, &n_stops);
        } else {
            good = false;
        }
        if (!good) {
            fprintf(stderr, "wcetchar-plugin: bad argument %s\n", argv[i]);
            return 1;
        }
    }
    join_ranges(exclude, &n_exclude);
    join_ranges(keep, &n_keep);
    join_ranges(starts, &n_starts);
    join_ranges(stops, &n_stops);
    if (out_fd < 0 || log_fd < 0) {
        fprintf(stderr, "wcetchar-plugin: out= and log= are needed\n");
        return 1;
    }
    /* A run whose caller was killed is of no use to anybody. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    crc_init();
    attention = n_starts ? OFF : 0;
    if (api >= 7) {
        register_trans_udata on_trans = (register_trans_udata)qemu_plugin_register_vcpu_tb_trans_cb;
        on_trans(id, (any_cb)on_translate_udata, NULL);
        qemu_plugin_register_atexit_cb(id, (any_cb)on_end_udata, NULL);
    } else {
        register_trans on_trans = (register_trans)qemu_plugin_register_vcpu_tb_trans_cb;
        on_trans(id, (any_cb)on_translate);
        qemu_plugin_register_atexit_cb(id, (any_cb)on_end, NULL);
    }
    return 0;
}
