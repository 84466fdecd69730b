#!/bin/sh
# Records small.qemu-7.2.log anew; needs arm-none-eabi-gcc and qemu-system-arm 7.2.
# Host addresses in it differ from run to run, everything else does not (-icount).
set -eu
cd "$(dirname "$0")"
elf=$(mktemp)
trap 'rm -f "$elf"' EXIT
arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb -nostdlib -Wl,-e,reset -Wl,-Ttext=0x40 \
    -Wl,--section-start=.vectors=0 -o "$elf" small.s
qemu-system-arm -M mps2-an385 -display none -serial null -monitor none -semihosting \
    -icount shift=4 -kernel "$elf" -d in_asm,exec,nochain,int -D small.qemu-7.2.log
