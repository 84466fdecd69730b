# RV32IMC in machine mode as QEMU's virt; what the variables mean stands in ../mps2-an385/board.mk.
#
# Neither assembler nor linker relax: a call that the linker shortens where the target happens to be
# near would have other counts at another place.

CROSS ?= riscv64-unknown-elf-
QEMU ?= qemu-system-riscv32
ABI := -mabi=ilp32 -mcmodel=medany -msmall-data-limit=0 -mno-relax
CPU := -march=rv32imc_zicsr $(ABI)
# By this name the compiler finds its libgcc for 32 bits.
LINK_CPU := -march=rv32im $(ABI) -Wl,--no-relax
PORT_SOURCES := portable/GCC/RISC-V/port.c portable/GCC/RISC-V/portASM.S
PORT_INCLUDES := portable/GCC/RISC-V \
	portable/GCC/RISC-V/chip_specific_extensions/RISCV_MTIME_CLINT_no_extensions
RUN = $(QEMU) -M virt -cpu rv32 -bios none -display none -monitor none -serial null \
	-semihosting-config enable=on,target=native -icount shift=5 -kernel
BOARD_MORE := boards/riscv.yaml
