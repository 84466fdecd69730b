/* Marks that a firmware leaves for the characterization: a store whose ADDRESS carries a value.
 *
 * A trace of a processor always has the addresses of stores; it seldom has their values, and
 * registers almost never. A store to wcet_mark[channel][value] therefore says `value` on `channel`
 * through every trace format.
 *
 *   channel 0      a service begins; the value is its id
 *   channel 1      the service is over
 *   channel 2 + i  value of the service's i-th parameter, in the order of services.yaml
 *
 * Parameters are stored first, then the begin mark; nothing stands between the begin mark and the
 * call but its arguments:
 *
 *   wcet_param(0, n);
 *   wcet_begin(SERVICE_PVPORTMALLOC);
 *   block = pvPortMalloc(size);
 *   wcet_end(SERVICE_PVPORTMALLOC);
 *
 * The firmware defines the array (any section, it is never read) and wcet_value_out_of_range().
 * Nothing here depends on the kernel: another firmware can use this header as it is.
 */
#ifndef WCET_MARK_H
#define WCET_MARK_H

/* A board with little memory may define fewer; the services file says how many values there are. */
#ifndef WCET_CHANNELS
#define WCET_CHANNELS 16u
#endif
#ifndef WCET_VALUES
#define WCET_VALUES 4096u
#endif

#define WCET_CHANNEL_BEGIN 0u
#define WCET_CHANNEL_END 1u
#define WCET_CHANNEL_PARAMETER 2u

extern volatile unsigned char wcet_mark[WCET_CHANNELS][WCET_VALUES];

/* Must not return: a mark outside its row would be read as another channel's. */
extern void wcet_value_out_of_range(unsigned channel, unsigned value) __attribute__((noreturn));

static inline __attribute__((always_inline)) void wcet_store(unsigned channel, unsigned value)
{
    if (channel >= WCET_CHANNELS || value >= WCET_VALUES)
        wcet_value_out_of_range(channel, value);
    /* The barriers keep ordinary loads and stores of the caller on their side of the mark. */
    __asm volatile("" ::: "memory");
    wcet_mark[channel][value] = 0;
    __asm volatile("" ::: "memory");
}

static inline __attribute__((always_inline)) void wcet_begin(unsigned service)
{
    wcet_store(WCET_CHANNEL_BEGIN, service);
}

static inline __attribute__((always_inline)) void wcet_end(unsigned service)
{
    wcet_store(WCET_CHANNEL_END, service);
}

static inline __attribute__((always_inline)) void wcet_param(unsigned index, unsigned value)
{
    wcet_store(WCET_CHANNEL_PARAMETER + index, value);
}

#endif
