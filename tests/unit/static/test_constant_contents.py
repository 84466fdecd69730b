"""What is taken for constant: contents of sections that cannot be written to, without what may be a
variable all the same. Bounds of small loops that count down from a loaded word; numbers by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_programs import Program, built

from wcetchar.formula import to_text
from wcetchar.static.constants import READ_ONLY
from wcetchar.static.proofs import analysed, values_by_callers
from wcetchar.static.values import Values
from wcetchar.static.values.loop_bounds import derive_bounds


def values_of(made: Program, *entries: str) -> dict[int, Values]:
    return analysed(made.graph(*entries), made.image, made.table)


def bounds(values: Values) -> list[str]:
    return [to_text(bound.limit) for bound in derive_bounds(values).values()]


def function(name: str, body: str) -> str:
    return f".global {name}\n.type {name}, %function\n{name}:\n{body}\n.size {name}, .-{name}\n"


VARIABLE = ".balign 4\n.type var, %object\n.size var, 4\nvar: .word 5\n.text\n"
COUNTS = "ldr r1, =var\n{}\nldr r2, [r1]\n1: subs r2, #1\nbne 1b\nbx lr\n.ltorg"
STORES = "movs r2, #60\nstr r2, [r1]"
AMONG_CODE = ".text\n" + VARIABLE
IN_RODATA = '.section .rodata.vars,"a"\n' + VARIABLE


@pytest.mark.parametrize(
    ("store", "place", "expected"),
    [
        ("nop", IN_RODATA, ["4"]),
        (STORES, IN_RODATA, []),
        # A byte of it, and the word beside it.
        ("movs r2, #60\nstrb r2, [r1, #3]", IN_RODATA, []),
        ("movs r2, #60\nstrb r2, [r1, #4]", IN_RODATA, ["4"]),
        # One of these bytes.
        ("and r3, r0, #7\nadds r3, r1\nstrb r2, [r3, #-4]", IN_RODATA, []),
        # Nobody knows whether that section is in RAM.
        ("nop", AMONG_CODE, []),
        (STORES, AMONG_CODE, []),
        # No object, so that it is code, but for the store.
        ("nop", AMONG_CODE.replace(", %object", ", %notype"), ["4"]),
        (STORES, AMONG_CODE.replace(", %object", ", %notype"), []),
    ],
)
def test_words_that_are_stored_to(
    store: str, place: str, expected: list[str], tmp_path: Path
) -> None:
    made = built(tmp_path, "v7m", function("f", COUNTS.format(store)) + place)
    assert bounds(values_of(made, "f")[made.at("f")]) == expected


@pytest.mark.parametrize(
    "other",
    [
        "ldr r1, =var\nmovs r2, #60\nstr r2, [r1]\nbx lr\n.ltorg",
        # Through what it hands over.
        "ldr r0, =var\nb put\n.ltorg",
        "push {r4, lr}\nldr r0, =var - 8\nbl put_behind\npop {r4, pc}\n.ltorg",
    ],
)
def test_stores_of_other_functions(other: str, tmp_path: Path) -> None:
    source = (
        function("f", COUNTS.format("nop"))
        + function("g", other)
        + function("put", "movs r2, #60\nstr r2, [r0]\nbx lr")
        + function("put_behind", "movs r2, #60\nstr r2, [r0, #8]\nbx lr")
        + IN_RODATA
    )
    made = built(tmp_path, "v7m", source)
    assert bounds(values_of(made, "f")[made.at("f")]) == ["4"]
    # Of another image: what was found once holds for all that is looked at in it.
    (tmp_path / "more").mkdir()
    made = built(tmp_path / "more", "v7m", source)
    found = values_of(made, "f", "g")
    assert bounds(found[made.at("f")]) == []
    again = values_by_callers(found[made.at("f")].graph, made.image, made.table, {}, {})
    assert bounds(again) == []


def test_a_store_that_is_known_where_another_one_is(tmp_path: Path) -> None:
    """A pointer in a section that is stored to: where it points to is known only before that."""
    source = (
        function("f", COUNTS.format("nop"))
        + function(
            "g",
            "ldr r1, =at\nldr r2, [r1]\nmovs r3, #60\nstr r3, [r2]\nbx lr\n.ltorg",
        )
        + IN_RODATA
        + '.section .rodata.at,"a"\n.balign 4\nat: .word var\n.text\n'
    )
    made = built(tmp_path, "v7m", source)
    found = values_of(made, "f", "g")
    assert bounds(found[made.at("f")]) == []
    assert READ_ONLY in found[made.at("g")].assumptions
    assert READ_ONLY not in found[made.at("f")].assumptions


def test_what_is_read_beside_literals_is_listed(tmp_path: Path) -> None:
    source = (
        function("f", COUNTS.format("nop"))
        + function("g", "ldr r2, =7\n1: subs r2, #1\nbne 1b\nbx lr\n.ltorg")
        + IN_RODATA
    )
    made = built(tmp_path, "v7m", source)
    found = values_of(made, "f", "g")
    assert READ_ONLY in found[made.at("f")].assumptions
    assert bounds(found[made.at("g")]) == ["6"]
    assert READ_ONLY not in found[made.at("g")].assumptions


def test_another_instruction_set(tmp_path: Path) -> None:
    text = "lui a1, %hi(var)\n{}\nlw a2, %lo(var)(a1)\n1: addi a2, a2, -1\nbnez a2, 1b\nret\n"
    for store, expected in (("nop", ["4"]), ("sw a0, %lo(var)(a1)", [])):
        folder = tmp_path / store[:2]
        folder.mkdir()
        source = function("f", text.format(store)) + IN_RODATA
        made = built(
            folder, "riscv", source.replace("%function", "@function").replace("%obj", "@obj")
        )
        assert bounds(values_of(made, "f")[made.at("f")]) == expected
