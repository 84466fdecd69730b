"""Places in assembly code that nothing declares a function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from wcetchar.image import load_image

SOURCE = """
 .section .vectors, "a"
 .word 0x20001000, plain + 1
 .text
 .global plain
plain: nop
 nop
inner: nop
 nop
 .type sized, %function
 .global sized
sized: nop
 nop
 .size sized, .-sized
 nop                        @ belongs to nothing
 .section .other, "ax"
 nop                        @ no label in its section
 .data
 .global variable
variable: .word 0
"""
SCRIPT = """
SECTIONS {
  .vectors 0x0 : { *(.vectors) }
  .text 0x100 : { *(.text) }
  .other 0x200 : { *(.other) }
  .data 0x20000000 : { *(.data) }
}
"""


def test_the_nearest_global_label_names_a_place(assemble: Callable[..., Path]) -> None:
    image = load_image(str(assemble(SOURCE, SCRIPT)))

    def name(address: int) -> str | None:
        found = image.label_at(address)
        return found.name if found else None

    assert [name(a) for a in range(0x100, 0x10E, 2)] == [
        *["plain"] * 4,  # the local label inside of it names nothing
        *["sized"] * 2,
        None,
    ]
    assert image.function_at(0x100) is None
    assert (name(0x200), name(0x20000000), name(0x4), name(0x900)) == (None,) * 4
