/* The driver's thread, the thread that lets time pass, and the failures. */
#include "driver.h"

#include "board.h"
#include "crowd.h"

volatile unsigned char wcet_mark[WCET_CHANNELS][WCET_VALUES] __noinit;
union caller_data wcet_caller_data, wcet_caller_data_2;
uint8_t wcet_storage[STORAGE_BYTES] __aligned(8);

unsigned driver_invocations;
k_tid_t driver_thread, driver_passer;

/* ---- time ---------------------------------------------------------------------------------- */

#define PASSER_STACK_BYTES (512 + STACK_EXTRA)

static K_THREAD_STACK_DEFINE(passer_stack, PASSER_STACK_BYTES);
static struct k_thread passer_control;
static K_SEM_DEFINE(settled, 0, 1);
static volatile bool settling;
static void (*volatile waker)(void *);
static void *waker_argument;
/* A timeout that never comes: so no other one is the last in the kernel's list, which would be
 * cheaper to take out. */
static K_TIMER_DEFINE(last_timeout, NULL, NULL);

/* The least urgent thread: it runs when all others wait. It says so, or wakes one, or makes a tick. */
static void passer(void *unused, void *unused2, void *unused3)
{
    for (;;) {
        if (crowd_stop())
            k_yield();
        if (settling) {
            settling = false;
            k_sem_give(&settled);
        } else if (waker != NULL) {
            waker(waker_argument);
        } else {
            board_tick();
        }
    }
}

void settle(void)
{
    settling = true;
    CHECK(k_sem_take(&settled, K_FOREVER) == 0);
}

void wake_with(void (*what)(void *), void *argument)
{
    waker_argument = argument;
    waker = what;
}

void pass_ticks(unsigned ticks)
{
    while (ticks-- > 0)
        board_tick();
}

bool coarse(unsigned value, unsigned least, unsigned most)
{
    return value <= least + 2 || value == (least + most) / 2 || value == most;
}

bool swept(unsigned a, unsigned a_min, unsigned a_max, unsigned b, unsigned b_min, unsigned b_max)
{
    return a == a_min || b == b_min || (coarse(a, a_min, a_max) && coarse(b, b_min, b_max));
}

bool swept_ready(unsigned a, unsigned a_min, unsigned a_max, unsigned ready)
{
    if (IS_ENABLED(CONFIG_SCHED_SCALABLE))
        return a == a_min || ((a <= 6 || coarse(a, a_min, a_max)) && ready == 1) ||
               ((a == a_min + 1 || a == a_max) && ready == READY_COUNT_MAX);
    return swept(a, a_min, a_max, ready, 1, READY_COUNT_MAX);
}

/* Two parameters and R: both axes and some pairs with the least R; the ends with others, without the least of
 * those, which alone would look like a value of its own. In trees few of them, some with 0 < b < R and some with 0 < b <= a, since else b == 0 would look like R > b or a >= b. */
bool swept_three(unsigned a, unsigned a_min, unsigned a_max, unsigned b, unsigned b_max, unsigned ready)
{
    if (IS_ENABLED(CONFIG_SCHED_SCALABLE)) {
        if (ready > 1)
            return (a == a_min && b == 0) ||
                   (ready == READY_COUNT_MAX &&
                    (a == a_min ? b == 3 || b == b_max : a == a_max && (b == 0 || b == b_max)));
        return a == a_min ? b <= 4 || b % 3 == 0
                          : b == 0 || (a == a_max && b == b_max) ||
                                (a > a_min + 1 && coarse(a, a_min, a_max) && b == 2);
    }
    if (ready > 1)
        return (a == a_min && b == 0 && ready != 2) ||
               ((ready == READY_COUNT_MIDDLE || ready == READY_COUNT_MAX) &&
                (a == a_min || a == a_max) && (b == 0 || b == b_max));
    return swept(a, a_min, a_max, b, 0, b_max);
}

/* ---- the run ------------------------------------------------------------------------------- */

static void measure_all(void)
{
    measure_semaphores();
    measure_mutexes();
    measure_condvars();
    measure_events();
    measure_msgqs();
    measure_queues();
    measure_stacks();
    measure_pipes();
    measure_mailboxes();
    measure_slabs();
    measure_heaps();
    measure_timers();
    measure_work();
    measure_poll();
    measure_polled_objects();
    measure_threads();
    measure_kernel();
    measure_from_interrupt();
    measure_ticks();
    measure_blocking();
    measure_timeouts();
    measure_senders();
    measure_waits_again();
    measure_work_waits();
    measure_allocation();
    measure_fails();
    measure_trees();
}

int main(void)
{
    driver_thread = k_current_get();
    board_start();
    driver_passer = &passer_control;
    k_thread_create(&passer_control, passer_stack, PASSER_STACK_BYTES, passer, NULL, NULL, NULL,
                    PRIORITY_LOWEST, 0, K_NO_WAIT);
    settle();
    k_timer_start(&last_timeout, K_TICKS(1000000), K_NO_WAIT);

    if (IS_ENABLED(CONFIG_WCET_OPTION))
        measure_option();
    else
        measure_all();

    board_print("done: ");
    board_print_number(driver_invocations);
    board_print(" invocations\n");
    board_exit(0);
}

/* ---- failures ------------------------------------------------------------------------------ */

void board_print_number(unsigned value)
{
    char digits[11];
    char *at = digits + sizeof digits - 1;

    *at = '\0';
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    board_print(at);
}

void driver_failed(const char *file, int line, const char *condition)
{
    board_print(file);
    board_print(":");
    board_print_number((unsigned)line);
    board_print(": does not hold: ");
    board_print(condition);
    board_print(" (invocation ");
    board_print_number(driver_invocations);
    board_print(")\n");
    board_exit(2);
}

void wcet_value_out_of_range(unsigned channel, unsigned value)
{
    board_print("a mark is out of range: channel ");
    board_print_number(channel);
    board_print(", value ");
    board_print_number(value);
    board_print("\n");
    board_exit(2);
}

void k_sys_fatal_error_handler(unsigned int reason, const struct arch_esf *frame)
{
    board_print("the kernel met a fatal error: ");
    board_print_number(reason);
    board_print("\n");
    board_exit(3);
}
