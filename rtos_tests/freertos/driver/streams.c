/* Stream and message buffers over the number of bytes, and their creation over the length of the
 * heap's free list. */
#include "driver.h"

#if configUSE_STREAM_BUFFERS == 1

#include <string.h>

#include "board.h"
#include "heap.h"
#include "helpers.h"

#include "message_buffer.h"
#include "stream_buffer.h"

/* Bytes of the buffer. One is never used; odd, so that the position before the end, where everything
 * that is measured begins, is not aligned to words. */
#define BUFFER_BYTES 95u

/* Space for a message's length, which comes before it. */
#define LENGTH_BYTES sizeof(configMESSAGE_BUFFER_LENGTH_TYPE)

static StaticStreamBuffer_t control KERNEL_OBJECT;
static uint8_t storage[BUFFER_BYTES + 1] KERNEL_OBJECT __attribute__((aligned(8)));
static uint8_t sent[BUFFER_BYTES + 8] CALLER_DATA __attribute__((aligned(8)));
static uint8_t received[BUFFER_BYTES + 8] CALLER_DATA __attribute__((aligned(8)));
static StreamBufferHandle_t buffer;
static unsigned length; /* of what is sent and received */

/* Where buffers have functions of the application, which are called instead of what tells a task that waits, all of
 * these have, and the services are others. */
#if configUSE_SB_COMPLETED_CALLBACK == 1
CALLER_TEXT static void tells_nobody(StreamBufferHandle_t of, BaseType_t is_interrupt, BaseType_t *woken)
{
    (void)of;
    (void)is_interrupt;
    (void)woken;
}

#define CREATE(kind, ...) x##kind##BufferCreateWithCallback(__VA_ARGS__, tells_nobody, tells_nobody)
#define CREATE_STATIC(kind, ...)                                                                   \
    x##kind##BufferCreateStaticWithCallback(__VA_ARGS__, tells_nobody, tells_nobody)
#define CREATES(service) service##WITHCALLBACK
#define OF(service) service##_CALLBACK
#else
#define CREATE(kind, ...) x##kind##BufferCreate(__VA_ARGS__)
#define CREATE_STATIC(kind, ...) x##kind##BufferCreateStatic(__VA_ARGS__)
#define CREATES(service) service
#define OF(service) service
#endif

/* What is sent begins at an odd address; so does what is received, and after the one byte before the
 * wrap both go on where the storage is aligned and they are not. */
#define SENT (sent + 2)
#define RECEIVED (received + 2)

static void set_items(unsigned bytes)
{
    length = bytes;
    sent[0] = 1;
    for (unsigned i = 1; i <= bytes + 1; i++)
        sent[i] = (uint8_t)(sent[i - 1] + 1);
    received[bytes + 2] = 0;
}

/* An empty buffer that wraps around behind the next byte but `before`. A batching buffer differs from a
 * stream only in what is looked at before a receive, which takes longer. The positions of reading and
 * writing are put there by hand: bringing them there takes long. */
static void buffer_of(unsigned bytes, int is_message, unsigned before)
{
    set_items(bytes);
    buffer = is_message ? CREATE_STATIC(Message, BUFFER_BYTES, storage, &control)
                        : CREATE_STATIC(StreamBatching, BUFFER_BYTES, 1, storage, &control);
    CHECK(buffer != NULL);
    control.uxDummy1[0] = BUFFER_BYTES - 1 - before;
    control.uxDummy1[1] = BUFFER_BYTES - 1 - before;
    CHECK(xStreamBufferIsEmpty(buffer));
    CHECK(xStreamBufferSpacesAvailable(buffer) == BUFFER_BYTES - 1);
}

/* There is room for all that is sent; or the buffer is empty and cannot hold more than that many bytes, and the
 * caller would wait, or would not. */
#define SEND_STATES 3u

