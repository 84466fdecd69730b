"""Campaign files: the cells that they span, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import wcetchar
from wcetchar.errors import InputError, InputErrors
from wcetchar.model.campaign import Build, Campaign, expand, placeholders
from wcetchar.store import load_campaign

GOOD = """\
schema: wcetchar/campaign/1
name: kernel
axes:
  board:
    a: {machine: mps2-an385}
    b: {machine: virt, flag: -x}
  heap: {heap_4: {}, 1: {}, heap-2.0: {}}
variables: {flag: ""}
include:
  - board: a
  - {board: [b], heap: [heap_4, 1]}
exclude:
  - {heap: heap-2.0}
build:
  command: [make, "BOARD={board}", "HEAP={heap}", "{flag}", -j, "{jobs}"]
  directory: "{board}"
  environment: {OUT: "{output}/{{build}}"}
  timeout: 60
firmware: "{board}/{cell}.elf"
services: [services.yaml, "{heap}.yaml"]
machine: "{machine}"
capture: {leave out: [idle], marked: true, timeout: 5}
set: {N: "{heap}", s.M: 4}
partial: true
"""
SHORT = """\
schema: wcetchar/campaign/1
name: kernel
axes: {board: {a: {}}}
firmware: f.elf
services: [s.yaml]
machine: virt
"""

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> str:
        path = tmp_path / "c.yaml"
        path.write_text(text)
        return str(path)

    return write


def mistakes(path: str) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        load_campaign(path)
    errors = caught.value.errors if isinstance(caught.value, InputErrors) else [caught.value]
    return [(str(e.where).removeprefix(path + ":"), e.message) for e in errors]


def test_everything_is_read(write: Write) -> None:
    found = load_campaign(write(GOOD))
    assert found.build == Build(
        ("make", "BOARD={board}", "HEAP={heap}", "{flag}", "-j", "{jobs}"),
        "{board}",
        {"OUT": "{output}/{{build}}"},
        60,
    )
    assert (found.firmware, found.machine) == ("{board}/{cell}.elf", "{machine}")
    assert found.services == ("services.yaml", "{heap}.yaml")
    assert (found.leave_out, found.marked, found.timeout, found.partial) == (
        ("idle",),
        True,
        5,
        True,
    )
    assert found.values == {"N": "{heap}", "s.M": "4"}
    assert str(found.where("build", "command")).endswith(":15:12")


def test_the_cells_are_the_matrix_less_what_is_left_out(write: Write) -> None:
    cells = load_campaign(write(GOOD)).cells()
    assert [cell.name for cell in cells] == ["a+heap_4", "a+1", "b+heap_4", "b+1"]
    assert cells[3].values == {"board": "b", "heap": "1"}
    assert cells[0].variables == {
        "board": "a",
        "heap": "heap_4",
        "machine": "mps2-an385",
        "flag": "",
    }
    assert cells[3].variables["flag"] == "-x"


def test_a_short_file_has_defaults(write: Write) -> None:
    found = load_campaign(write(SHORT))
    assert (found.build, found.marked, found.partial, found.timeout) == (None, False, False, 600)
    assert [cell.name for cell in found.cells()] == ["a"]


def test_placeholders() -> None:
    assert list(placeholders("{a}{{b}} {c_1}{ }")) == ["a", "c_1", " "]
    assert list(placeholders("a}b{")) == ["}", "{"]
    assert expand("{a}{{a}}{b}", {"a": "{b}", "b": "2"}) == "{b}{a}2"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("{cell}.elf", "{cel}.elf", ("19:11", "the placeholder `{cel}` is not defined")),
        ("BOARD={board}", "{", ("15:19", "a brace in `{` belongs to no placeholder")),
        ("[services.yaml,", "['services}yaml',", ("20:12", "a brace in `services}yaml` belongs")),
        ("{output}/", "{out}/", ("17:22", "the placeholder `{out}` is not defined")),
        ("leave out: [idle]", 'leave out: ["{i}"]', ("22:23", "the placeholder `{i}` is not")),
        ("b: {machine: virt, flag", "b: {flag", ("6:5", "`b` does not define `machine`")),
        ('flag: ""', 'board: ""', ("8:13", "`board` is an axis")),
        ('flag: ""', 'flag: "", jobs: 1', ("8:23", "`jobs` stands for the number of processor")),
        ('flag: ""', 'flag: "", a-b: 1', ("8:23", "`a-b` cannot be a name")),
        ("heap_4: {}, 1", "heap_4: {machine: z}, 1", ("7:19", "`machine` is also defined by")),
        ("heap-2.0: {}", "../x: {}", ("7:29", "`../x` cannot name a value")),
        ("heap-2.0: {}", "a+b: {}", ("7:29", "`a+b` cannot name a value")),
        ("- board: a", "- bord: a", ("10:5", "`bord` is no axis")),
        ("- board: a", "- board: c", ("10:12", "`c` is no value of the axis `board`")),
        ("- board: a", "- board: [a, c]", ("10:16", "`c` is no value of the axis `board`")),
        ("- board: a", "- {}", ("10:5", "this names no axis")),
        ("- board: a", "- board: {}", ("10:12", "a mapping is no value of an axis")),
        ("{heap: heap-2.0}", "{board: [a, b]}", ("12:1", "no cell is left")),
        ('N: "{heap}"', 'N: "{hep}"', ("23:10", "the placeholder `{hep}` is not defined")),
        ("timeout: 60", "timeout: 0", ("18:12", "`0` cannot stand here")),
        ("marked: true", "marked: yes", ("22:38", "`yes` cannot stand here")),
        ("axes:\n", "axis:\n", ("1:1", "the key `axes` is missing")),
    ],
)
def test_one_mistake(write: Write, old: str, new: str, expected: tuple[str, str]) -> None:
    assert GOOD.count(old) == 1
    found = mistakes(write(GOOD.replace(old, new)))
    place, message = expected
    assert any(at == place and said.startswith(message) for at, said in found), found


def test_all_mistakes_come_at_once_in_place(write: Write) -> None:
    text = GOOD.replace("{cell}.elf", "{cel}.elf").replace("- board: a", "- board: c")
    text = text.replace("timeout: 5}", "timeout: -5, x: 1}")
    assert [place for place, _ in mistakes(write(text))] == ["10:12", "19:11", "22:53", "22:57"]


def test_a_matrix_has_a_limit(write: Write) -> None:
    axis = ", ".join(f"v{n}: {{}}" for n in range(101))
    text = SHORT.replace("{a: {}}", f"{{{axis}}}, two: {{{axis}}}")
    assert mistakes(write(text)) == [("3:1", "the axes span 10201 combinations")]


def test_another_kind_of_file_gets_one_message(write: Write) -> None:
    (found,) = mistakes(write("schema: wcetchar/services/1\naxes: 3\n"))
    assert found == ("1:9", "the file is of schema `wcetchar/services/1`")


def test_the_shipped_campaigns_read() -> None:
    root = Path(wcetchar.__file__).resolve().parents[1]
    found = sorted(root.glob("rtos_tests/*/campaign.yaml"))
    if not found:
        pytest.skip("not run from a checkout")
    for path in found:
        campaign: Campaign = load_campaign(str(path))
        assert campaign.cells()
        for cell in campaign.cells():
            for name in campaign.services:
                services = path.parent / expand(name, cell.variables)
                assert services.is_file(), (cell.name, name)


FURTHER = """\
further services:
  - {files: [more.yaml], cells: {heap: [heap_4, heap-2.0]}}
  - {files: ["{board}.yaml", b.yaml], cells: {board: b, heap: heap_4}}
