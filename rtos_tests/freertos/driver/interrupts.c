/* What interrupts cost by themselves: a handler that does nothing, and critical sections. */
#include "driver.h"

#include "board.h"

#if DRIVER_WHOLE && defined(BOARD_HAS_MINIMAL_INTERRUPT)

void measure_interrupts(void)
{
    MEASURE(SERVICE_INTERRUPT_MINIMAL, board_minimal_interrupt());
    MEASURE(SERVICE_VPORTENTERCRITICAL, taskENTER_CRITICAL());
    MEASURE(SERVICE_VPORTEXITCRITICAL, taskEXIT_CRITICAL());
}

#endif
