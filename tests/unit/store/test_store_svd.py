"""CMSIS-SVD files: arrays, what is derived, and what is refused with a place; values by hand."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wcetchar.errors import InputError
from wcetchar.model.memory_map import MemoryMap
from wcetchar.store.svd import load_svd

BLOCK = "<addressBlock><offset>0</offset><size>0x10</size><usage>registers</usage></addressBlock>"


def load(peripherals: str, folder: Path | str) -> MemoryMap:
    path = Path(folder) / "x.svd"
    path.write_text(
        f"<device><name>X</name><width>0x20</width>\n<peripherals>\n{peripherals}\n</peripherals>\n"
        "</device>",
        encoding="utf-8",
    )
    return load_svd(path)


def peripheral(
    name: str, base: int, more: str = BLOCK, *, before: str = "", derived: str = ""
) -> str:
    attribute = f' derivedFrom="{derived}"' if derived else ""
    return (
        f"<peripheral{attribute}>{before}<name>{name}</name>"
        f"<baseAddress>{base:#x}</baseAddress>{more}</peripheral>"
    )


def dim(count: int, index: str = "", step: int = 0x100) -> str:
    text = f"<dim>{count}</dim><dimIncrement>{step}</dimIncrement>"
    return text + (f"<dimIndex>{index}</dimIndex>" if index else "")


def named(found: MemoryMap) -> list[tuple[str, int, int]]:
    return [(r.name, r.base, r.size) for r in found.ranges]


@pytest.mark.parametrize(
    ("name", "count", "index", "names"),
    [
        ("G%s", 3, "A-C", "GA GB GC"),
        ("G%s", 3, "3-5", "G3 G4 G5"),
        ("G%s", 3, "A,B,C", "GA GB GC"),
        ("G%s", 2, "X1,  _y", "GX1 G_y"),
        ("G%s", 1, "A", "GA"),
        ("G%s_S", 2, "", "G0_S G1_S"),
        ("G[%s]", 2, "", "G0 G1"),
        ("%sG", 2, "9-10", "9G 10G"),
        ("G", 1, "", "G"),
    ],
)
def test_arrays(tmp_path: Path, name: str, count: int, index: str, names: str) -> None:
    found = load(peripheral(name, 0x1000, before=dim(count, index)), tmp_path)
    assert named(found) == [
        (single, 0x1000 + 0x100 * n, 0x10) for n, single in enumerate(names.split())
    ]


def test_derived_from_what_is_derived(tmp_path: Path) -> None:
    """In any order; the nearest with address blocks counts."""
    own = BLOCK.replace("0x10<", "0x20<")
    text = peripheral("C", 0x3000, "", derived="B") + peripheral("B", 0x2000, "", derived="A")
    text += peripheral("A", 0x1000) + peripheral("E", 0x5000, "", derived="D")
    text += peripheral("D", 0x4000, own, derived="A")
    assert named(load(text, tmp_path)) == [
        ("A", 0x1000, 0x10),
        ("B", 0x2000, 0x10),
        ("C", 0x3000, 0x10),
        ("D", 0x4000, 0x20),
        ("E", 0x5000, 0x20),
    ]


@pytest.mark.parametrize("origin", ["P1", "P[%s]"])
def test_derived_from_an_array_is_one(tmp_path: Path, origin: str) -> None:
    text = peripheral("P[%s]", 0x1000, before=dim(2)) + peripheral("Q", 0x2000, "", derived=origin)
    names = [("P0", 0x1000, 0x10), ("P1", 0x1100, 0x10), ("Q", 0x2000, 0x10)]
    assert named(load(text, tmp_path)) == names
    array = peripheral("R%s", 0x3000, "", before=dim(2, "A-B"), derived=origin)
    assert named(load(text + array, tmp_path))[3:] == [("RA", 0x3000, 0x10), ("RB", 0x3100, 0x10)]


def test_a_second_block_takes_nobodys_name(tmp_path: Path) -> None:
    second = BLOCK + BLOCK.replace("<offset>0<", "<offset>0x40<")
    for text in (
        peripheral("A", 0x1000, second) + peripheral("A_1", 0x2000),
        peripheral("A_1", 0x2000) + peripheral("A", 0x1000, second),
    ):
        assert named(load(text, tmp_path)) == [
            ("A", 0x1000, 0x10),
            ("A_2", 0x1040, 0x10),
            ("A_1", 0x2000, 0x10),
        ]


def test_reserved_and_empty_blocks_are_left_out(tmp_path: Path) -> None:
    reserved = BLOCK.replace("registers", "reserved")
    buffer = BLOCK.replace("registers", "buffer").replace("<offset>0<", "<offset>0x40<")
    empty = BLOCK.replace("0x10<", "0<").replace("<offset>0<", "<offset>0x80<")
    found = load(peripheral("A", 0x1000, reserved + buffer + empty), tmp_path)
    assert named(found) == [("A", 0x1040, 0x10)]
    assert [(one.text, one.addresses) for one in found.left_out] == [
        ("A at 0x1000: reserved", ((0x1000, 0x10),)),
        ("A at 0x1080: an address block of no size", ((0x1080, 1),)),
    ]


def test_the_last_address_can_be_used(tmp_path: Path) -> None:
    assert named(load(peripheral("A", 0xFFFFFFF0), tmp_path)) == [("A", 0xFFFFFFF0, 0x10)]


SCALES = st.sampled_from(["", "k", "K", "m", "M", "g", "G", "t", "T"])


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 0xFFF),
    SCALES,
    st.sampled_from(["{:d}", "+{:d}", "0x{:x}", "0X{:X}", "#{:b}", "000{:d}", "0x000{:x}"]),
)
def test_every_spelling_of_a_number(number: int, scale: str, spelling: str) -> None:
    """scaledNonNegativeInteger of CMSIS-SVD.xsd: `[+]?(0x|0X|#)?[0-9a-fA-F]+[kmgtKMGT]?`."""
    expected = number << {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[scale.lower()]
    text = BLOCK.replace("0x10<", f"{spelling.format(number)}{scale}<")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.svd"
        path.write_text(
            f"<device><peripherals>{peripheral('A', 0, text)}</peripherals></device>",
        )
        assert named(load_svd(path)) == [("A", 0, expected)]


def test_what_no_address_is_in_is_not_looked_at(tmp_path: Path) -> None:
    registers = "<registers><register><addressBlock/><name/></register></registers>"
    found = load(peripheral("A", 0, BLOCK + registers), tmp_path)
    assert named(found) == [("A", 0, 0x10)]


A, B = peripheral("A", 0x1000), peripheral("B", 0x2000)
REFUSED = [
    (f"{A}\n {A}", "<peripheral>", "peripheral `A` is there twice, also in line 3"),
    (
        f"{A}\n\n  {peripheral('%s', 0, before=dim(2, 'A-B'))}",
        "<peripheral>",
        "peripheral `A` is there twice, also in line 3",
    ),
    (
        peripheral("G%s", 0, before=dim(3, "A,B,A")),
        "<peripheral>",
        "peripheral `GA` is there twice, also in line 3",
    ),
    (
        peripheral("A", 0, before=dim(2)),
        "<name>",
        "peripheral `A` is an array whose elements have one name",
    ),
    (peripheral("", 0), "<peripheral>", "a peripheral has no name"),
    (f"{A}<peripheral/>", "<peripheral/>", "a peripheral has no name"),
    (peripheral("A%s", 0), "<peripheral>", "peripheral `A%s` is an array of unknown length"),
    (peripheral("A%s", 0, before=dim(0)), "<dim>", "peripheral `A%s` is an array of 0"),
    (peripheral("A%s", 0, before=dim(5000)), "<dim>", "peripheral `A%s` is an array of 5000"),
    (
        peripheral("A%s", 0, before="<dim>2</dim>"),
        "<peripheral>",
        "<peripheral> `A%s` has no <dimIncrement>",
    ),
    *(
        (
            peripheral("A%s", 0, before=dim(3, index)),
            "<dimIndex>",
            f"<dimIndex> `{index}` of peripheral `A%s` does not name 3 elements",
        )
        for index in ("A,B", "C-A", "0-3", "a-c", "A-3", "0-99999999", "A;B;C", "x y,z,w", ",,")
    ),
    (
        f"{B}<peripheral><name>A</name></peripheral>",
        "<peripheral>",
        "<peripheral> `A` has no <baseAddress>",
    ),
    *(
        (
            A.replace("0x1000", number),
            "<baseAddress>",
            f"<baseAddress> is `{number[:57]}{'...' if number[60:] else ''}`, which is not",
        )
        for number in ("", "0x", "ff", "#2", "-1", "1 k", "0x1z", "9" * 5000)
    ),
    (
        B + A.replace("<offset>0</offset>", ""),
        "<addressBlock>",
        "<addressBlock> has no <offset>",
    ),
    (B + A.replace("0x10<", "all<"), "<size>", "<size> is `all`, which is not a number"),
    (
        A.replace("0x1000", "0xfffffff1"),
        "<addressBlock>",
        "peripheral `A`: 0x10 bytes from 0xfffffff1 on go past the last address",
    ),
    (
        f"{peripheral('AB', 0)}\n{peripheral('C', 0, '', derived='BA')}",
        "<peripheral derivedFrom",
        "peripheral `C` is derived from `BA`, which is not there",
    ),
    (
        "\n".join(peripheral(a, 0, "", derived=b) for a, b in ("CA", "AB", "BA")),
        '<peripheral derivedFrom="A"><name>C<',
        "peripheral `C` is derived from itself: C, A, B",
    ),
    (
        peripheral("A", 0, "", derived="A"),
        "<peripheral derivedFrom",
        "peripheral `A` is derived from itself: A",
    ),
    ("", "<device>", "has no peripherals"),
]


@pytest.mark.parametrize(("peripherals", "at", "message"), REFUSED)
def test_what_is_refused_has_a_place_and_a_next_step(
    tmp_path: Path, peripherals: str, at: str, message: str
) -> None:
    """``at``: what stands at the place, the last time that it is in the file."""
    with pytest.raises(InputError) as caught:
        load(peripherals, tmp_path)
    before = (tmp_path / "x.svd").read_text().rpartition(at)[0].split("\n")
    place = f"{tmp_path}/x.svd:{len(before)}:{len(before[-1]) + 1}"
    _is_told(caught.value, f"{place}: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: is no XML: no element found"),
        ("<device>", "1:9: is no XML: no element found"),
        ("<device>\n </other>", "2:4: is no XML: mismatched tag"),
        ("\n<other/>", "2:1: begins with `other`"),
        (
            '<!DOCTYPE d [<!ENTITY a "b">]><device>&a;</device>',
            "1:13: is no XML that is read here: DTDForbidden",
        ),
        ("<device>\n<width>x</width></device>", "2:1: <width> is `x`, which is not a number"),
        (
            "<device><addressUnitBits>16</addressUnitBits></device>",
            "1:9: an address is not that of a byte",
        ),
    ],
)
def test_what_is_no_svd(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.svd"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_svd(path)
    _is_told(caught.value, f"{path}:{message}")


def _is_told(error: InputError, start: str) -> None:
    said = str(error)
    assert said.startswith(start), said
    assert "\n  expected: " in said
    assert "\n  next: " in said


@pytest.mark.parametrize("encoding", ["utf-8", "ISO-8859-1", "utf-16", "none"])
def test_what_is_utf_8_is_read_as_that(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "x.svd"
    text = A.replace("</name>", "</name><description>µ-Zähler</description>")
    path.write_text(
        f'<?xml version="1.0" encoding="{encoding}"?>\n'
        f"<device><peripherals>{text}</peripherals></device>",
        encoding="utf-8",
    )
    (only,) = load_svd(path).ranges
    assert only.source == "µ-Zähler"
