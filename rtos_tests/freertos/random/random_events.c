/* Event groups. */
#include "random.h"

#include "event_groups.h"

#define GROUPS 2u
#define BITS 0x1fu

static StaticEventGroup_t controls[GROUPS] KERNEL_OBJECT;
static StaticEventGroup_t spare_control KERNEL_OBJECT;
static EventGroupHandle_t groups[GROUPS];
static EventGroupHandle_t created;

void prepare_events(void)
{
    for (unsigned i = 0; i < GROUPS; i++)
        groups[i] = xEventGroupCreateStatic(&controls[i]);
}

/* What a waiting task wants stands in its event list item (event_groups.c). */
#define CLEARS 0x01000000u
#define WANTS_ALL 0x04000000u

static const List_t *waiting_for(EventGroupHandle_t group)
{
    return (const List_t *)&((StaticEventGroup_t *)group)->xDummy2;
}

/* Tasks that wait, those that get what they want when the bits are `bits`, and the most urgent of
 * these. */
static unsigned say_group(EventGroupHandle_t group, EventBits_t bits)
{
    const List_t *list = waiting_for(group);
    unsigned matching = 0;
    UBaseType_t most = 0;

    for (const ListItem_t *item = listGET_HEAD_ENTRY(list); item != listGET_END_MARKER(list);
         item = listGET_NEXT(item)) {
        const EventBits_t value = listGET_LIST_ITEM_VALUE(item);
        const EventBits_t wanted = value & 0x00ffffffu;

        if (value & WANTS_ALL ? (bits & wanted) == wanted : (bits & wanted) != 0) {
            matching++;
            if (priority_of(listGET_LIST_ITEM_OWNER(item)) > most)
                most = priority_of(listGET_LIST_ITEM_OWNER(item));
        }
    }
    say("waiting", (unsigned)list->uxNumberOfItems);
    say("M", matching);
    say("U", (unsigned)list->uxNumberOfItems - matching);
    say("most", (unsigned)most);
    say("me", (unsigned)priority_of(NULL));
    return matching;
}

static EventBits_t bits_of(EventGroupHandle_t group)
{
    return ((StaticEventGroup_t *)group)->xDummy1;
}

static EventBits_t some_bits(void)
{
    EventBits_t bits = 1u << chance(5);

    while (chance(2))
        bits |= 1u << chance(5);
    return bits;
}

static EventGroupHandle_t some_group(void)
{
    return groups[chance(GROUPS)];
}

static void set(void)
{
    const EventGroupHandle_t group = some_group();
    const EventBits_t bits = some_bits();
    const unsigned number = say_call("xEventGroupSetBits");

    (void)say_group(group, bits_of(group) | bits);
    MEASURED(number, (void)xEventGroupSetBits(group, bits));
}

static void clear(void)
{
    const EventGroupHandle_t group = some_group();
    const unsigned number = say_call("xEventGroupClearBits");

    MEASURED(number, (void)xEventGroupClearBits(group, chance(2) ? BITS : some_bits()));
}

static void wait(void)
{
    const EventGroupHandle_t group = some_group();
    const EventBits_t bits = some_bits();
    const BaseType_t clears = chance(2) ? pdTRUE : pdFALSE;
    const BaseType_t all = chance(2) ? pdTRUE : pdFALSE;
    const TickType_t limit = some_limit();
    const EventBits_t set_already = bits_of(group) & bits;
    const unsigned number = say_call("xEventGroupWaitBits");
    EventBits_t result;

    say("set_already", all ? set_already == bits : set_already != 0);
    say("all", (unsigned)all);
    say("clears", (unsigned)clears);
    say_limit(limit, NULL);
    MEASURED(number, result = xEventGroupWaitBits(group, bits, clears, all, limit));
    say_result(number, all ? (result & bits) == bits : (result & bits) != 0);
}

static void sync(void)
{
    const EventGroupHandle_t group = some_group();
    const EventBits_t mine = some_bits();
    const EventBits_t wanted = some_bits() | mine;
    const TickType_t limit = some_limit();
    const unsigned number = say_call("xEventGroupSync");
    EventBits_t result;

    say("set_already", ((bits_of(group) | mine) & wanted) == wanted);
    (void)say_group(group, bits_of(group) | mine);
    say_limit(limit, NULL);
    MEASURED(number, result = xEventGroupSync(group, mine, wanted, limit));
    say_result(number, (result & wanted) == wanted);
}

static BaseType_t get_from_isr(void)
{
    const EventGroupHandle_t group = some_group();
    const unsigned number = say_call("xEventGroupGetBitsFromISR");

    MEASURED(number, (void)xEventGroupGetBitsFromISR(group));
    return pdFALSE;
}

static void get(void)
{
    switch_in_interrupt(get_from_isr);
}

static void create(void)
{
    unsigned number;

    if (created != NULL) {
        number = say_call("vEventGroupDelete");
        say("below", free_blocks_below(created));
        (void)say_group(created, 0);
        MEASURED(number, vEventGroupDelete(created));
        created = NULL;
    } else if (chance(4)) {
        number = say_call("xEventGroupCreate");
        say("N", free_blocks());
        MEASURED(number, created = xEventGroupCreate());
        say_result(number, created != NULL);
    } else {
        number = say_call("xEventGroupCreateStatic");
        MEASURED(number, (void)xEventGroupCreateStatic(&spare_control));
    }
}

/* On the group that may be deleted meanwhile: nobody else knows it. */
const struct choice event_choices[] = {
    {set, 6}, {wait, 5}, {sync, 2}, {clear, 4}, {get, 1}, {create, 2}, {NULL, 0},
};
