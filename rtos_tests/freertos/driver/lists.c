/* The kernel's lists, on lists of the driver's own. */
#include "driver.h"
#include "list.h"

static List_t list KERNEL_OBJECT;
static ListItem_t items[LIST_LENGTH_MAX + 1] KERNEL_OBJECT;

/* An empty list, then `length` items in the order of their values. */
static void fill(unsigned length)
{
    vListInitialise(&list);
    for (unsigned i = 0; i <= LIST_LENGTH_MAX; i++) {
        vListInitialiseItem(&items[i]);
        listSET_LIST_ITEM_VALUE(&items[i], i);
    }
    for (unsigned i = 0; i < length; i++)
        vListInsert(&list, &items[i]);
    CHECK(listCURRENT_LIST_LENGTH(&list) == length);
}

void measure_lists(void)
{
    /* Worst: the new item belongs behind all the others. An equal value is passed over too. */
    for (unsigned length = 1; length <= LIST_LENGTH_MAX; length++) {
        fill(length);
        listSET_LIST_ITEM_VALUE(&items[length], length - 1);
        wcet_param(0, length);
        MEASURE(SERVICE_VLISTINSERT, BEHIND_STORES(vListInsert)(&list, &items[length]));
        CHECK(listCURRENT_LIST_LENGTH(&list) == length + 1);
        CHECK(list.xListEnd.pxPrevious == &items[length]);
    }

    fill(4);
    MEASURE(SERVICE_VLISTINSERTEND, BEHIND_STORES(vListInsertEnd)(&list, &items[4]));
    CHECK(listCURRENT_LIST_LENGTH(&list) == 5);

    /* Worst: the list's index stands on the item and has to be moved back. */
    fill(4);
    list.pxIndex = &items[2];
    MEASURE(SERVICE_UXLISTREMOVE, (void)BEHIND_STORES(uxListRemove)(&items[2]));
    CHECK(listCURRENT_LIST_LENGTH(&list) == 3);
    CHECK(list.pxIndex == &items[1]);
}
