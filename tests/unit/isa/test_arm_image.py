"""Whole Armv4T images: two states, calls through registers, what is not supported."""

from __future__ import annotations

import pytest

from wcetchar.errors import InputError
from wcetchar.isa import decode_image
from wcetchar.model.access import EventKind
from wcetchar.model.image import CodeRange, Image, Section
from wcetchar.model.instruction import Flow

BASE = 0x8000


def image(words: list[int], thumb: str = "", ranges: tuple[CodeRange, ...] | None = None) -> Image:
    data = b"".join(word.to_bytes(4, "little") for word in words)
    middle = BASE + len(data)
    data += bytes.fromhex(thumb)
    section = Section(".text", BASE, len(data), False, True, data)
    return Image(
        path="firmware.elf",
        machine="arm",
        architecture="armv4t",
        bits=32,
        entry=BASE,
        sections=(section,),
        symbols=(),
        code=ranges
        or (CodeRange(BASE, middle, "arm"), CodeRange(middle, BASE + len(data), "thumb")),
        lines=(),
        sha256="0" * 64,
    )


def test_armv4t_both_states() -> None:
    # ldr ip, [pc]; bx ip; then movs r0, #1; bl 8; bx pc (at a multiple of 4)
    table = decode_image(image([0xE59FC000, 0xE12FFF1C], "0120 00f000f8 c046 7847 c046"))
    shown = [(i.address - BASE, i.length, i.text) for i in table.instructions]
    assert shown == [
        (0, 4, "ldr r12, [pc, #0x0]"),
        (4, 4, "bx r12"),
        (8, 2, "movs r0, #1"),
        (10, 4, "bl #0x800e"),
        (14, 2, "mov r8, r8"),
        (16, 2, "bx pc"),
        (18, 2, "mov r8, r8"),
    ]
    assert table.undecodable == ()
    assert [i.fetch.bytes for i in table.instructions if i.fetch] == [4, 4, 2, 2, 2, 2, 2]
    assert (table.fetch_bytes, table.granule) == (4, 2)


@pytest.mark.parametrize(
    ("first", "second", "flow"),
    [
        (0xE1A0E00F, 0xE12FFF13, Flow.CALL_INDIRECT),  # mov lr, pc; bx r3
        (0xE1A0E00F, 0xE1A0F003, Flow.CALL_INDIRECT),  # mov pc, r3
        (0xE1A0E00F, 0xE593F004, Flow.CALL_INDIRECT),  # ldr pc, [r3, #4]
        (0xE1A0E00F, 0xE59FF004, Flow.CALL_INDIRECT),  # ldr pc, [pc, #4]
        (0xE1A0E00F, 0x112FFF13, Flow.CALL_INDIRECT),  # bxne r3
        (0x11A0E00F, 0x112FFF13, Flow.CALL_INDIRECT),  # movne lr, pc; bxne r3
        (0x11A0E00F, 0xE12FFF13, Flow.JUMP_INDIRECT),  # lr may be what it was
        (0x11A0E00F, 0x012FFF13, Flow.JUMP_INDIRECT),
        (0xE1A0E00F, 0xE12FFF1E, Flow.RETURN),  # bx lr
        (0xE1A0E00F, 0xE1B0F00E, Flow.RETURN),  # movs pc, lr
        (0xE1A0E00F, 0xE8FD8000, Flow.RETURN),  # ldm sp!, {pc}^
        (0xE1A0E003, 0xE12FFF13, Flow.JUMP_INDIRECT),  # mov lr, r3
        (0xE1A0E00F, 0xEA000000, Flow.JUMP),
        (0xE1A00000, 0xE12FFF13, Flow.JUMP_INDIRECT),
    ],
)
def test_armv4t_calls_in_two_instructions(first: int, second: int, flow: Flow) -> None:
    found = decode_image(image([first, second])).instructions[1]
    assert found.flow is flow
    assert found.end == BASE + 8
    if flow is Flow.CALL_INDIRECT and found.memory is None:
        assert found.issue is EventKind.CALL_INDIRECT
    elif found.memory is not None:
        assert found.issue in (EventKind.LOAD, EventKind.LOAD_MULTIPLE)


def test_armv4t_a_call_is_not_joined_over_something_undecodable() -> None:
    table = decode_image(image([0xE1A0E00F, 0xEE070F90, 0xE12FFF13]))
    assert [u.address - BASE for u in table.undecodable] == [4]
    assert table.instructions[-1].flow is Flow.JUMP_INDIRECT


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ((CodeRange(BASE, BASE + 4, "riscv"),), "'riscv' state"),
        ((CodeRange(BASE + 2, BASE + 6, "arm"),), "no multiple of 4"),
        ((CodeRange(BASE + 1, BASE + 3, "thumb"),), "no multiple of 2"),
        ((CodeRange(BASE, BASE + 8, "arm"), CodeRange(BASE + 4, BASE + 8, "arm")), "overlaps"),
        ((CodeRange(BASE, BASE + 40, "arm"),), "no stored contents"),
    ],
)
def test_armv4t_code_ranges_that_cannot_be_decoded(
    ranges: tuple[CodeRange, ...], words: str
) -> None:
    with pytest.raises(InputError, match=words) as caught:
        decode_image(image([0xE1A00000, 0xE1A00000], ranges=ranges))
    assert caught.value.expected
