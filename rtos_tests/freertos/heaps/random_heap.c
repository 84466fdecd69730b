/* Random takes and gives, in the place of heaps.c: `make HEAP=heap_2 DRIVER=random SEED=1 CALLS=1000`. Before each
 * call the driver reads the heap's list and marks what it finds as values of the parameters of the service that the
 * call belongs to; whoever reads the trace holds it against what is published there. */
#include "driver.h"

#ifdef DRIVER_HEAP_ALONE

#include <stdlib.h>

#include "board.h"
#include "random.h"
#include "shape.h"

#include "event_groups.h"
#include "message_buffer.h"
#include "stream_buffer.h"
#include "timers.h"

/* heap_3 has memory for one thing at a time. */
#define SLOTS (DRIVER_HEAP_ALONE == 3 ? 1u : 12u)
#define WORDS_MIN 9u
#define WORDS_MAX 20u

enum kind { NONE, PLAIN, QUEUE, GROUP, STREAM, MESSAGE, TIMER, TASK };

static struct slot {
    enum kind kind;
    void *block;
} slots[SLOTS];

static const char name[] CALLER_CONSTANT = "by chance";
static TaskHandle_t created CALLER_DATA __attribute__((used));
static uint32_t state;

/* G. Marsaglia, "Xorshift RNGs", 2003. */
unsigned chance(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (unsigned)((state >> 8) % below);
}

void driver_on_idle(void)
{
    CHECK(!"the driver sleeps");
}

#if DRIVER_HEAP_ALONE == 3

/* A stand-in that gives what it has, now and then nothing. Its instructions are counted in what is compared, and more
 * of them than in the suite: so it is as short as there. */
static uint64_t memory[1024] __attribute__((section(".noinit.heap"), aligned(16)));

CALLER_TEXT void *malloc(size_t unused)
{
    (void)unused;
    return memory;
}

CALLER_TEXT void free(void *unused)
{
    (void)unused;
}

#endif

/* ---- the heap's state --------------------------------------------------------------------------- */

#if HEAP_HAS_LIST

struct block {
    struct block *next;
    size_t bytes;
};

extern struct block xStart;

#define HEAD_BYTES                                                                                 \
    ((sizeof(struct block) + portBYTE_ALIGNMENT_MASK) & ~(size_t)portBYTE_ALIGNMENT_MASK)
#define ALLOCATED ((size_t)1 << (8 * sizeof(size_t) - 1))

/* Blocks that are passed by the search for the place of this one. */
static unsigned passed_by(const void *payload)
{
    const struct block *own = (const void *)((const char *)payload - HEAD_BYTES);
    const size_t bytes = own->bytes & ~ALLOCATED;
    unsigned passed = 0;

    for (const struct block *block = xStart.next; block->next != NULL; block = block->next)
        passed += HEAP_MERGES ? block < own : block->bytes < bytes;
    return passed;
}

static unsigned parameters;

static void begin(void)
{
    parameters = 0;
}

static void parameter(unsigned value)
{
    wcet_param(parameters++, value);
}

static int too_long(unsigned blocks)
{
    return blocks > HEAP_BLOCKS_MAX;
}

#else

static unsigned passed_by(const void *payload)
{
    (void)payload;
    return 1;
}

static void begin(void)
{
}

static void parameter(unsigned value)
{
    (void)value;
}

static int too_long(unsigned blocks)
{
    (void)blocks;
    return 0;
}

#endif

/* One block, where nothing else is free, is 1 as the suite has it. */
static unsigned blocks_free(void)
{
    const unsigned blocks = list_length();

    return blocks == 0 ? 1 : blocks;
}

/* Of services with a case, any will do: the comparison takes the dearest. */
static void a_case(void)
{
#if HEAP_HAS_LIST
    wcet_param(parameters++, 0);
#else
    wcet_param(0, 0);
#endif
}

/* Of heap_5, whether there is a new minimum is another one. */
static void a_minimum(void)
{
    if (DRIVER_HEAP_ALONE == 5)
        a_case();
}

