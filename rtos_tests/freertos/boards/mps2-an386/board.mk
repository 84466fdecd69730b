# A Cortex-M4 with floating point as QEMU's mps2-an386. The board is the mps2-an385 with another core:
# start, console, interrupts and memory are the same (board.c, its link.ld).

CROSS ?= arm-none-eabi-
QEMU ?= qemu-system-arm
CPU := -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16
PORT_SOURCES := portable/GCC/ARM_CM4F/port.c
PORT_INCLUDES := portable/GCC/ARM_CM4F
BOARD_LINK := $(HERE)/boards/mps2-an385/link.ld
RUN = $(QEMU) -M mps2-an386 -display none -monitor none -serial null \
	-semihosting-config enable=on,target=native -icount shift=5 -kernel
BOARD_MORE := boards/armv7m.yaml boards/critical.yaml
BOARD_FACTS := boards/armv7m.ff boards/critical.ff
BOARD_MORE_FACTS := boards/critical-calls.ff
BOARD_HAS_TICKLESS := 1
