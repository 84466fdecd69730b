#!/bin/sh
# Puts the FreeRTOS kernel's source into a folder: fetch_kernel.sh FOLDER
#
# The source comes with the package freertos-next of crates.io, by cargo, pinned by hash in
# kernel-source/Cargo.lock. Nothing of it is committed, nothing of it is changed. With
# FREERTOS_KERNEL=/a/FreeRTOS-Kernel that source is checked instead and nothing is fetched.
#
# Exit status: 0 the source is there; 5 it cannot be had here (no suitable cargo, no network), and
# a message says what to do; 1 what was found is not what was asked for.
set -eu

VERSION=V11.2.0
UNAVAILABLE=5
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:?usage: fetch_kernel.sh FOLDER}

version_of() {
    sed -n 's/^#define *tskKERNEL_VERSION_NUMBER *"\(.*\)".*/\1/p' "$1/include/task.h" 2>/dev/null ||
        true
}

if [ -n "${FREERTOS_KERNEL:-}" ]; then
    found=$(version_of "$FREERTOS_KERNEL")
    if [ "$found" != "$VERSION" ]; then
        {
            echo "fetch_kernel.sh: FREERTOS_KERNEL=$FREERTOS_KERNEL is not FreeRTOS $VERSION"
            echo "  found:    ${found:-no include/task.h that states a version}"
            echo "  expected: the folder FreeRTOS-Kernel of that release"
        } >&2
        exit 1
    fi
    exit 0
fi

if [ "$(version_of "$folder")" = "$VERSION" ]; then
    exit 0
fi

unavailable() {
    {
        echo "fetch_kernel.sh: $1"
        echo "  next: $2"
        echo "  or:   give the source of FreeRTOS $VERSION with FREERTOS_KERNEL=/a/FreeRTOS-Kernel"
    } >&2
    exit $UNAVAILABLE
}

# The package is of Rust edition 2024, which cargo reads from 1.85 on.
new_enough() {
    "$1" --version 2>/dev/null |
        awk '{ split($2, v, "."); new = v[1] > 1 || (v[1] == 1 && v[2] >= 85) } END { exit !new }'
}

cargo=
for candidate in "${CARGO:-}" cargo "${HOME:-}/.cargo/bin/cargo"; do
    if [ -n "$candidate" ] && command -v "$candidate" >/dev/null && new_enough "$candidate"; then
        cargo=$candidate
        break
    fi
done
if [ -z "$cargo" ]; then
    unavailable "cargo 1.85 or newer is needed to get the FreeRTOS kernel, and there is none" \
        "on Debian 12, apt-get install cargo-web (it takes the place of the package cargo)"
fi

mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.fetching.XXXXXX")
trap 'rm -rf "$work"' EXIT
if ! "$cargo" vendor --quiet --locked --manifest-path "$here/kernel-source/Cargo.toml" \
    "$work/vendor" >/dev/null; then
    unavailable "cargo could not get the package freertos-next" \
        "see cargo's message above; it needs the package registry once"
fi
source=$work/vendor/freertos-next/FreeRTOS-Kernel
found=$(version_of "$source")
if [ "$found" != "$VERSION" ]; then
    echo "fetch_kernel.sh: the package has FreeRTOS '$found', expected $VERSION" >&2
    exit 1
fi
# Another run may have been faster; then the folder is there and complete.
rm -rf "$folder.old"
if [ -e "$folder" ] && [ "$(version_of "$folder")" != "$VERSION" ]; then
    mv "$folder" "$folder.old"
fi
mv -T -n "$source" "$folder" 2>/dev/null || true
rm -rf "$folder.old"
if [ "$(version_of "$folder")" != "$VERSION" ]; then
    echo "fetch_kernel.sh: the source could not be put into $folder" >&2
    exit 1
fi
