/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures this machine: what a Linux system takes for calls, processes, threads, switches and memory.
 *
 *     measure CPU ns|cycles < requests > readings
 *
 * CPU: the number of the one that everything is pinned to, or -1 for the first that is allowed.
 * A request is a line of four fields between tabs: operation, parameter (may be empty), calls in one reading,
 * repetitions. What comes out is a heading and one line for each repetition: what was asked for, and four readings
 * of the clock around it:
 *
 *     start_outer  start_inner  { the operation, so many times }  end_inner  end_outer
 *
 * so that end_outer - start_outer - (end_inner - start_inner) is what reading the clock takes. Nothing is evaluated
 * here, nothing is left out, and nothing is warmed up beside the memory that is read: the first reading of an
 * operation is its first execution.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define BARRIER() __asm__ volatile("" ::: "memory")
#define LINE 64 /* bytes from one element of the chain to the next: a cache line */
#define MAX_BYTES 65536

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static void refuse(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* --- clocks ---------------------------------------------------------------------------------------- */

static uint64_t raw_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The fences keep what is measured between the readings. */
#if defined(__x86_64__) || defined(__i386__)
#define HAS_COUNTER 1
static inline uint64_t counter(void)
{
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}
#elif defined(__aarch64__)
#define HAS_COUNTER 1
static inline uint64_t counter(void)
{
    uint64_t value;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(value)::"memory");
    return value;
}
#else
#define HAS_COUNTER 0
static inline uint64_t counter(void) { return 0; }
#endif

static int use_counter;

static inline uint64_t now(void) { return use_counter ? counter() : raw_ns(); }

/* Both at about the same time: the clock before and behind the counter, as close to each other as it gets. A program that is
 * interrupted between the two would take what that takes for time that the counter did not count. */
struct both {
    uint64_t before_ns, counted, behind_ns;
};

static struct both read_both(void)
{
    struct both best = {0, 0, UINT64_MAX};
    for (int i = 0; i < 1000; i++) {
        struct both one;
        one.before_ns = raw_ns();
        one.counted = counter();
        one.behind_ns = raw_ns();
        if (one.behind_ns - one.before_ns < best.behind_ns - best.before_ns)
            best = one;
    }
    return best;
}

/* Of the counter, against the clock, over a twentieth of a second: least and most. */
static void counter_hz(uint64_t *least, uint64_t *most)
{
    struct both from = read_both(), to;
    while (raw_ns() - from.behind_ns < 50000000u)
        ;
    to = read_both();
    double cycles = (double)(to.counted - from.counted);
    *least = (uint64_t)((cycles - 1) * 1e9 / (double)(to.behind_ns - from.before_ns));
    *most = (uint64_t)((cycles + 1) * 1e9 / (double)(to.before_ns - from.behind_ns)) + 1;
}

struct reading {
    uint64_t start_outer, start_inner, end_inner, end_outer;
};

/* The operation is a statement; the four readings are kept in registers until all are taken. */
#define MEASURE(into, statement)                           \
    do {                                                   \
        uint64_t a_ = now(), b_ = now(), c_, d_;           \
        BARRIER();                                         \
        statement;                                         \
        BARRIER();                                         \
        c_ = now();                                        \
        d_ = now();                                        \
        *(into) = (struct reading){a_, b_, c_, d_};        \
    } while (0)

#define TIMES(calls, statement)                            \
    for (uint64_t i_ = 0; i_ < (calls); i_++) {            \
        statement;                                         \
        BARRIER();                                         \
    }

struct request {
    char operation[64];
    int has_parameter;
    uint64_t parameter, calls, repetitions;
    struct reading *readings;
};

/* --- procedures ------------------------------------------------------------------------------------ */

/* Each uses its arguments in nothing but an empty instruction, so that they have to be passed. */
#define USE(x) __asm__ volatile("" ::"rm"(x))
static NOINLINE int call0(void) { BARRIER(); return 0; }
static NOINLINE int call1(int a) { USE(a); return 0; }
static NOINLINE int call2(int a, int b) { USE(a); USE(b); return 0; }
static NOINLINE int call3(int a, int b, int c) { USE(a); USE(b); USE(c); return 0; }
static NOINLINE int call4(int a, int b, int c, int d) { USE(a); USE(b); USE(c); USE(d); return 0; }
static NOINLINE int call5(int a, int b, int c, int d, int e)
{
    USE(a); USE(b); USE(c); USE(d); USE(e);
    return 0;
}
static NOINLINE int call6(int a, int b, int c, int d, int e, int f)
{
    USE(a); USE(b); USE(c); USE(d); USE(e); USE(f);
    return 0;
}
static NOINLINE int call7(int a, int b, int c, int d, int e, int f, int g)
{
    USE(a); USE(b); USE(c); USE(d); USE(e); USE(f); USE(g);
    return 0;
}