static size_t stream_to_send_to(unsigned bytes, unsigned state)
{
    buffer_of(bytes, 0, 0);
    if (state > 0) {
        buffer = CREATE_STATIC(StreamBatching, bytes + 1, 1, storage, &control);
        control.uxDummy1[0] = control.uxDummy1[1] = bytes;
        CHECK(xStreamBufferSpacesAvailable(buffer) == bytes);
    }
    return bytes + (state > 0);
}

static TickType_t limit_of(unsigned state)
{
    return state < 2 ? portMAX_DELAY : 0;
}

/* Room, then data; nobody waits. The caller would wait, for which more is looked at. */
static void measure_stream(unsigned bytes)
{
    size_t wanted, done;

    for (unsigned state = 0; state < SEND_STATES && few_bytes(bytes, state); state++) {
        wanted = stream_to_send_to(bytes, state);
        wcet_param(0, bytes);
        wcet_param(1, state);
        MEASURE(OF(SERVICE_XSTREAMBUFFERSEND),
                done = xStreamBufferSend(buffer, SENT, wanted, limit_of(state)));
        CHECK(done == bytes && xStreamBufferBytesAvailable(buffer) == bytes);
    }
    for (unsigned stays = 0; stays < 2 && few_bytes(bytes, stays); stays++) {
        buffer_of(bytes, 0, 0);
        CHECK(xStreamBufferSend(buffer, SENT, bytes + stays, 0) == bytes + stays);
        wcet_param(0, bytes);
        wcet_param(1, stays);
        MEASURE(OF(SERVICE_XSTREAMBUFFERRECEIVE),
                done = xStreamBufferReceive(buffer, RECEIVED, bytes, portMAX_DELAY));
        CHECK(done == bytes && xStreamBufferBytesAvailable(buffer) == stays);
        CHECK(memcmp(SENT, RECEIVED, bytes) == 0 && RECEIVED[bytes] == 0);
    }
}

static void stream_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    size_t done;

    wcet_param(0, length);
    wcet_param(1, 0);
    MEASURE(OF(SERVICE_XSTREAMBUFFERSENDFROMISR),
            done = xStreamBufferSendFromISR(buffer, SENT, length, &woken));
    CHECK(done == length && woken == pdFALSE);
    wcet_param(0, length);
    wcet_param(1, 0);
    MEASURE(OF(SERVICE_XSTREAMBUFFERRECEIVEFROMISR),
            done = xStreamBufferReceiveFromISR(buffer, RECEIVED, length, &woken));
    CHECK(done == length && woken == pdFALSE && memcmp(SENT, RECEIVED, length) == 0);
    if (!few_bytes(length, 1))
        return;
    control.uxDummy1[0] = control.uxDummy1[1] = BUFFER_BYTES - 1;
    CHECK(xStreamBufferSendFromISR(buffer, SENT, length + 1, &woken) == length + 1);
    wcet_param(0, length);
    wcet_param(1, 1);
    MEASURE(OF(SERVICE_XSTREAMBUFFERRECEIVEFROMISR),
            done = xStreamBufferReceiveFromISR(buffer, RECEIVED, length, &woken));
    CHECK(done == length && woken == pdFALSE && memcmp(SENT, RECEIVED, length) == 0);
    /* There is room for that many bytes of more. The first of the two is where reading goes on. */
    control.uxDummy1[0] = length;
    control.uxDummy1[1] = BUFFER_BYTES - 1;
    wcet_param(0, length);
    wcet_param(1, 1);
    MEASURE(OF(SERVICE_XSTREAMBUFFERSENDFROMISR),
            done = xStreamBufferSendFromISR(buffer, SENT, length + 1, &woken));
    CHECK(done == length && woken == pdFALSE && xStreamBufferIsFull(buffer));
}

static void measure_stream_from_isr(unsigned bytes)
{
    buffer_of(bytes, 0, 0);
    in_interrupt(stream_from_isr);
}

