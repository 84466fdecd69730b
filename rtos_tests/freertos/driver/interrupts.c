/* What interrupts cost by themselves: a handler that does nothing, and critical sections where those are
 * functions of the port. */
#include "driver.h"

#include "board.h"

#if DRIVER_WHOLE

void measure_interrupts(void)
{
    MEASURE(SERVICE_INTERRUPT_MINIMAL, board_minimal_interrupt());
#ifdef BOARD_HAS_CRITICAL_FUNCTIONS
    MEASURE(SERVICE_VPORTENTERCRITICAL, taskENTER_CRITICAL());
    MEASURE(SERVICE_VPORTEXITCRITICAL, taskEXIT_CRITICAL());
#endif
#ifdef BOARD_HAS_MASKING_FUNCTIONS
    MEASURE(SERVICE_VPORTDISABLEINTERRUPTSFROMTHUMB, taskDISABLE_INTERRUPTS());
    MEASURE(SERVICE_VPORTENABLEINTERRUPTSFROMTHUMB, taskENABLE_INTERRUPTS());
#endif
}

#endif
