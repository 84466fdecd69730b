# A core of Armv4T, as the ARM7TDMI is, on QEMU's versatilepb; what the variables mean stands in
# ../mps2-an385/board.mk. Everything is compiled for Arm state: a kernel in Thumb state would need
# the port's functions for masking interrupts from there, and so have other counts.

CROSS ?= arm-none-eabi-
QEMU ?= qemu-system-arm
# Without -fno-strict-aliasing GCC 12 takes the walk over the list of pending tasks (xTaskResumeAll)
# apart: the end of a list is a MiniListItem_t that the kernel uses as a ListItem_t
# (configUSE_MINI_LIST_ITEM).
CPU := -mcpu=arm7tdmi -marm -fno-strict-aliasing
PORT_SOURCES := portable/GCC/ARM7_LPC2000/port.c portable/GCC/ARM7_LPC2000/portISR.c
PORT_INCLUDES := portable/GCC/ARM7_LPC2000
RUN = $(HERE)/boards/versatilepb/run.sh $(QEMU)
BOARD_MORE := boards/armv4t.yaml boards/critical.yaml