/* The message's length stands before the wrap, with the message's first byte. */
static void measure_message(unsigned bytes)
{
    size_t done;

    buffer_of(bytes, 1, LENGTH_BYTES);
    wcet_param(0, bytes);
    MEASURE(OF(SERVICE_XMESSAGEBUFFERSEND),
            done = xMessageBufferSend(buffer, SENT, bytes, portMAX_DELAY));
    CHECK(done == bytes);
    for (unsigned stays = 0; stays < 2 && few_bytes(bytes, stays); stays++) {
        buffer_of(bytes, 1, LENGTH_BYTES);
        CHECK(xMessageBufferSend(buffer, SENT, bytes, 0) == bytes);
        if (stays)
            CHECK(xMessageBufferSend(buffer, SENT, 1, 0) == 1);
        wcet_param(0, bytes);
        wcet_param(1, stays);
        MEASURE(OF(SERVICE_XMESSAGEBUFFERRECEIVE),
                done = xMessageBufferReceive(buffer, RECEIVED, sizeof received - 2, portMAX_DELAY));
        CHECK(done == bytes && xMessageBufferIsEmpty(buffer) == !stays);
        CHECK(memcmp(SENT, RECEIVED, bytes) == 0 && RECEIVED[bytes] == 0);
    }
}

static void message_from_isr(void)
{
    BaseType_t woken = pdFALSE;
    size_t done;

    wcet_param(0, length);
    MEASURE(OF(SERVICE_XMESSAGEBUFFERSENDFROMISR),
            done = xMessageBufferSendFromISR(buffer, SENT, length, &woken));
    CHECK(done == length && woken == pdFALSE);
    for (unsigned stays = 0; stays < 2 && few_bytes(length, stays); stays++) {
        if (stays) {
            control.uxDummy1[0] = control.uxDummy1[1] = BUFFER_BYTES - 1 - LENGTH_BYTES;
            CHECK(xMessageBufferSendFromISR(buffer, SENT, length, &woken) == length);
            CHECK(xMessageBufferSendFromISR(buffer, SENT, 1, &woken) == 1);
        }
        wcet_param(0, length);
        wcet_param(1, stays);
        MEASURE(OF(SERVICE_XMESSAGEBUFFERRECEIVEFROMISR),
                done = xMessageBufferReceiveFromISR(buffer, RECEIVED, sizeof received - 2, &woken));
        CHECK(done == length && woken == pdFALSE && memcmp(SENT, RECEIVED, length) == 0);
    }
}

static void measure_message_from_isr(unsigned bytes)
{
    buffer_of(bytes, 1, LENGTH_BYTES);
    in_interrupt(message_from_isr);
}

/* As a stream, then as a batching buffer, each with a trigger level of 0, which is made 1, and of 1. */
static void measure_create_static(void)
{
    for (unsigned kind = 0; kind < 4; kind++) {
        wcet_param(0, kind);
        if (kind < 2)
            MEASURE(CREATES(SERVICE_XSTREAMBUFFERCREATESTATIC),
                    buffer = CREATE_STATIC(Stream, BUFFER_BYTES, kind, storage, &control));
        else
            MEASURE(CREATES(SERVICE_XSTREAMBUFFERCREATESTATIC),
                    buffer = CREATE_STATIC(StreamBatching, BUFFER_BYTES, kind - 2, storage, &control));
        CHECK(buffer != NULL && control.uxDummy1[3] == 1);
    }
    MEASURE(CREATES(SERVICE_XMESSAGEBUFFERCREATESTATIC),
            buffer = CREATE_STATIC(Message, BUFFER_BYTES, storage, &control));
    CHECK(buffer != NULL);
}

/* With the kernel's byte and its control block, a whole number of the heap's units. */
#define ROUND_BYTES                                                                                \
    (((BUFFER_BYTES + 1 + sizeof(StaticStreamBuffer_t) + portBYTE_ALIGNMENT_MASK) &                \
      ~(size_t)portBYTE_ALIGNMENT_MASK) -                                                          \
     1 - sizeof(StaticStreamBuffer_t))

