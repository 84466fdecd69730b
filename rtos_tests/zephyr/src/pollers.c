/* See pollers.h. */
#include "pollers.h"

#include "helpers.h"

static struct k_poll_signal signal = K_POLL_SIGNAL_INITIALIZER(signal);

int pollers_poll(void *unused, void *unused2)
{
    struct k_poll_event own;

    k_poll_event_init(&own, K_POLL_TYPE_SIGNAL, K_POLL_MODE_NOTIFY_ONLY, &signal);
    return k_poll(&own, 1, K_FOREVER);
}

_wait_q_t *pollers_queue(void)
{
    static _wait_q_t *queue;

    if (queue == NULL) {
        helpers_start(1, PRIORITY_ABOVE, 0);
        helpers_wait(1, pollers_poll, NULL, NULL);
        queue = helper_thread(0)->base.pended_on;
        pollers_end(1);
        helpers_woken(1, 0);
        helpers_stop();
    }
    CHECK(queue != NULL);
    return queue;
}

/* Each time the first one does. */
void pollers_end(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        k_poll_signal_raise(&signal, 1);
    k_poll_signal_reset(&signal);
}