/* ---- takes -------------------------------------------------------------------------------------- */

static void never_runs(void *unused)
{
    (void)unused;
    CHECK(!"a task of lower priority ran");
}

CALLER_TEXT static void does_nothing(TimerHandle_t unused)
{
    (void)unused;
}

static void take(struct slot *slot)
{
    const size_t bytes = chance(40) == 0 ? chance(2) ? 0 : 100000 : 1 + chance(chance(3) ? 60 : 400);
    const unsigned kind = chance(12);

    begin();
    parameter(blocks_free());
    switch (kind) {
    case 0:
    case 1:
    case 2:
        if (DRIVER_HEAP_ALONE != 3)
            a_case();
        a_minimum();
        MEASURE(SERVICE_PVPORTMALLOC, slot->block = pvPortMalloc(bytes));
        slot->kind = PLAIN;
        break;
#if HEAP_CLEARS
    case 3: {
        /* The published W is of whole words, and says what others count. */
        const unsigned cleared = 1 + chance(4 * WORDS_MAX), odd = cleared % 4;
        const unsigned words = cleared / 4 + (odd ? odd + 2 : 0);

        if (words > WORDS_MAX || list_length() > 8)
            return;
        parameter(words < WORDS_MIN ? WORDS_MIN : words);
        a_case();
        a_minimum();
        MEASURE(SERVICE_PVPORTCALLOC, slot->block = pvPortCalloc(1, cleared));
        slot->kind = PLAIN;
        break;
    }
#endif
    case 4: {
        const size_t words = configMINIMAL_STACK_SIZE + chance(64);

        if (DRIVER_HEAP_ALONE == 1) /* tasks stay, and the heap is made anew */
            return;
        if (DRIVER_HEAP_ALONE != 3)
            a_case();
        a_minimum();
        created = NULL;
        MEASURE(SERVICE_XTASKCREATE,
                (void)xTaskCreate(never_runs, name, words, NULL, PRIORITY_CREATED, &created));
        slot->block = created;
        slot->kind = TASK;
        break;
    }
    case 5:
        if (DRIVER_HEAP_ALONE != 3)
            a_case();
        a_minimum();
        /* A queue of items without a size is a semaphore. */
        MEASURE(SERVICE_XQUEUECREATE, slot->block = xQueueCreate(1 + chance(9), 1 + chance(12)));
        slot->kind = QUEUE;
        break;
    case 6:
        a_minimum();
        MEASURE(SERVICE_XSEMAPHORECREATEBINARY, slot->block = xSemaphoreCreateBinary());
        slot->kind = QUEUE;
        break;
    case 7:
        a_minimum();
        MEASURE(SERVICE_XSEMAPHORECREATEMUTEX, slot->block = xSemaphoreCreateMutex());
        slot->kind = QUEUE;
        break;
    case 8:
        a_minimum();
        MEASURE(SERVICE_XEVENTGROUPCREATE, slot->block = xEventGroupCreate());
        slot->kind = GROUP;
        break;
    case 9:
        a_case();
        a_minimum();
        MEASURE(SERVICE_XSTREAMBUFFERCREATE,
                slot->block = xStreamBufferCreate(8 + chance(100), chance(8)));
        slot->kind = STREAM;
        break;
    case 10:
        if (DRIVER_HEAP_ALONE != 3)
            a_case();
        a_minimum();
        MEASURE(SERVICE_XMESSAGEBUFFERCREATE, slot->block = xMessageBufferCreate(8 + chance(100)));
        slot->kind = MESSAGE;
        break;
    case 11:
        a_case();
        a_minimum();
        MEASURE(SERVICE_XTIMERCREATE, slot->block = xTimerCreate(name, 10, chance(2) ? pdTRUE : pdFALSE,
                                                                 NULL, does_nothing));
        slot->kind = TIMER;
        break;
    default:
        return;
    }
    if (slot->block == NULL)
        slot->kind = NONE;
}