/* Worst: as for pvPortMalloc, and of a size that need not be rounded; a trigger level of 0 is made 1, or need
 * not be. */
static void measure_create(unsigned n)
{
    static const size_t bytes[] = {ROUND_BYTES + 1, ROUND_BYTES};
    struct holes holes;

    holes_take(&holes, n - 1, 1);
    holes_open(&holes);
    for (unsigned both = 0; both < 4 * HEAP_MINIMA; both++) {
        const unsigned state = both / HEAP_MINIMA, kept = both % HEAP_MINIMA;

        heap_minimum(kept);
        CHECK(heap_free_blocks() == n);
        wcet_param(0, n);
        wcet_param(1, state);
        wcet_param(2, kept);
        MEASURE(CREATES(SERVICE_XSTREAMBUFFERCREATE),
                buffer = CREATE(Stream, bytes[state & 1], state >> 1));
        CHECK(buffer != NULL && heap_free_blocks() == n);
        CHECK(n == 1 || (char *)buffer > (char *)holes.guard[n - 2]);
        vStreamBufferDelete(buffer);
        if (state >= 2)
            continue;
        heap_minimum(kept);
        wcet_param(0, n);
        wcet_param(1, state);
        wcet_param(2, kept);
        MEASURE(CREATES(SERVICE_XMESSAGEBUFFERCREATE), buffer = CREATE(Message, bytes[state]));
        CHECK(buffer != NULL && heap_free_blocks() == n);
        CHECK(n == 1 || (char *)buffer > (char *)holes.guard[n - 2]);
        vMessageBufferDelete(buffer);
    }
    holes_close(&holes);
    CHECK(heap_free_blocks() == 1);
}

#if DRIVER_WHOLE
/* What was sent wraps around in the first state, and does not in the second, where the trigger level is
 * 0, which is made 1. */
static void measure_small(void)
{
    size_t bytes;
    BaseType_t result;

    for (unsigned state = 0; state < 2; state++) {
        buffer_of(8, 0, state == 0 ? 0 : BUFFER_BYTES - 1);
        CHECK(xStreamBufferSend(buffer, SENT, 8, 0) == 8);
        wcet_param(0, state);
        MEASURE(SERVICE_XSTREAMBUFFERBYTESAVAILABLE, bytes = xStreamBufferBytesAvailable(buffer));
        CHECK(bytes == 8);
        wcet_param(0, state);
        MEASURE(SERVICE_XSTREAMBUFFERSPACESAVAILABLE, bytes = xStreamBufferSpacesAvailable(buffer));
        CHECK(bytes == BUFFER_BYTES - 1 - 8);
        wcet_param(0, state);
        MEASURE(SERVICE_XSTREAMBUFFERISFULL, result = xStreamBufferIsFull(buffer));
        CHECK(result == pdFALSE);
        wcet_param(0, state);
        MEASURE(SERVICE_XSTREAMBUFFERSETTRIGGERLEVEL,
                result = xStreamBufferSetTriggerLevel(buffer, state == 0 ? 9 : 0));
        CHECK(result == pdTRUE);
    }
    MEASURE(SERVICE_XSTREAMBUFFERISEMPTY, result = xStreamBufferIsEmpty(buffer));
    CHECK(result == pdFALSE);
    MEASURE(SERVICE_XSTREAMBUFFERRESET, result = xStreamBufferReset(buffer));
    CHECK(result == pdTRUE && xStreamBufferIsEmpty(buffer));
    MEASURE(SERVICE_VSTREAMBUFFERDELETE_STATIC, vStreamBufferDelete(buffer));
    CHECK(control.uxDummy1[2] == 0);
}