static void loop(struct request *r)
{
    for (uint64_t n = 0; n < r->repetitions; n++)
        MEASURE(&r->readings[n], TIMES(r->calls, (void)0));
}

static void procedure(struct request *r)
{
#define CALLED(number, call)                                                        \
    case number:                                                                    \
        for (uint64_t n = 0; n < r->repetitions; n++)                               \
            MEASURE(&r->readings[n], TIMES(r->calls, int got_ = call; USE(got_)));  \
        break;
    switch (r->has_parameter ? r->parameter : 8) {
        CALLED(0, call0())
        CALLED(1, call1(1))
        CALLED(2, call2(1, 2))
        CALLED(3, call3(1, 2, 3))
        CALLED(4, call4(1, 2, 3, 4))
        CALLED(5, call5(1, 2, 3, 4, 5))
        CALLED(6, call6(1, 2, 3, 4, 5, 6))
        CALLED(7, call7(1, 2, 3, 4, 5, 6, 7))
    default:
        refuse("a procedure call has 0 to 7 arguments");
    }
}

/* --- the system ------------------------------------------------------------------------------------ */

static void system_getpid(struct request *r)
{
    for (uint64_t n = 0; n < r->repetitions; n++)
        MEASURE(&r->readings[n], TIMES(r->calls, syscall(SYS_getpid)));
}

static void system_getsid(struct request *r)
{
    for (uint64_t n = 0; n < r->repetitions; n++)
        MEASURE(&r->readings[n], TIMES(r->calls, syscall(SYS_getsid, 0)));
}

/* A child that does nothing, from fork until it has ended. */
static void one_process(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        fail("a process cannot be created and waited for");
}

static void process(struct request *r)
{
    for (uint64_t n = 0; n < r->repetitions; n++)
        MEASURE(&r->readings[n], TIMES(r->calls, one_process()));
}

static void *nothing(void *argument) { return argument; }

static void one_thread(void)
{
    pthread_t thread;
    errno = pthread_create(&thread, NULL, nothing, NULL);
    if (errno || (errno = pthread_join(thread, NULL)))
        fail("a thread cannot be created and waited for");
}

static void thread(struct request *r)
{
    for (uint64_t n = 0; n < r->repetitions; n++)
        MEASURE(&r->readings[n], TIMES(r->calls, one_thread()));
}

/* --- switches: two sides that hand so many bytes to each other through pipes, on one CPU ------------ */

static void put(int to, const char *bytes, size_t count)
{
    while (count) {
        ssize_t done = write(to, bytes, count);
        if (done < 0 && errno != EINTR)
            fail("a pipe cannot be written");
        if (done > 0) {
            bytes += done;
            count -= (size_t)done;
        }
    }
}

/* 0: the other side is gone. */
static int get(int from, char *bytes, size_t count)
{
    while (count) {
        ssize_t done = read(from, bytes, count);
        if (done == 0)
            return 0;
        if (done < 0 && errno != EINTR)
            fail("a pipe cannot be read");
        if (done > 0) {
            bytes += done;
            count -= (size_t)done;
        }
    }
    return 1;
}

struct side {
    int from, to;
    size_t count;
};

static void echo(const struct side *side)
{
    static __thread char bytes[MAX_BYTES];
    while (get(side->from, bytes, side->count))
        put(side->to, bytes, side->count);
}

static void *echoing(void *side)
{
    echo(side);
    return NULL;
}

/* One call is one switch: there, and back again. */
static void turns(struct request *r, int to, int from)
{
    static char bytes[MAX_BYTES];
    for (uint64_t n = 0; n < r->repetitions; n++)
        MEASURE(&r->readings[n], TIMES(r->calls / 2, {
            put(to, bytes, r->parameter);
            if (!get(from, bytes, r->parameter))
                refuse("the other side of a pipe went away");
        }));
}

static void pipes(struct request *r, int there[2], int back[2])
{
    if (!r->has_parameter || r->parameter < 1 || r->parameter > 4096)
        refuse("a switch hands over 1 to 4096 bytes, which a pipe takes at once");
    if (r->calls % 2)
        refuse("switches come in pairs: there and back");
    if (pipe(there) || pipe(back))
        fail("no pipe");
}

static void process_switch(struct request *r)
{
    int there[2], back[2];
    pipes(r, there, back);
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        fail("no process");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        close(there[1]);
        close(back[0]);
        struct side side = {there[0], back[1], r->parameter};
        echo(&side);
        _exit(0);
    }
    close(there[0]);
    close(back[1]);
    turns(r, there[1], back[0]);
    close(there[1]);
    close(back[0]);
    waitpid(child, NULL, 0);
}

static void thread_switch(struct request *r)
{
    int there[2], back[2];
    pipes(r, there, back);
    struct side side = {there[0], back[1], r->parameter};
    pthread_t other;
    if ((errno = pthread_create(&other, NULL, echoing, &side)))
        fail("no thread");
    turns(r, there[1], back[0]);
    close(there[1]);
    pthread_join(other, NULL);
    close(there[0]);
    close(back[0]);
    close(back[1]);
}

