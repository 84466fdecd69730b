/* Stream and message buffers. Only one task may wait on each side of one. */
#include "random.h"

#include "message_buffer.h"
#include "stream_buffer.h"

#define STREAMS 2u
#define BUFFERS 4u /* the others are for messages */
#define BYTES_MAX 95u

static StaticStreamBuffer_t controls[BUFFERS] KERNEL_OBJECT;
static uint8_t storages[BUFFERS][BYTES_MAX + 9] KERNEL_OBJECT __attribute__((aligned(8)));
static StreamBufferHandle_t buffers[BUFFERS];
static StreamBufferHandle_t created;
static unsigned inside[BUFFERS]; /* calls that have not returned, as in random_queues.c */
static StaticStreamBuffer_t spare_control KERNEL_OBJECT;
static uint8_t spare_storage[32] KERNEL_OBJECT;

static void make(unsigned which)
{
    const size_t bytes = 70 + chance(BYTES_MAX - 69);
    uint8_t *storage = storages[which] + (chance(2) ? 0 : chance(4));

    buffers[which] = which < STREAMS
                         ? xStreamBufferCreateStatic(bytes, 1 + chance(4), storage, &controls[which])
                         : xMessageBufferCreateStatic(bytes, storage, &controls[which]);
}

void prepare_streams(void)
{
    for (unsigned i = 0; i < BUFFERS; i++)
        make(i);
}

static const StaticStreamBuffer_t *control(StreamBufferHandle_t buffer)
{
    return (const StaticStreamBuffer_t *)buffer;
}

static TaskHandle_t receiver_of(StreamBufferHandle_t buffer)
{
    return control(buffer)->pvDummy2[0];
}

static TaskHandle_t sender_of(StreamBufferHandle_t buffer)
{
    return control(buffer)->pvDummy2[1];
}

/* Bytes in it, room, how many before the wrap on each side, who waits. */
static void say_stream(StreamBufferHandle_t buffer, TaskHandle_t other, const void *data, int sends)
{
    const StaticStreamBuffer_t *c = control(buffer);
    const size_t at = sends ? c->uxDummy1[1] : c->uxDummy1[0];

    say("bytes", (unsigned)xStreamBufferBytesAvailable(buffer));
    say("room", (unsigned)xStreamBufferSpacesAvailable(buffer));
    say("before_wrap", (unsigned)(c->uxDummy1[2] - at));
    say("unaligned", (unsigned)(((uintptr_t)c->pvDummy2[2] + at) | (uintptr_t)data) & 3u);
    say("trigger", (unsigned)c->uxDummy1[3]);
    say("waiting", other != NULL);
    if (other != NULL) {
        say("first", (unsigned)priority_of(other));
        say("notified", ((const StaticTask_t *)other)->ucDummy19[0]);
    }
    say("pending",
        ((const StaticTask_t *)xTaskGetCurrentTaskHandle())->ucDummy19[0] == 2); /* received */
    say("me", (unsigned)priority_of(NULL));
    say("locked", (unsigned)uxSchedulerSuspended);
}

static size_t some_bytes(void)
{
    return 1 + chance(chance(2) ? 8 : ITEM_MAX);
}

/* Not for ever: xTaskAbortDelay does not end such a wait, and the run could not end. */
static TickType_t some_finite_limit(void)
{
    const TickType_t limit = some_limit();

    return limit == portMAX_DELAY ? 20 : limit;
}

static void send_to(unsigned which, const char *name)
{
    const StreamBufferHandle_t buffer = buffers[which];
    const uint8_t *data = some_buffer();
    const size_t bytes = some_bytes();
    const TickType_t limit = sender_of(buffer) != NULL ? 0 : some_finite_limit();
    const unsigned number = say_call(name);
    size_t done;

    say("S", (unsigned)bytes);
    say_stream(buffer, receiver_of(buffer), data, 1);
    say_limit(limit, NULL);
    inside[which]++;
    MEASURED(number, done = xStreamBufferSend(buffer, data, bytes, limit));
    inside[which]--;
    say_result(number, (unsigned)done);
}

static void receive_from(unsigned which, const char *name)
{
    const StreamBufferHandle_t buffer = buffers[which];
    uint8_t *data = some_buffer();
    const size_t bytes = which < STREAMS ? some_bytes() : ITEM_MAX;
    const TickType_t limit = receiver_of(buffer) != NULL ? 0 : some_finite_limit();
    const unsigned number = say_call(name);
    size_t done;

    say("S", (unsigned)bytes);
    say_stream(buffer, sender_of(buffer), data, 0);
    say_limit(limit, NULL);
    inside[which]++;
    MEASURED(number, done = xStreamBufferReceive(buffer, data, bytes, limit));
    inside[which]--;
    say_result(number, (unsigned)done);
}