"""


def test_services_files_that_only_some_cells_have(write: Write) -> None:
    found = load_campaign(write(GOOD + FURTHER))
    assert {cell.name: found.services_of(cell)[2:] for cell in found.cells()} == {
        "a+heap_4": ("more.yaml",),
        "a+1": (),
        "b+heap_4": ("more.yaml", "{board}.yaml", "b.yaml"),
        "b+1": (),
    }


def test_further_services_that_are_wrong(write: Write) -> None:
    wrong = """\
further services:
  - {files: ["{bord}.yaml"], cells: {heap: heap_4}}
  - {files: [x.yaml], cells: {bord: a}}
  - {files: [x.yaml], cells: {board: c}}
  - {files: [x.yaml], cells: {}}
"""
    first = GOOD.count("\n") + 2
    found = mistakes(write(GOOD + wrong))
    assert [(int(place.split(":")[0]), message) for place, message in found] == [
        (first, "the placeholder `{bord}` is not defined"),
        (first + 1, "`bord` is no axis"),
        (first + 2, "`c` is no value of the axis `board`"),
        (first + 3, "this names no axis"),
    ]


def test_what_a_build_needs(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        "schema: wcetchar/campaign/1\nname: n\naxes: {a: {one: {}}}\nfirmware: f.elf\n"
        "services: [s.yaml]\nmachine: virt\nbuild:\n  command: [make]\n"
        "  needs: {SDK: where the kit is, OTHER: a second one}\n"
    )
    found = load_campaign(str(path))
    assert found.build is not None
    assert found.build.needs == {"SDK": "where the kit is", "OTHER": "a second one"}
    assert found.where("build", "needs", "SDK").line == 9


SWEPT = (
    SHORT
    + """\
sweep: {N: 1..3, W: [0, 8]}
capture: {initialize: {tasks: "{N}", waiting: "{W}"}}
set: {N: "{N}"}
"""
)


def test_a_sweep_is_every_combination(write: Write) -> None:
    found = load_campaign(write(SWEPT))
    assert found.sweep == {"N": (1, 2, 3), "W": (0, 8)}
    assert found.initial == {"tasks": "{N}", "waiting": "{W}"}
    assert found.points() == tuple({"N": n, "W": w} for n in ("1", "2", "3") for w in ("0", "8"))
    assert load_campaign(write(SHORT)).points() == ({},)
    assert load_campaign(write(SWEPT.replace("[0, 8]", "4"))).sweep["W"] == (4,)


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ("1..3", "3..1", ("7:12", "the lower end of `3..1` is above its upper end")),
        ("1..3", "1..1001", ("7:12", "`1..1001` is too long")),
        ("1..3", "1..600", ("7:1", "the sweep spans 1200 runs")),
        ("1..3", "[]", ("7:12", "a list gives no values")),
        ("1..3", "[1, x]", ("7:12", "a list gives no values")),
        ("1..3", "[1, 0x1]", ("7:12", "a value stands there twice")),
        ("N: 1..3", "board: 1..3", ("7:9", "`board` is defined already")),
        ("N: 1..3", "jobs: 1..3", ("7:9", "`jobs` is defined already")),
        ("N: 1..3", "N-1: 1..3", ("7:9", "`N-1` cannot be a name")),
        ("W: [0, 8]", "W: [0, 8], M: 1", ("7:29", "`{M}` is used nowhere")),
        (
            "firmware: f.elf",
            'firmware: "{N}.elf"',
            ("4:11", "the placeholder `{N}` is not defined"),
        ),
    ],
)
def test_what_a_sweep_cannot_be(write: Write, old: str, new: str, mistake: tuple[str, str]) -> None:
    assert SWEPT.count(old) == 1
    found = mistakes(write(SWEPT.replace(old, new)))
    assert mistake in found, found
