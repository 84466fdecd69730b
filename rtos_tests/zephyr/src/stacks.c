/* Stacks. */
#include "helpers.h"

static struct k_stack stack;

static int pop(void *object, void *argument)
{
    return k_stack_pop(object, (stack_data_t *)wcet_caller_data_2.words, K_TICKS(1000));
}

void measure_stacks(void)
{
    stack_data_t *data = (stack_data_t *)wcet_caller_data.words;
    int result;

    MEASURE(SERVICE_K_STACK_INIT, k_stack_init(&stack, (stack_data_t *)wcet_storage, 4));
    MEASURE(SERVICE_K_STACK_PUSH, result = k_stack_push(&stack, 7));
    CHECK(result == 0);
    MEASURE(SERVICE_K_STACK_POP, result = k_stack_pop(&stack, data, K_NO_WAIT));
    CHECK(result == 0 && *data == 7);
    MEASURE_WAKE(SERVICE_K_STACK_PUSH_WAITER, SERVICE_K_STACK_PUSH_SWITCH, pop, &stack, NULL,
                 result = k_stack_push(&stack, 8), 0);
}
