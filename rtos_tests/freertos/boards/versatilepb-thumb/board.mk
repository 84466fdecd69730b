# The board versatilepb with the kernel in Thumb state. What must be in Arm state is: the port's
# handlers and critical sections (portISR.c), and the board's own handler. Calls from one state to the
# other go through veneers of the linker, since Armv4T has no instruction for them.

include $(HERE)/boards/versatilepb/board.mk
CPU := -mcpu=arm7tdmi -mthumb -mthumb-interwork -DTHUMB_INTERWORK -fno-strict-aliasing
FLAGS_portISR := -marm
FLAGS_board := -marm
BOARD_LINK := $(HERE)/boards/versatilepb/link.ld
BOARD_MORE += boards/thumb.yaml