/* ---- gives -------------------------------------------------------------------------------------- */

static void give(struct slot *slot, int measured)
{
    void *block = slot->block;
    unsigned passed = HEAP_FREES && slot->kind != NONE ? passed_by(block) : 0;

    /* The least that is published. */
    if (passed == 0 && (HEAP_MERGES || slot->kind != PLAIN))
        passed = 1;
    if (slot->kind == TASK && HEAP_HAS_LIST) {
        const unsigned stack = passed_by(((StaticTask_t *)block)->pxDummy6);

        passed = passed + 1 > stack ? passed + 1 : stack;
    }
    if (too_long(passed))
        measured = 0;
    begin();
    parameter(passed);
    switch (slot->kind) {
    case NONE:
        break;
    case PLAIN:
        if (measured)
            MEASURE(SERVICE_VPORTFREE, vPortFree(block));
        else
            vPortFree(block);
        break;
    case QUEUE:
        if (measured)
            MEASURE(SERVICE_VQUEUEDELETE, vQueueDelete(block));
        else
            vQueueDelete(block);
        break;
    case GROUP:
        if (measured && passed <= 6 && passed > 0)
            MEASURE(SERVICE_VEVENTGROUPDELETE_NONE, vEventGroupDelete(block));
        else
            vEventGroupDelete(block);
        break;
    case STREAM:
    case MESSAGE:
        if (measured)
            MEASURE(SERVICE_VSTREAMBUFFERDELETE, vStreamBufferDelete(block));
        else
            vStreamBufferDelete(block);
        break;
    case TIMER:
        CHECK(xTimerDelete(block, 0) == pdPASS);
        break;
    case TASK:
        if (measured) {
            a_case();
            MEASURE(SERVICE_VTASKDELETE_NONE_DELAYED, vTaskDelete(block));
        } else {
            vTaskDelete(block);
        }
        break;
    }
    slot->kind = NONE;
}

/* ---- the run ------------------------------------------------------------------------------------ */

static void start_anew(void)
{
    for (unsigned i = 0; HEAP_FREES && i < SLOTS; i++)
        give(&slots[i], 0);
    for (unsigned i = 0; i < SLOTS; i++)
        slots[i].kind = NONE;
#if DRIVER_HEAP_ALONE == 1
    vPortHeapResetState();
    (void)must_take(1);
#else
    heap_anew(1 + chance(4));
#endif
    /* Often little is left, so that some of it fails. */
#if DRIVER_HEAP_ALONE != 3
    if (chance(2))
        (void)must_take(xPortGetFreeHeapSize() - 1500 - chance(2000));
#endif
}

#if DRIVER_HEAP_ALONE == 5
static void look(void)
{
    static HeapStats_t stats CALLER_DATA;
    unsigned ends = 0, blocks = 0;

    for (const struct block *block = xStart.next; block->next != NULL; block = block->next)
        if (block->bytes == 0)
            ends++;
        else
            blocks++;
    if (blocks == 0 || too_long(blocks))
        return;
    wcet_param(0, blocks);
    wcet_param(1, ends);
    wcet_param(2, 0);
    MEASURE(SERVICE_VPORTGETHEAPSTATS, vPortGetHeapStats(&stats));
    CHECK(stats.xNumberOfFreeBlocks == blocks + ends);
}
#endif

void measure_heap_alone(void)
{
    state = 2463534242u + 7919u * random_seed;
    start_anew();
    while (driver_invocations < random_calls) {
        struct slot *slot = &slots[chance(SLOTS)];

        if (chance(200) == 0 || too_long(list_length()))
            start_anew();
        else if (slot->kind == NONE)
            take(slot);
        else if (HEAP_FREES)
            give(slot, 1);
        else
            slot->kind = NONE;
#if DRIVER_HEAP_ALONE == 5
        if (chance(8) == 0)
            look();
#endif
    }
}

#endif
