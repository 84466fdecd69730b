#!/bin/sh
# run.sh QEMU ELF: runs the firmware; its end is that of the emulator.
exec "$1" -M versatilepb -cpu ti925t -m 128M -nodefaults -nic none -audiodev none,id=none \
    -display none -monitor none -serial null -icount shift=5 \
    -semihosting-config enable=on,target=native -device "loader,cpu-num=0,file=$2"
