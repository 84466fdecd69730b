#!/bin/sh
# Installs the Debian packages that demo and tests need and that are not there yet.
# Nothing is installed, and root is not needed, where every program is found.
set -eu

missing=""
need() { # program package
	command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need qemu-system-arm qemu-system-arm
need qemu-system-riscv32 qemu-system-misc
need arm-none-eabi-gcc gcc-arm-none-eabi
need arm-none-eabi-objdump binutils-arm-none-eabi
need riscv64-unknown-elf-gcc gcc-riscv64-unknown-elf
need riscv64-unknown-elf-objdump binutils-riscv64-unknown-elf
need cc gcc
need git git
need g++ g++
need verilator verilator
need fdtget device-tree-compiler
need callgrind_annotate valgrind
need dot graphviz
need chromium chromium
need node nodejs
need cmake cmake
need ninja ninja-build
[ -e /etc/ssl/certs/ca-certificates.crt ] || missing="$missing ca-certificates"
python3 -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
[ -e /usr/include/yaml-cpp/yaml.h ] || missing="$missing libyaml-cpp-dev"
# A C compiler without the C library's headers cannot build the capture plugin.
printf '#include <stdio.h>\n' | cc -E - >/dev/null 2>&1 || missing="$missing libc6-dev"

# The FreeRTOS package is of Rust edition 2024, which Debian 12's own cargo (0.66) cannot read;
# the package cargo-web can. Only cargo is used, nothing is compiled with it.
cargo_is_new() {
	version=$(cargo --version 2>/dev/null | sed -n 's/^cargo 1\.\([0-9]*\).*/\1/p')
	[ -n "$version" ] && [ "$version" -ge 85 ]
}
if [ -z "${FREERTOS_KERNEL:-}" ] && ! cargo_is_new; then
	missing="$missing cargo-web"
fi

[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1; then
	echo "missing:$missing; this is no Debian, install what gives these programs" >&2
	exit 1
fi
as_root=""
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null 2>&1 || {
		echo "missing:$missing; run as root: apt-get install$missing" >&2
		exit 1
	}
	as_root="sudo"
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
# cargo-web may not be in every mirror; the rest must be installable without it.
rest=$(echo "$missing" | sed 's/ cargo-web//')
# shellcheck disable=SC2086
[ -z "$rest" ] || $as_root apt-get install -qq -y --no-install-recommends $rest >/dev/null
case "$missing" in
*cargo-web*)
	$as_root apt-get install -qq -y --no-remove --no-install-recommends cargo-web >/dev/null ||
		echo "cargo 1.85 or newer cannot be installed; set FREERTOS_KERNEL to a kernel's source" >&2
	;;
esac