/* --- memory: a chain through all lines of a working set, in one cycle of random order --------------- */

static uint64_t random_below(uint64_t *state, uint64_t limit)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state % limit;
}

static void memory(struct request *r)
{
    uint64_t lines = r->parameter / LINE, state = 88172645463325252u;
    if (!r->has_parameter || lines < 2)
        refuse("a working set has at least two lines of 64 bytes");
    char *base = aligned_alloc(4096, (r->parameter + 4095) / 4096 * 4096);
    uint32_t *order = malloc(lines * sizeof *order);
    if (!base || !order || lines > UINT32_MAX)
        refuse("there is no memory for such a working set");
    for (uint64_t i = 0; i < lines; i++)
        order[i] = (uint32_t)i;
    for (uint64_t i = lines - 1; i > 0; i--) { /* Sattolo: one cycle through all of them */
        uint64_t j = random_below(&state, i);
        uint32_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    for (uint64_t i = 0; i < lines; i++)
        *(void **)(base + i * LINE) = base + (uint64_t)order[i] * LINE;
    free(order);
    void **at = (void **)base;
    for (uint64_t i = 0; i < lines; i++) /* so that what fits into a cache is there */
        at = *at;
    for (uint64_t n = 0; n < r->repetitions; n++)
        MEASURE(&r->readings[n], TIMES(r->calls, at = *at));
    USE(at);
    free(base);
}

/* --- requests and readings -------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*measure)(struct request *);
} operations[] = {
    {"loop", loop},
    {"procedure call", procedure},
    {"system call getpid", system_getpid},
    {"system call getsid", system_getsid},
    {"process", process},
    {"thread", thread},
    {"process switch", process_switch},
    {"thread switch", thread_switch},
    {"memory", memory},
};

static int whole(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno;
}

static void carry_out(char *line)
{
    struct request r = {0};
    char *fields[4], *rest = line;
    line[strcspn(line, "\n")] = 0;
    for (int i = 0; i < 4; i++)
        if (!(fields[i] = strsep(&rest, "\t")))
            refuse("a request has four fields");
    snprintf(r.operation, sizeof r.operation, "%s", fields[0]);
    r.has_parameter = *fields[1] != 0;
    if ((r.has_parameter && !whole(fields[1], &r.parameter)) || !whole(fields[2], &r.calls) ||
        !whole(fields[3], &r.repetitions) || !r.calls || !r.repetitions)
        refuse("a request has numbers above zero");
    r.readings = calloc(r.repetitions, sizeof *r.readings);
    if (!r.readings)
        refuse("there is no memory for so many readings");
    memset(r.readings, 1, r.repetitions * sizeof *r.readings); /* so that it is there when it is written */
    size_t i, known = sizeof operations / sizeof *operations;
    for (i = 0; i < known && strcmp(operations[i].name, r.operation); i++)
        ;
    if (i == known) {
        fprintf(stderr, "no operation has the name %s\n", r.operation);
        exit(1);
    }
    operations[i].measure(&r);
    for (uint64_t n = 0; n < r.repetitions; n++) {
        const struct reading *one = &r.readings[n];
        printf("%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", r.operation, fields[1],
               r.calls, one->start_outer, one->start_inner, one->end_inner, one->end_outer);
    }
    if (fflush(stdout))
        fail("standard output");
    free(r.readings);
}

static int pin(long wanted)
{
    cpu_set_t allowed, only;
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        fail("it is not known which CPUs are allowed");
    int cpu = (int)wanted;
    if (wanted < 0)
        for (cpu = 0; cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &allowed); cpu++)
            ;
    if (cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &allowed))
        refuse("this CPU is not there, or not allowed");
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    if (sched_setaffinity(0, sizeof only, &only))
        fail("nothing can be pinned to this CPU");
    return cpu;
}

int main(int argc, char **argv)
{
    char line[256], *end;
    if (argc != 3 || (strcmp(argv[2], "ns") && strcmp(argv[2], "cycles")))
        refuse("usage: measure CPU ns|cycles");
    long wanted = strtol(argv[1], &end, 10);
    if (*end || end == argv[1])
        refuse("the CPU is no number");
    signal(SIGPIPE, SIG_DFL);
    printf("# cpu: %d\n", pin(wanted));
    use_counter = !strcmp(argv[2], "cycles");
    if (use_counter && !HAS_COUNTER)
        refuse("this processor has no counter that programs may read; use the clock");
    if (use_counter) {
        uint64_t least, most;
        counter_hz(&least, &most);
        printf("# clock: %" PRIu64 "..%" PRIu64 " Hz\n", least, most);
    }
    const char *unit = argv[2];
    printf("operation,parameter,calls,start_outer_%s,start_inner_%s,end_inner_%s,end_outer_%s\n", unit, unit, unit,
           unit);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin))
        carry_out(line);
    return 0;
}
