# RV32IMC in machine mode as QEMU's virt and the boards in RTL. Nothing is relaxed: see the FreeRTOS firmware.
CROSS ?= riscv64-unknown-elf-
QEMU ?= qemu-system-riscv32
CPU := -march=rv32imc_zicsr -mabi=ilp32 -mcmodel=medany -msmall-data-limit=0 -mno-relax
RUN = $(QEMU) -M virt -cpu rv32 -bios none -display none -monitor none -serial null \
	-semihosting-config enable=on,target=native -icount shift=5 -kernel
