"""Firmware of a dozen instructions, whose traces are written down by hand in Renode's text."""

from __future__ import annotations

SCRIPT = """
SECTIONS {
  .vectors 0x0 : { *(.vectors) }
  .text 0x100 : { *(.text*) }
  .ram 0x20000000 (NOLOAD) : { *(.ram) }
}
"""
BEGIN = """
.section .vectors,"a"
  .word 0x20001000, start+1
.section .ram,"aw",%nobits
  .space 4096
.text
.macro function name
  .global \\name
  .type \\name,%function
  \\name:
.endm
"""
"""What each begins with: a stack, and where it starts."""
AT_RESET = "MemoryRead with address 0x100, value 0x2001\n"
"""An access of the first instruction, so that the trace shows accesses."""


def instruction(address: int, code: bytes) -> str:
    """The line of one that is executed."""
    halves = [int.from_bytes(code[i : i + 2], "little") for i in range(0, len(code), 2)]
    return f"0x{address:X}: 0x{''.join(f'{half:04X}' for half in halves)}\n"


def registers_of(before: int) -> list[str]:
    """Lines of an instruction that begins with this first argument."""
    return [
        f" Pre: R0: 0x{before:X} | SP / R13: 0x20001000\n",
        "Post: R0: 0xDEAD | SP / R13: 0x20001000\n",
    ]
