"""All instructions of an Armv4T image, which may be in Arm and in Thumb state by turns."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from wcetchar.isa import arm, thumb
from wcetchar.isa.arm_apply import LR
from wcetchar.isa.code_ranges import check_range
from wcetchar.model.access import EventKind
from wcetchar.model.fetch_buffer import ARMV4T_BUFFER
from wcetchar.model.image import CodeRange, Image
from wcetchar.model.instruction import (
    ARMV4T_EXCEPTIONS,
    Flow,
    Instruction,
    InstructionTable,
    Undecodable,
)

ARMV4T_NAMES: Final = ("armv4t",)
_GRANULES: Final = {"arm": 4, "thumb": 2}
_MOV_LR_PC: Final = 0x01A0E00F
"""``mov lr, pc`` without its condition."""


def decode_armv4t(image: Image) -> InstructionTable:
    """Decodes each code range in its state, from its start to its end.

    Bytes that no table entry explains go to ``InstructionTable.undecodable``.

    Raises:
        InputError: a code range is in a state that Armv4T does not have, is not aligned to its
            instructions, overlaps another, or has no stored contents.
    """
    a32, t16 = arm.decoder(), thumb.decoder(thumb.ARMV4T)
    instructions: list[Instruction] = []
    undecodable: list[Undecodable] = []
    before: CodeRange | None = None
    for code_range in sorted(image.code, key=lambda r: (r.start, r.end)):
        if code_range.start >= code_range.end:
            continue
        check_range(image, code_range, before, _GRANULES, states="code in Arm or Thumb state")
        before = code_range
        data = image.read(code_range.start, code_range.end - code_range.start)
        decode = a32.decode if code_range.state == "arm" else t16.decode
        offset = 0
        latest: Instruction | None = None
        while offset < len(data):
            found = decode(data[offset : offset + 4], code_range.start + offset)
            offset += len(found.code)
            if isinstance(found, Undecodable):
                undecodable.append(found)
                latest = None
                continue
            if latest is not None and _calls(latest, found):
                found = _as_call(found)
            instructions.append(found)
            latest = found
    return InstructionTable(
        tuple(instructions),
        tuple(undecodable),
        fetch_bytes=arm.FETCH.bytes,
        granule=_GRANULES["thumb"],
        exceptions=ARMV4T_EXCEPTIONS,
        buffer=ARMV4T_BUFFER,
    )


def _calls(first: Instruction, second: Instruction) -> bool:
    """Version 4 calls through a register or memory by ``mov lr, pc`` and what writes pc behind it:
    pc reads as the address of the second one's successor (DDI 0100I, A2.4.3)."""
    if first.length != 4 or int.from_bytes(first.code, "little") & 0x0FFFFFFF != _MOV_LR_PC:
        return False
    if first.conditional and first.condition != second.condition:
        return False  # lr may be what it was
    writes_pc = second.flow in (Flow.JUMP_INDIRECT, Flow.RETURN)
    through_lr = second.memory is None and bool(second.uses >> LR & 1)
    returns = bool(second.masks)
    return writes_pc and not through_lr and not returns


def _as_call(found: Instruction) -> Instruction:
    issue = EventKind.CALL_INDIRECT if found.memory is None else found.issue
    return replace(found, flow=Flow.CALL_INDIRECT, issue=issue)