static void send(void)
{
    send_to(chance(STREAMS), "xStreamBufferSend");
}

static void receive(void)
{
    receive_from(chance(STREAMS), "xStreamBufferReceive");
}

static void send_message(void)
{
    send_to(STREAMS + chance(BUFFERS - STREAMS), "xMessageBufferSend");
}

static void receive_message(void)
{
    receive_from(STREAMS + chance(BUFFERS - STREAMS), "xMessageBufferReceive");
}

static void look(void)
{
    const StreamBufferHandle_t buffer = buffers[chance(BUFFERS)];
    unsigned number = say_call("xStreamBufferBytesAvailable");

    MEASURED(number, (void)xStreamBufferBytesAvailable(buffer));
    number = say_call("xStreamBufferSpacesAvailable");
    MEASURED(number, (void)xStreamBufferSpacesAvailable(buffer));
    number = say_call("xStreamBufferIsEmpty");
    MEASURED(number, (void)xStreamBufferIsEmpty(buffer));
    number = say_call("xStreamBufferIsFull");
    MEASURED(number, (void)xStreamBufferIsFull(buffer));
    number = say_call("xStreamBufferSetTriggerLevel");
    MEASURED(number, (void)xStreamBufferSetTriggerLevel(buffers[0], chance(8)));
}

static void reset(void)
{
    const unsigned which = chance(BUFFERS);
    const StreamBufferHandle_t buffer = buffers[which];
    unsigned number;

    number = say_call("xStreamBufferReset");
    MEASURED(number, (void)xStreamBufferReset(buffer));
    if (receiver_of(buffer) == NULL && sender_of(buffer) == NULL && inside[which] == 0)
        make(which);
    number = say_call("xStreamBufferCreateStatic");
    MEASURED(number, (void)xStreamBufferCreateStatic(20, 1, spare_storage, &spare_control));
}

static void create(void)
{
    const size_t bytes = 5 + chance(60);
    unsigned number;

    if (created != NULL) {
        number = say_call("vStreamBufferDelete");
        say("below", free_blocks_below(created));
        MEASURED(number, vStreamBufferDelete(created));
        created = NULL;
        return;
    }
    const unsigned is_stream = chance(2);

    number = say_call(is_stream ? "xStreamBufferCreate" : "xMessageBufferCreate");
    say("N", free_blocks());
    if (is_stream) {
        MEASURED(number, created = xStreamBufferCreate(bytes, chance(5)));
    } else {
        MEASURED(number, created = xMessageBufferCreate(bytes));
    }
    say_result(number, created != NULL);
}

const struct choice stream_choices[] = {
    {send, 5}, {receive, 5}, {send_message, 4}, {receive_message, 4},
    {look, 1}, {reset, 1},   {create, 1},       {NULL, 0},
};

BaseType_t isr_stream_send(void)
{
    const unsigned which = chance(BUFFERS);
    const StreamBufferHandle_t buffer = buffers[which];
    const uint8_t *data = some_buffer();
    const size_t bytes = some_bytes();
    const unsigned number =
        say_call(which < STREAMS ? "xStreamBufferSendFromISR" : "xMessageBufferSendFromISR");
    BaseType_t woken = pdFALSE;
    size_t done;

    say("S", (unsigned)bytes);
    say_stream(buffer, receiver_of(buffer), data, 1);
    MEASURED(number, done = xStreamBufferSendFromISR(buffer, data, bytes, &woken));
    say_result(number, (unsigned)done);
    return woken;
}

BaseType_t isr_stream_receive(void)
{
    const unsigned which = chance(BUFFERS);
    const StreamBufferHandle_t buffer = buffers[which];
    uint8_t *data = some_buffer();
    const size_t bytes = which < STREAMS ? some_bytes() : ITEM_MAX;
    const unsigned number =
        say_call(which < STREAMS ? "xStreamBufferReceiveFromISR" : "xMessageBufferReceiveFromISR");
    BaseType_t woken = pdFALSE;
    size_t done;

    say("S", (unsigned)bytes);
    say_stream(buffer, sender_of(buffer), data, 0);
    MEASURED(number, done = xStreamBufferReceiveFromISR(buffer, data, bytes, &woken));
    say_result(number, (unsigned)done);
    return woken;
}
