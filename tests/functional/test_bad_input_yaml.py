"""Hardware profiles, section maps and values that ``wcetchar estimate`` cannot use.

What each file format refuses is tested one by one beside its reader; here is what a user sees.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from bad_input import (
    CHARACTERIZATION,
    MAP,
    PRICE,
    PROFILE,
    SERVICES,
    files,
    process,
    refused,
    run,
    write,
)
from click.testing import Result


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("k.json", CHARACTERIZATION)
    write("p.yaml", PROFILE)
    write("m.yaml", MAP)


def estimate(*options: str) -> Result:
    return run("estimate", "k.json", "--profile", "p.yaml", "--map", "m.yaml", *options)


def bad_profile(old: str, new: str, times: int = 1) -> Result:
    assert old in PROFILE
    write("p.yaml", PROFILE.replace(old, new, times))
    return estimate()


def bad_map(old: str, new: str) -> Result:
    assert old in MAP
    write("m.yaml", MAP.replace(old, new))
    return estimate()


def places(error: str) -> list[tuple[str, int, int]]:
    found = re.findall(r"^([a-z.]+):([0-9]+):([0-9]+): ", error, re.MULTILINE)
    return [(file, int(line), int(column)) for file, line, column in found]


def test_the_good_inputs_are_good() -> None:
    document = json.loads(estimate("--json").stdout)
    assert [e["total_ns"] for e in document["estimates"]] == [4 * PRICE]


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ("100 MHz", "100 Mhz", "5:10", "did you mean `MHz`?"),
        ("100 MHz", "100 ns", "5:10", "is not a unit of frequency"),
        ("100 MHz", "100", "5:10", "has no unit"),
        ("100 MHz", "0 MHz", "5:10", "can be zero"),
        ("read: 7 ns", "read: -7 ns", "23:11", "`-7 ns` is negative"),
        ("read: 7 ns", "read: 7 ns +- 8 ns", "23:11", "is negative"),
        ("read: 7 ns", "read: 7 mns", "23:11", "is not a unit of time"),
        ("read: 7 ns", "read: 7 MHz", "23:11", "is not a unit of time"),
        ("read: 7 ns", "read: 1e1 ns", "23:11", "is not a time"),
        ("write: 10 ns", "wirte: 10 ns", "24:5", "did you mean `write`?"),
        ("bus width: 32", "bus width: 31", "13:16", "cannot be `31` bits wide"),
        ("kind: memory", "kind: memroy", "12:11", "did you mean `memory`?"),
        ("base: 0x20000000", "base: 0xfff0", "21:11", "overlaps the region `flash`"),
        ("alu: 1 cycles", "alu: 010 cycles", "7:10", "is not a time"),
        ("base: 0x20000000", "base: 010", "21:11", "has a leading zero"),
        ("base: 0x20000000", "base: 12:30", "21:11", "base-60"),
        (
            "name: board",
            "name: board\nname: again",
            "3:1",
            "is given twice; it first stands at p.yaml:2:1",
        ),
        ("    alu: 1 cycles\n", "    alu: 1 cycles\n    alu: 9 cycles\n", "8:5", "given twice"),
        (
            "schema: wcetchar/hardware-profile/1",
            "schema: wcetchar/hardware-profile/2",
            "1:9",
            "use a wcetchar that reads",
        ),
    ],
)
def test_one_mistake_of_a_profile(old: str, new: str, place: str, said: str) -> None:
    error = refused(bad_profile(old, new), 3, said)
    assert error.startswith(f"p.yaml:{place}: "), error


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ("  data: sram\n", "", "4:3", "no region holds section data"),
        ("data: sram", "dta: sram", "4:3", "no region holds section data"),
        (".text: flash", ".text: falsh", "4:10", "region falsh, which profile board does not have"),
        ("data: sram", "data: flash", "5:9", "needs write, which region flash of profile board"),
        (".text: flash", ".text: sram", "4:10", "needs fetch, which region sram of profile board"),
        ("N: 4", "N: 40", "7:6", "out of range: 40"),
        ("N: 4", "N: 0", "7:6", "N from 1 to 6: turns"),
        ("N: 4", "N: 4.5", "7:6", "a whole number"),
        ("N: 4", "N: '4'", "7:6", "a whole number"),
        ("N: 4", "N: true", "7:6", "a whole number"),
        ("N: 4", "N: .inf", "7:6", "a whole number"),
        ("N: 4", "N: 010", "7:6", "`010` has a leading zero"),
        ("N: 4", "N: 12:30", "7:6", "`12:30` looks like a base-60 number"),
        ("N: 4", "N:", "7:3", "there is no value"),
        ("N: 4", "M: 4", "7:3", "walk needs a value for N (turns)"),
        ("N: 4", "N: 99999999999999999999999", "7:6", "9223372036854775807"),
        ("sections:", "setcions:", "1:1", "did you mean `sections`?"),
        ("  data", "\tdata", "5:1", "not valid YAML"),
        ("name: placed", "name: !!python/object/apply:os.system [id]", "2:7", "the tag"),
        ("name: placed", "name: &a placed", "2:7", "the anchor"),
        ("name: placed", "name: *a", "2:7", "the alias"),
        ("name: placed", "name: [placed", "3:9", "not valid YAML"),
        (MAP, "", "1:1", "is empty"),
        (MAP, "- a\n", "1:1", "not a mapping"),
        (MAP, MAP + "---\n" + MAP, "8:1", "a second document begins"),
        (MAP, MAP + "x: " + "[" * 100_000, "8:35", "nested too deeply"),
        (MAP, MAP + "? [a]\n: b\n", "8:3", "a key is not text"),
    ],
)  # fmt: skip
def test_one_mistake_of_a_map(old: str, new: str, place: str, said: str) -> None:
    error = refused(bad_map(old, new), 3, said)
    assert error.startswith(f"m.yaml:{place}: "), error


def test_a_region_that_there_is_not_is_told_once() -> None:
    """At the first section that lies there, with all of them."""
    error = refused(bad_map(".text: flash\n  data: sram", "data: falsh\n  .text: falsh"), 3)
    assert places(error) == [("m.yaml", 4, 9)]
    assert "sections .text, data are placed in region falsh, which profile board" in error


def test_all_mistakes_of_a_file_in_its_order() -> None:
    text = PROFILE + "name: again\n"
    for old, new in (
        ("100 MHz", "100 Mhz"),
        ("kind: memory", "kind: memroy"),
        ("bus width: 32", "bus width: 33"),
        ("read: 7 ns", "read: -7 ns"),
        ("write: 10 ns", "wirte: 10 ns"),
        ("base: 0x20000000", "base: 0x8000"),
    ):
        text = text.replace(old, new)
    write("p.yaml", text)
    error = refused(estimate(), 3)
    assert places(error) == [
        ("p.yaml", *place)
        for place in (
            *((5, 10), (12, 11), (13, 16), (19, 11), (20, 16)),
            *((21, 11), (23, 11), (24, 5), (25, 1)),
        )
    ]


def test_prices_that_a_profile_lacks() -> None:
    write("p.yaml", PROFILE.replace("    alu: 1 cycles\n", "").replace("    store: 2 cycles\n", ""))
    error = refused(estimate(), 3, "no time for core event 'alu'", "no time for core event 'store'")
    assert {place[0] for place in places(error)} == {"p.yaml"}
    assert "needed by walk" in error
    error = refused(bad_profile("    write: 10 ns\n", ""), 3, "section data needs write")
    assert places(error) == [("m.yaml", 5, 9)]


def test_what_is_placed_or_given_without_need_is_said() -> None:
    result = bad_map("  data: sram\n", "  data: sram\n  extra: sram\n")
    assert result.exit_code == 0
    assert "places extra, which this characterization does not have" in result.stdout
    result = bad_map("  N: 4\n", "  N: 4\n  M: 1\n")
    assert result.exit_code == 0
    assert "gives M, which no service of this characterization has" in result.stdout


@pytest.mark.parametrize(
    ("values", "code", "said"),
    [
        (("N=0",), 3, "--set: N of walk (turns) is out of range: 0"),
        (("N=7",), 3, "N from 1 to 6: turns"),
        (("N=-1",), 3, "out of range: -1"),
        (("N=" + "9" * 40,), 3, "out of range"),
        (("M=3",), 3, "--set: no selected service has a parameter M"),
        (("N=1.5",), 2, "NAME=VALUE"),
        (("N=x",), 2, "NAME=VALUE"),
        (("N=",), 2, "NAME=VALUE"),
        (("N",), 2, "NAME=VALUE"),
        (("N=1e3",), 2, "NAME=VALUE"),
        (("N=4_0",), 2, "NAME=VALUE"),
        (("N=\uff11",), 2, "NAME=VALUE"),  # a digit, but not of ASCII
        (("N=0b1",), 2, "NAME=VALUE"),
        (("N=" + "9" * 5000,), 2, "NAME=VALUE"),
        (("N=1", "N=2"), 2, "two values"),
    ],
)
def test_values_on_the_command_line(values: tuple[str, ...], code: int, said: str) -> None:
    options = [word for value in values for word in ("--set", value)]
    refused(estimate(*options), code, said)


def test_no_value_at_all() -> None:
    write("m.yaml", MAP.replace("parameters:\n  N: 4\n", ""))
    error = refused(estimate(), 3, "walk needs a value for N (turns)", "--set N=VALUE", "--maximum")
    assert places(error)[0][0] == "k.json"  # a map that gives no values need not give any


def test_every_missing_value_at_once() -> None:
    document = json.loads(CHARACTERIZATION)
    second = json.loads(json.dumps(document["services"][0]))
    second["name"] = "run"
    document["services"].append(second)
    write("k.json", json.dumps(document, indent=1))
    write("m.yaml", MAP.replace("parameters:\n  N: 4\n", ""))
    refused(estimate(), 3, "2 services need a value for N: walk, run")


def test_a_characterization_may_have_any_file_name() -> None:
    write("k.char", CHARACTERIZATION + " " * 300_000)  # more than a YAML file may have
    write("p.yaml", PROFILE + "default map: {.text: flash, data: sram}\n")
    result = run("estimate", "k.char", "--profile", "p.yaml")
    error = refused(result, 3, "walk needs a value for N")
    assert re.match(r"k\.char:12:3: ", error), error


def test_names_that_are_not_there() -> None:
    result = run("estimate", "k.json", "--profile", "cortex-m3/flash-3wss")
    refused(result, 3, "did you mean `cortex-m3/flash-3ws`?")
    refused(estimate("--service", "wlak"), 3, "no service wlak", "did you mean `walk`?")
    result = run("estimate", "k.json", "--profile", "p.yaml")
    refused(result, 2, "profile board has no default map", "--map")


def test_bytes_that_are_no_text() -> None:
    write("m.yaml", MAP.encode().replace(b"placed", b"pl\xe4ced"))
    refused(estimate(), 3, "m.yaml:2:9: byte 0xe4 is not UTF-8 text")
    write("m.yaml", MAP.encode("utf-16"))
    refused(estimate(), 3, "m.yaml:1:1: byte 0xff is not UTF-8 text")
    write("m.yaml", b"\0" * 100)
    refused(estimate(), 3, "m.yaml: not valid YAML")


def test_sizes_are_bounded() -> None:
    write("m.yaml", MAP + 'x: "' + "y" * 10_000_000 + '"\n')
    refused(estimate(), 3, "m.yaml: is larger than", "at most")
    write("p.yaml", "a: [" * 2 + "b, " * 60_000)
    refused(estimate(), 3, "p.yaml:1:", "too many values")


def test_a_billion_laughs() -> None:
    text = MAP + "a: &a [" + ", ".join("x" * 9) + "]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        text += f"{name}: &{name} [" + ", ".join([f"*{before}"] * 9) + "]\n"
    write("m.yaml", text)
    refused(estimate(), 3, "m.yaml:8:4: the anchor `&a` is not read", "remove the anchor")


def test_files_of_another_kind() -> None:
    write("s.yaml", SERVICES)
    for name, said in (
        ("p.yaml", "wcetchar/section-map/1"),
        ("s.yaml", "wcetchar/section-map/1"),
    ):
        result = run("estimate", "k.json", "--profile", "p.yaml", "--map", name)
        refused(result, 3, f"{name}:1:9: the file is of schema", said, "give the right file")
    result = run("estimate", "k.json", "--profile", "m.yaml", "--map", "m.yaml")
    refused(result, 3, "m.yaml:1:9: ", "wcetchar/hardware-profile/1")
    Path("folder").mkdir()
    result = run("estimate", "k.json", "--profile", "folder", "--map", "m.yaml")
    refused(result, 3, "folder: is a folder, not a file")
    result = run("estimate", "k.json", "--profile", "/dev/zero", "--map", "m.yaml")
    refused(result, 3, "/dev/zero: is a device or a pipe, not a file")


def test_the_program_ends_with_the_same_status() -> None:
    write("m.yaml", MAP.replace("N: 4", "N: 40"))
    write("out.txt", "older")
    before = files(Path())
    options = ("--profile", "p.yaml", "--map", "m.yaml", "-o", "out.txt")
    refused(process("estimate", "k.json", *options), 3, "m.yaml:7:6: ")
    assert Path("out.txt").read_text() == "older"
    assert files(Path()) == before
