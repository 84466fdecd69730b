/* The option `whole-list-ends`: see whole-list-ends.yaml. */
#undef configUSE_MINI_LIST_ITEM
#define configUSE_MINI_LIST_ITEM 0
