"""Whole images: code ranges, IT blocks across instructions, what is not supported."""

from __future__ import annotations

import pytest

from wcetchar.errors import InputError
from wcetchar.isa import INSTRUCTION_SETS, decode_image
from wcetchar.model.access import EventKind
from wcetchar.model.image import CodeRange, Image, Section

BASE = 0x1000


def image(
    code: str,
    ranges: tuple[CodeRange, ...] | None = None,
    machine: str = "arm",
    architecture: str = "armv7-m",
) -> Image:
    data = bytes.fromhex(code)
    section = Section(".text", BASE, len(data), False, True, data)
    return Image(
        path="firmware.elf",
        machine=machine,
        architecture=architecture,
        bits=32,
        entry=BASE,
        sections=(section,),
        symbols=(),
        code=ranges or (CodeRange(BASE, BASE + len(data), "thumb"),),
        lines=(),
        sha256="0" * 64,
    )


def test_every_instruction_in_order() -> None:
    # push {r4, lr}; bl +0; ite eq; moveq r0, #1; movne.w r0, #2; pop {r4, pc}; literal
    table = decode_image(
        image(
            "10b5 00f0 00f8 0cbf 0120 4ff0 0200 10bd deadbeef",
            (CodeRange(BASE, BASE + 16, "thumb"),),
        )
    )
    assert [i.address - BASE for i in table.instructions] == [0, 2, 6, 8, 10, 14]
    assert [i.conditional for i in table.instructions] == [False, False, False, True, True, False]
    assert table.instructions[3].text == "moveq r0, #1"
    assert table.instructions[4].text == "movne.w r0, #2"
    assert table.undecodable == ()
    assert table.granule == 2
    assert table.fetch_bytes == 4
    found = table.at(BASE + 2)
    assert found is not None
    assert found.target == BASE + 6
    assert table.at(BASE + 4) is None


def test_undecodable_bytes_are_kept_and_do_not_end_the_range() -> None:
    # itt ne; vaddne.f32 s0, s0, s1; movne r0, #1; movs r0, #1
    table = decode_image(image("1cbf 30ee200a 0120 0120"))
    assert [u.address - BASE for u in table.undecodable] == [2]
    assert "floating-point" in table.undecodable[0].reason
    assert [(i.address - BASE, i.conditional) for i in table.instructions] == [
        (0, False),
        (6, True),
        (8, False),
    ]


def test_an_instruction_cut_off_by_the_end_of_its_range() -> None:
    table = decode_image(image("0020 00f0"))
    assert [u.address - BASE for u in table.undecodable] == [2]
    assert len(table) == 1


def test_an_it_block_ends_with_its_range() -> None:
    table = decode_image(
        image(
            "04bf 0020 0120",
            (CodeRange(BASE, BASE + 4, "thumb"), CodeRange(BASE + 4, BASE + 6, "thumb")),
        )
    )
    assert [i.conditional for i in table.instructions] == [False, True, False]


def test_ranges_out_of_order_and_empty_ones() -> None:
    table = decode_image(
        image(
            "0020 0120 0220",
            (
                CodeRange(BASE + 4, BASE + 6, "thumb"),
                CodeRange(BASE, BASE + 2, "thumb"),
                CodeRange(BASE + 2, BASE + 2, "thumb"),
            ),
        )
    )
    assert [i.address - BASE for i in table.instructions] == [0, 4]


def test_armv6m_is_checked() -> None:
    table = decode_image(image("0020 4ff0 0200", architecture="armv6s-m"))
    assert len(table) == 1
    assert table.undecodable[0].reason == "not an Armv6-M instruction"


@pytest.mark.parametrize(
    ("machine", "architecture"),
    [
        ("riscv", "rv64imac"),
        ("arm", "armv7-a"),
        ("arm", "armv8-m.main"),
        ("arm", ""),
        ("arm", "armv7"),
    ],
)
def test_other_machines(machine: str, architecture: str) -> None:
    with pytest.raises(InputError) as caught:
        decode_image(image("0020", machine=machine, architecture=architecture))
    error = caught.value
    assert error.where is not None
    assert error.where.file == "firmware.elf"
    assert "armv7-m" in (error.expected or "")
    assert error.hint


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ((CodeRange(BASE, BASE + 4, "arm"),), "'arm' state"),
        ((CodeRange(BASE + 1, BASE + 3, "thumb"),), "no multiple of 2"),
        ((CodeRange(BASE, BASE + 4, "thumb"), CodeRange(BASE + 2, BASE + 4, "thumb")), "overlaps"),
        ((CodeRange(BASE, BASE + 40, "thumb"),), "no stored contents"),
    ],
)
def test_code_ranges_that_cannot_be_decoded(ranges: tuple[CodeRange, ...], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        decode_image(image("0020 0120", ranges))
    assert caught.value.where is not None
    assert caught.value.expected


def test_the_registry_names_each_architecture_once() -> None:
    names = [(entry.machine, name) for entry in INSTRUCTION_SETS for name in entry.architectures]
    assert len(names) == len(set(names))
    assert {"armv6-m", "armv6s-m", "armv7-m"} <= {name for _, name in names}


def test_every_issue_class_is_one() -> None:
    from wcetchar.isa.thumb_effects import EFFECTS

    assert all(row.issue.is_issue for row in EFFECTS.values())
    assert EFFECTS["b"].issue is EventKind.BRANCH_TAKEN
