/* Event objects. */
#include "helpers.h"

static K_EVENT_DEFINE(event);

static int wait_all(void *object, void *argument)
{
    return (int)k_event_wait_all(object, 0x3, false, K_TICKS(1000));
}

void measure_events(void)
{
    uint32_t found;

    MEASURE(SERVICE_K_EVENT_INIT, k_event_init(&event));
    MEASURE(SERVICE_K_EVENT_POST, k_event_post(&event, 0x5));
    CHECK(k_event_test(&event, 0xff) == 0x5);
    MEASURE(SERVICE_K_EVENT_SET, k_event_set(&event, 0x6));
    CHECK(k_event_test(&event, 0xff) == 0x6);
    MEASURE(SERVICE_K_EVENT_SET_MASKED, k_event_set_masked(&event, 0x1, 0x3));
    CHECK(k_event_test(&event, 0xff) == 0x5);
    MEASURE(SERVICE_K_EVENT_WAIT, found = k_event_wait(&event, 0x7, false, K_NO_WAIT));
    CHECK(found == 0x5);
    MEASURE(SERVICE_K_EVENT_WAIT_ALL, found = k_event_wait_all(&event, 0x5, false, K_NO_WAIT));
    CHECK(found == 0x5);
    MEASURE(SERVICE_K_EVENT_CLEAR, k_event_clear(&event, 0xff));
    CHECK(k_event_test(&event, 0xff) == 0);

    /* Each wakes when the second of two events is there. The most urgent one is woken last, so that one of
     * another priority would go behind none that was woken before it. */
    MEASURE_WAKE_ALL(SERVICE_K_EVENT_POST_WAITERS, SERVICE_K_EVENT_POST_WAITERS_SWITCH, 0, wait_all,
                     &event, NULL, k_event_set(&event, 0x1), k_event_post(&event, 0x2), 0x3);
    k_event_clear(&event, 0xff);
    /* None of them does. */
    for (unsigned waiting = 1; waiting <= WAITING_MAX; waiting++) {
        helpers_start(waiting, PRIORITY_BELOW, 0);
        helpers_wait(waiting, wait_all, &event, NULL);
        wcet_param(0, waiting);
        MEASURE(SERVICE_K_EVENT_POST_NOBODY, k_event_post(&event, 0x1));
        for (unsigned i = 0; i < waiting; i++)
            CHECK(helper_busy(i));
        helpers_stop();
        k_event_clear(&event, 0xff);
    }
    FOR_CROWDS(CROWD_LEAD, ready, shape) {
        k_event_set(&event, 0x1);
        MEASURE_SWITCH(SERVICE_K_EVENT_POST_SWITCH, 0, ready, shape, wait_all, &event, NULL,
                       k_event_post(&event, 0x2), 0x3);
        k_event_clear(&event, 0xff);
    }
}
