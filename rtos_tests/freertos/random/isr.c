/* What interrupts do. */
#include "random.h"

BaseType_t isr_send(void);
BaseType_t isr_receive(void);
BaseType_t isr_peek(void);
BaseType_t isr_give(void);
BaseType_t isr_take(void);
BaseType_t isr_resume(void);
BaseType_t isr_notify(void);
BaseType_t isr_stream_send(void);
BaseType_t isr_stream_receive(void);
BaseType_t isr_timer(void);
BaseType_t isr_set_send(void);
BaseType_t isr_set_give(void);
BaseType_t isr_select(void);

isr_operation *const isr_operations[] = {
    isr_send,   isr_send,   isr_receive,     isr_peek,           isr_give,  isr_give,
    isr_take,   isr_resume, isr_stream_send, isr_stream_receive, isr_timer, isr_set_send,
    isr_notify, isr_notify, isr_set_give,    isr_select,
};
const unsigned isr_operation_count = sizeof isr_operations / sizeof *isr_operations;