/* Worst: as for vPortFree. */
static void measure_delete(unsigned n)
{
    struct holes holes;

    holes_take(&holes, n, 0);
    buffer = CREATE(Stream, BUFFER_BYTES, 1);
    holes_open(&holes);
    CHECK(heap_free_blocks() == n + 1);
    wcet_param(0, n);
    MEASURE(SERVICE_VSTREAMBUFFERDELETE, vStreamBufferDelete(buffer));
    CHECK(heap_free_blocks() == n);
    holes_close(&holes);
    CHECK(heap_free_blocks() == 1);
}

static uint8_t helpers_item[BUFFER_BYTES + 8] CALLER_DATA __attribute__((aligned(8)));
static unsigned urgency; /* of the task that waits (helpers.h) */
static unsigned found; /* by the interrupt: which of two states */

/* A task waits on the other side, by `order`; it is more urgent than the caller, or no more urgent. */
static void waits(helper_function *order, int urgent)
{
    helper_call(0, order, NULL);
    if (!urgent)
        vTaskPrioritySet(helper_handle(0), PRIORITY_CREATED);
}

static void check_woken(int urgent)
{
    CHECK(helper_busy(0) == !urgent);
    CHECK(urgent || eTaskGetState(helper_handle(0)) == eReady);
    vTaskPrioritySet(helper_handle(0), helper_priority(0));
    CHECK(!helper_busy(0) && helper_result(0) == pdTRUE);
}

static BaseType_t receive(void *unused)
{
    (void)unused;
    return xStreamBufferReceive(buffer, helpers_item + 2, length, portMAX_DELAY) == length;
}

static BaseType_t send(void *unused)
{
    (void)unused;
    return xStreamBufferSend(buffer, SENT, length, portMAX_DELAY) == length;
}

static void measure_stream_waiter(unsigned bytes, int urgent)
{
    size_t wanted, done;

    for (unsigned state = 0; state < SEND_STATES && few_bytes(bytes, state); state++) {
        wanted = stream_to_send_to(bytes, state);
        waits(receive, urgent);
        wcet_param(0, bytes);
        wcet_param(1, state);
        if (urgent)
            MEASURE(SERVICE_XSTREAMBUFFERSEND_WAITER,
                    done = xStreamBufferSend(buffer, SENT, wanted, limit_of(state)));
        else
            MEASURE(SERVICE_XSTREAMBUFFERSEND_WAITER_LESS_URGENT,
                    done = xStreamBufferSend(buffer, SENT, wanted, limit_of(state)));
        check_woken(urgent);
        CHECK(done == bytes && memcmp(SENT, helpers_item + 2, bytes) == 0);
    }

    /* The buffer is full from the byte before its end on. */
    buffer_of(bytes, 0, 0);
    CHECK(xStreamBufferSend(buffer, sent, BUFFER_BYTES - 1, 0) == BUFFER_BYTES - 1);
    CHECK(xStreamBufferIsFull(buffer));
    waits(send, urgent);
    wcet_param(0, bytes);
    if (urgent)
        MEASURE(SERVICE_XSTREAMBUFFERRECEIVE_WAITER,
                done = xStreamBufferReceive(buffer, RECEIVED, bytes, portMAX_DELAY));
    else
        MEASURE(SERVICE_XSTREAMBUFFERRECEIVE_WAITER_LESS_URGENT,
                done = xStreamBufferReceive(buffer, RECEIVED, bytes, portMAX_DELAY));
    check_woken(urgent);
    CHECK(done == bytes && memcmp(sent, RECEIVED, bytes) == 0);
}

