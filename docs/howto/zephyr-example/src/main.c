/* Readings of a sensor are filtered, and given to a more urgent thread that prints them, for ever.
 * Nothing here is made for measuring but the variable `sample_count`. */
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#define SAMPLES_MAX 16

struct reading {
    uint32_t number;
    int32_t value;
};

/* Nothing in the program writes it: whoever starts the program may choose another value. Without
 * `volatile` the compiler would use the 16. */
const volatile unsigned sample_count = SAMPLES_MAX;

static int32_t samples[SAMPLES_MAX];

K_MSGQ_DEFINE(readings, sizeof(struct reading), 4, 4);
K_SEM_DEFINE(printed, 0, 1);

/* The mean of those samples that are no outliers. */
__attribute__((noinline)) int32_t filter(const int32_t *from, unsigned count, int32_t limit)
{
    int32_t sum = 0;
    unsigned taken = 0;

    for (unsigned i = 0; i < count; i++) {
        if (from[i] <= limit) {
            sum += from[i];
            taken++;
        }
    }
    return taken == 0 ? 0 : sum / (int32_t)taken;
}

__attribute__((noinline)) void publish(uint32_t number, int32_t value)
{
    const struct reading reading = {number, value};

    k_msgq_put(&readings, &reading, K_FOREVER);
}

static void print_readings(void *a, void *b, void *c)
{
    struct reading reading;

    for (;;) {
        k_msgq_get(&readings, &reading, K_FOREVER);
        printk("reading %u: %d\n", reading.number, reading.value);
        k_sem_give(&printed);
    }
}

K_THREAD_DEFINE(printer, 1024, print_readings, NULL, NULL, NULL, K_PRIO_COOP(1), 0, 0);

int main(void)
{
    for (unsigned i = 0; i < SAMPLES_MAX; i++) {
        samples[i] = (int32_t)i;
    }
    for (uint32_t number = 0;; number++) {
        /* Worst: no sample is an outlier. */
        publish(number, filter(samples, sample_count, SAMPLES_MAX));
        k_sem_take(&printed, K_FOREVER);
        k_msleep(10);
    }
}
