/* Polling of several objects at once. */
#include "helpers.h"
#include "pipe_states.h"

#define EVENTS_MAX 10u

static K_SEM_DEFINE(semaphore, 0, 1);
K_PIPE_DEFINE(empty_pipe, 4, 4);
static struct k_pipe pipe;
static struct k_poll_signal signal;
static struct k_poll_event events[EVENTS_MAX];
static struct k_poll_event helper_event;

static int poll_semaphore(void *object, void *argument)
{
    k_poll_event_init(&helper_event, K_POLL_TYPE_SEM_AVAILABLE, K_POLL_MODE_NOTIFY_ONLY, object);
    return k_poll(&helper_event, 1, K_TICKS(1000));
}

static int poll_signal(void *object, void *argument)
{
    k_poll_event_init(&helper_event, K_POLL_TYPE_SIGNAL, K_POLL_MODE_NOTIFY_ONLY, object);
    return k_poll(&helper_event, 1, K_TICKS(1000));
}

void measure_poll(void)
{
    unsigned *raised = (unsigned *)&wcet_caller_data.words[0];
    int *value = (int *)&wcet_caller_data.words[1];
    int result;

    MEASURE(SERVICE_K_POLL_SIGNAL_INIT, k_poll_signal_init(&signal));
    MEASURE(SERVICE_K_POLL_EVENT_INIT,
            k_poll_event_init(&events[0], K_POLL_TYPE_SIGNAL, K_POLL_MODE_NOTIFY_ONLY, &signal));
    MEASURE(SERVICE_K_POLL_SIGNAL_RAISE, result = k_poll_signal_raise(&signal, 5));
    CHECK(result == 0);
    MEASURE(SERVICE_K_POLL_SIGNAL_CHECK, k_poll_signal_check(&signal, raised, value));
    CHECK(*raised != 0 && *value == 5);
    MEASURE(SERVICE_K_POLL_SIGNAL_RESET, k_poll_signal_reset(&signal));
    CHECK(signal.signaled == 0);

    /* All but the last are of one pipe, not ready and registered, to be taken back at the end. How many bytes
     * the last one's has is found in three ways: the greatest of each count is published. */
    for (unsigned count = 2; count <= EVENTS_MAX; count++) {
        for (unsigned i = 0; i < count; i++)
            k_poll_event_init(&events[i], K_POLL_TYPE_PIPE_DATA_AVAILABLE, K_POLL_MODE_NOTIFY_ONLY,
                              &empty_pipe);
        wcet_param(0, count);
        MEASURE(SERVICE_K_POLL_FAIL, result = k_poll(events, (int)count, K_NO_WAIT));
        CHECK(result == -EAGAIN);

        events[count - 1].pipe = &pipe;
        for (unsigned way = 0; way < PIPE_WAYS; way++) {
            pipe_with_data(&pipe, wcet_storage, way);
            events[count - 1].state = K_POLL_STATE_NOT_READY;
            wcet_param(0, count);
            MEASURE(SERVICE_K_POLL, result = k_poll(events, (int)count, K_FOREVER));
            CHECK(result == 0 && events[count - 1].state == K_POLL_STATE_PIPE_DATA_AVAILABLE);
        }
    }

    FOR_CROWDS(CROWD_JOIN, ready, shape) {
        MEASURE_WAITER(SERVICE_K_POLL_SIGNAL_RAISE_WAITER, 0, ready, shape, poll_signal, &signal, NULL,
                       result = k_poll_signal_raise(&signal, 1), 0);
        k_poll_signal_reset(&signal);
        MEASURE_WAITER(SERVICE_K_SEM_GIVE_POLLER, 0, ready, shape, poll_semaphore, &semaphore, NULL,
                       k_sem_give(&semaphore), 0);
        CHECK(k_sem_take(&semaphore, K_NO_WAIT) == 0);
    }
    FOR_CROWDS(CROWD_LEAD, ready, shape) {
        MEASURE_SWITCH(SERVICE_K_POLL_SIGNAL_RAISE_SWITCH, 0, ready, shape, poll_signal, &signal,
                       NULL, result = k_poll_signal_raise(&signal, 1), 0);
        k_poll_signal_reset(&signal);
    }
}