static void stream_from_isr_to_waiter(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    size_t done;

    wcet_param(0, length);
    wcet_param(1, found);
    wcet_param(2, urgency);
    MEASURE(SERVICE_XSTREAMBUFFERSENDFROMISR_WAITER,
            done = xStreamBufferSendFromISR(buffer, SENT, length + found, told));
    CHECK(done == length && woken == (urgency == TOLD));
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

static void stream_from_isr_with_waiter(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    size_t done;

    wcet_param(0, length);
    wcet_param(1, urgency);
    MEASURE(SERVICE_XSTREAMBUFFERRECEIVEFROMISR_WAITER,
            done = xStreamBufferReceiveFromISR(buffer, RECEIVED, length, told));
    CHECK(done == length && woken == (urgency == TOLD));
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

/* There is room for that many bytes alone, while a task waits to receive. */
static void leave_room(unsigned bytes)
{
    control.uxDummy1[0] = bytes;
    control.uxDummy1[1] = BUFFER_BYTES - 1;
    CHECK(xStreamBufferSpacesAvailable(buffer) == bytes);
}

static void measure_stream_from_isr_waiter(unsigned bytes)
{
    for (urgency = 0; urgency < ISR_STATES && few_bytes(bytes, urgency); urgency++) {
        for (found = 0; found < 2 && few_bytes(bytes, found); found++) {
            buffer_of(bytes, 0, 0);
            waits(receive, urgency != STAYS);
            if (found > 0)
                leave_room(bytes);
            in_interrupt(stream_from_isr_to_waiter);
            check_woken(urgency != STAYS);
            CHECK(found > 0 || memcmp(SENT, helpers_item + 2, bytes) == 0);
            CHECK(found == 0 || memcmp(storage, SENT + 1, bytes - 1) == 0);
        }

        buffer_of(bytes, 0, 0);
        CHECK(xStreamBufferSend(buffer, sent, BUFFER_BYTES - 1, 0) == BUFFER_BYTES - 1);
        waits(send, urgency != STAYS);
        in_interrupt(stream_from_isr_with_waiter);
        check_woken(urgency != STAYS);
        CHECK(memcmp(sent, RECEIVED, bytes) == 0);
    }
}

static BaseType_t receive_message(void *unused)
{
    (void)unused;
    return xMessageBufferReceive(buffer, helpers_item + 2, length, portMAX_DELAY) == length;
}

static BaseType_t send_message(void *unused)
{
    (void)unused;
    return xMessageBufferSend(buffer, SENT, length, portMAX_DELAY) == length;
}

static BaseType_t send_large_message(void *unused)
{
    const size_t bytes = BUFFER_BYTES - 1 - LENGTH_BYTES;

    (void)unused;
    return xMessageBufferSend(buffer, helpers_item, bytes, portMAX_DELAY) == bytes;
}

/* The message that is measured, and one that takes the rest of the room. */
static void full_of_messages(unsigned bytes)
{
    const size_t rest = BUFFER_BYTES - 1 - 2 * LENGTH_BYTES - bytes;

    buffer_of(bytes, 1, LENGTH_BYTES);
    CHECK(xMessageBufferSend(buffer, SENT, bytes, 0) == bytes);
    CHECK(xMessageBufferSend(buffer, helpers_item, rest, 0) == rest);
    CHECK(xMessageBufferSpacesAvailable(buffer) == 0);
}

/* A task waits for room, behind two messages; or behind one, for it needs the whole buffer. */
static void waits_for_room(unsigned bytes, unsigned alone, int urgent)
{
    if (alone) {
        buffer_of(bytes, 1, LENGTH_BYTES);
        CHECK(xMessageBufferSend(buffer, SENT, bytes, 0) == bytes);
    } else {
        full_of_messages(bytes);
    }
    waits(alone ? send_large_message : send_message, urgent);
}

static void measure_message_waiter(unsigned bytes, int urgent)
{
    size_t done;

    buffer_of(bytes, 1, LENGTH_BYTES);
    waits(receive_message, urgent);
    wcet_param(0, bytes);
    if (urgent)
        MEASURE(SERVICE_XMESSAGEBUFFERSEND_WAITER,
                done = xMessageBufferSend(buffer, SENT, bytes, portMAX_DELAY));
    else
        MEASURE(SERVICE_XMESSAGEBUFFERSEND_WAITER_LESS_URGENT,
                done = xMessageBufferSend(buffer, SENT, bytes, portMAX_DELAY));
    check_woken(urgent);
    CHECK(done == bytes && memcmp(SENT, helpers_item + 2, bytes) == 0);

    for (unsigned alone = 0; alone < 2 && few_bytes(bytes, alone); alone++) {
        waits_for_room(bytes, alone, urgent);
        wcet_param(0, bytes);
        wcet_param(1, alone);
        if (urgent)
            MEASURE(SERVICE_XMESSAGEBUFFERRECEIVE_WAITER,
                    done = xMessageBufferReceive(buffer, RECEIVED, sizeof received - 2, portMAX_DELAY));
        else
            MEASURE(SERVICE_XMESSAGEBUFFERRECEIVE_WAITER_LESS_URGENT,
                    done = xMessageBufferReceive(buffer, RECEIVED, sizeof received - 2, portMAX_DELAY));
        check_woken(urgent);
        CHECK(done == bytes && memcmp(SENT, RECEIVED, bytes) == 0);
    }
}

static void message_from_isr_to_waiter(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    size_t done;

    wcet_param(0, length);
    wcet_param(1, urgency);
    MEASURE(SERVICE_XMESSAGEBUFFERSENDFROMISR_WAITER,
            done = xMessageBufferSendFromISR(buffer, SENT, length, told));
    CHECK(done == length && woken == (urgency == TOLD));
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

static void message_from_isr_with_waiter(void)
{
    BaseType_t woken = pdFALSE, *const told = told_of(&woken, urgency);
    size_t done;

    wcet_param(0, length);
    wcet_param(1, found);
    wcet_param(2, urgency);
    MEASURE(SERVICE_XMESSAGEBUFFERRECEIVEFROMISR_WAITER,
            done = xMessageBufferReceiveFromISR(buffer, RECEIVED, sizeof received - 2, told));
    CHECK(done == length && woken == (urgency == TOLD));
    BOARD_YIELD_FROM_ISR(urgency != STAYS);
}

static void measure_message_from_isr_waiter(unsigned bytes)
{
    for (urgency = 0; urgency < ISR_STATES && few_bytes(bytes, urgency); urgency++) {
        buffer_of(bytes, 1, LENGTH_BYTES);
        waits(receive_message, urgency != STAYS);
        in_interrupt(message_from_isr_to_waiter);
        check_woken(urgency != STAYS);
        CHECK(memcmp(SENT, helpers_item + 2, bytes) == 0);

        for (found = 0; found < 2 && few_bytes(bytes, found); found++) {
            waits_for_room(bytes, found, urgency != STAYS);
            in_interrupt(message_from_isr_with_waiter);
            check_woken(urgency != STAYS);
            CHECK(memcmp(SENT, RECEIVED, bytes) == 0);
        }
    }
}
#endif

void measure_streams(void)
{
    for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++)
        measure_create(n);
    measure_create_static();
    for (unsigned bytes = STREAM_BYTES_MIN; bytes <= ITEM_BYTES_MAX; bytes++) {
        measure_stream(bytes);
        measure_message(bytes);
        measure_stream_from_isr(bytes);
        measure_message_from_isr(bytes);
    }
#if DRIVER_WHOLE
    for (unsigned n = 1; n <= HEAP_BLOCKS_MAX; n++)
        measure_delete(n);
    measure_small();
    helpers_start(1);
    for (unsigned bytes = STREAM_BYTES_MIN; bytes <= ITEM_BYTES_MAX; bytes++) {
        for (int urgent = 0; urgent <= 1; urgent++) {
            measure_stream_waiter(bytes, urgent);
            measure_message_waiter(bytes, urgent);
        }
        measure_stream_from_isr_waiter(bytes);
        measure_message_from_isr_waiter(bytes);
    }
    helpers_stop();
#endif
}

#endif
