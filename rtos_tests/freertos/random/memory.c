/* The heap, and lists of the driver's own. */
#include "random.h"

#define BLOCKS 14u

static void *blocks[BLOCKS];
static HeapStats_t stats CALLER_DATA;

static void **place_for_block(void)
{
    void **place = &blocks[chance(BLOCKS)];

    return *place == NULL ? place : NULL;
}

static void allocate(void)
{
    void **place = place_for_block();
    const size_t bytes = 1 + chance(chance(3) ? 40 : 300);
    unsigned number;

    if (place == NULL)
        return;
    number = say_call("pvPortMalloc");
    say("N", free_blocks());
    say("bytes", (unsigned)bytes);
    MEASURED(number, *place = pvPortMalloc(bytes));
    say_result(number, *place != NULL);
}

static void allocate_cleared(void)
{
    void **place = place_for_block();
    const size_t count = 1 + chance(12);
    const size_t each = chance(2) ? 4 : 1 + chance(8);
    unsigned number;

    if (place == NULL)
        return;
    number = say_call("pvPortCalloc");
    say("N", free_blocks());
    say("bytes", (unsigned)(count * each));
    MEASURED(number, *place = pvPortCalloc(count, each));
    say_result(number, *place != NULL);
}

static void give_back(void)
{
    void **place = &blocks[chance(BLOCKS)];
    unsigned number;

    if (*place == NULL)
        return;
    number = say_call("vPortFree");
    say("below", free_blocks_below(*place));
    MEASURED(number, vPortFree(*place));
    *place = NULL;
    say_result(number, 1);
}

static void statistics(void)
{
    unsigned number = say_call("vPortGetHeapStats");

    say("N", free_blocks());
    MEASURED(number, vPortGetHeapStats(&stats));
    number = say_call("xPortGetFreeHeapSize");
    MEASURED(number, (void)xPortGetFreeHeapSize());
}

const struct choice heap_choices[] = {
    {allocate, 5}, {give_back, 4}, {allocate_cleared, 2}, {statistics, 1}, {NULL, 0},
};

/* ---- lists -------------------------------------------------------------------------------- */

#define ITEMS 17u

static List_t list KERNEL_OBJECT;
static ListItem_t items[ITEMS] KERNEL_OBJECT;

static ListItem_t *some_item(int inside)
{
    const unsigned start = chance(ITEMS);

    if (!listLIST_IS_INITIALISED(&list)) {
        vListInitialise(&list);
        for (unsigned i = 0; i < ITEMS; i++)
            vListInitialiseItem(&items[i]);
    }
    for (unsigned i = 0; i < ITEMS; i++) {
        ListItem_t *item = &items[(start + i) % ITEMS];

        if ((listLIST_ITEM_CONTAINER(item) == &list) == inside)
            return item;
    }
    return NULL;
}

static void insert(void)
{
    ListItem_t *item = some_item(0);
    const int in_order = chance(3) != 0;
    unsigned number;

    if (item == NULL)
        return;
    listSET_LIST_ITEM_VALUE(item, chance(6) ? chance(20) : portMAX_DELAY);
    number = say_call(in_order ? "vListInsert" : "vListInsertEnd");
    say("L", (unsigned)list.uxNumberOfItems);
    if (in_order) {
        MEASURED(number, vListInsert(&list, item));
    } else {
        MEASURED(number, vListInsertEnd(&list, item));
    }
}

static void take_out(void)
{
    ListItem_t *item = some_item(1);
    unsigned number;

    if (item == NULL)
        return;
    if (chance(2))
        list.pxIndex = listGET_NEXT(item);
    number = say_call("uxListRemove");
    MEASURED(number, (void)uxListRemove(item));
}

const struct choice list_choices[] = {{insert, 5}, {take_out, 4}, {NULL, 0}};
