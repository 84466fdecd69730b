#!/bin/sh
# Records small.qemu-VERSION.log anew; needs arm-none-eabi-gcc and qemu-system-arm, or the emulator
# that QEMU_ARM names.
# Host addresses in it differ from run to run, everything else does not (-icount).
set -eu
cd "$(dirname "$0")"
elf=$(mktemp)
trap 'rm -f "$elf"' EXIT
arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb -nostdlib -Wl,-e,reset -Wl,-Ttext=0x40 \
    -Wl,--section-start=.vectors=0 -o "$elf" small.s
qemu=${QEMU_ARM:-qemu-system-arm}
version=$("$qemu" --version | sed -n 's/.* version \([0-9]*\.[0-9]*\).*/\1/p')
"$qemu" -M mps2-an385 -nic none -display none -serial null -monitor none -semihosting \
    -icount shift=4 -kernel "$elf" -d in_asm,exec,nochain,int -D "small.qemu-$version.log"
