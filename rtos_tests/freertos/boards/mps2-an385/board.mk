# A Cortex-M3 as QEMU's mps2-an385.
#
# What a board.mk sets: CROSS and QEMU (prefix and program, both can be given on the command line),
# CPU (flags of compiler and linker), LINK_CPU (those of the linker, where they are others),
# PORT_SOURCES (the port's files in the kernel's source), PORT_INCLUDES (its folders of headers
# there), RUN (runs the ELF file whose name follows), FLAGS_name (more flags of the object name.o),
# BOARD_MORE (services files of `whole` and `full`), BOARD_FACTS (flow facts of the port), BOARD_MORE_FACTS (those
# of `whole` and `full`), BOARD_HAS_TICKLESS (not empty where the port has tickless idle).

CROSS ?= arm-none-eabi-
QEMU ?= qemu-system-arm
CPU := -mcpu=cortex-m3 -mthumb
PORT_SOURCES := portable/GCC/ARM_CM3/port.c
PORT_INCLUDES := portable/GCC/ARM_CM3
RUN = $(QEMU) -M mps2-an385 -display none -monitor none -serial null \
	-semihosting-config enable=on,target=native -icount shift=5 -kernel
BOARD_MORE := boards/armv7m.yaml boards/critical.yaml
BOARD_FACTS := boards/armv7m.ff boards/critical.ff
BOARD_MORE_FACTS := boards/critical-calls.ff
BOARD_HAS_TICKLESS := 1
