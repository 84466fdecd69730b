"""Profiles that say what differs from another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.errors import InputError, InputErrors
from wcetchar.model.access import EventKind, Operation
from wcetchar.store import load_profile, load_profile_text, locate
from wcetchar.store.based_on import with_base
from wcetchar.store.document import PROFILE, read_document
from wcetchar.store.source import places_of

BASE = """\
schema: wcetchar/hardware-profile/1
name: base
description: of the base
core:
  name: c
  clock: 100 MHz
  events: {alu: 1 cycle, load: 2 cycles}
  data cache: {line: 32, size: 4 KiB, ways: 1}
  write buffer: 1
regions:
  ram: {kind: memory, bus width: 32, read: 3 cycles, load miss penalty: 9 cycles}
  rom: {kind: memory, bus width: 32, read: {first: 4 cycles, next: 2 cycles}}
default map: {.data: ram}
"""
HEAD = "schema: wcetchar/hardware-profile/1\nname: own\n"


def written(folder: Path, own: str, base: str = BASE) -> str:
    (folder / "base.yaml").write_text(base)
    file = folder / "own.yaml"
    file.write_text(HEAD + own)
    return str(file)


def mistakes(path: str) -> list[InputError]:
    with pytest.raises((InputError, InputErrors)) as caught:
        load_profile(path)
    errors = caught.value
    return errors.errors if isinstance(errors, InputErrors) else [errors]


@pytest.mark.parametrize(
    ("said", "call"),
    [
        ("{exception entry: 90 cycles}", EventKind.EXCEPTION_ENTRY),
        (
            "{exception entry: 90 cycles, supervisor call entry: 7 cycles}",
            EventKind.SUPERVISOR_CALL_ENTRY,
        ),
        ("{alu: 2 cycles}", EventKind.SUPERVISOR_CALL_ENTRY),
    ],
)
def test_entries_of_other_hardware(said: str, call: EventKind, tmp_path: Path) -> None:
    """What the entry of an exception takes anew, that of a supervisor call does as well."""
    both = "alu: 1 cycle, exception entry: 9 cycles, supervisor call entry: 6 cycles"
    base = BASE.replace("alu: 1 cycle", both)
    found = load_profile(written(tmp_path, f"based on: base.yaml\ncore:\n  events: {said}\n", base))
    assert found.core.priced_as(EventKind.SUPERVISOR_CALL_ENTRY) is call


@pytest.mark.parametrize(
    ("said", "behind", "across"),
    [
        ("{system register wait: 4 cycles}", "wait", "wait"),
        ("{system register wait behind a transfer: 3 cycles}", "behind", "behind"),
        ("{system register wait across words: 1 cycle}", "behind", "across"),
        ("{alu: 2 cycles}", "behind", "across"),
    ],
)
def test_waits_of_other_hardware(said: str, behind: str, across: str, tmp_path: Path) -> None:
    """What takes no more than another event is not known where that is said anew."""
    kinds = {
        "wait": EventKind.SYSTEM_WAIT,
        "behind": EventKind.SYSTEM_WAIT_TRANSFER,
        "across": EventKind.SYSTEM_WAIT_CROSSING,
    }
    all_of_them = ", ".join(f"{kind.value}: 2 cycles" for kind in kinds.values())
    base = BASE.replace("alu: 1 cycle", f"alu: 1 cycle, {all_of_them}")
    found = load_profile(written(tmp_path, f"based on: base.yaml\ncore:\n  events: {said}\n", base))
    assert found.core.priced_as(EventKind.SYSTEM_WAIT_TRANSFER) is kinds[behind]
    assert found.core.priced_as(EventKind.SYSTEM_WAIT_CROSSING) is kinds[across]


def test_what_differs(tmp_path: Path) -> None:
    found = load_profile(
        written(
            tmp_path,
            """\
based on: base.yaml
core:
  events: {load: 5 cycles, store: 7 cycles}
  data cache: none
regions:
  ram: {load miss penalty: none, write: 8 cycles}
  rom: {read: {next: 1 cycle}}
  more: {kind: peripheral, bus width: 8, read: 1 cycle}
default map: {.rodata: rom}
""",
        )
    )
    assert (found.name, found.description) == ("own", "")
    events = {kind: int(time.high) for kind, time in found.core.events.items()}
    assert events == {EventKind.ALU: 1, EventKind.LOAD: 5, EventKind.STORE: 7}
    assert (found.core.data_cache, found.core.write_buffer) == (None, 1)
    assert list(found.regions) == ["ram", "rom", "more"]
    ram, rom = found.regions["ram"].times, found.regions["rom"].times
    assert {o: int(t.first.high) for o, t in ram.items()} == {Operation.READ: 3, Operation.WRITE: 8}
    assert (int(rom[Operation.READ].first.high), int(rom[Operation.READ].next.high)) == (4, 1)
    assert found.default_map == {".data": "ram", ".rodata": "rom"}


def test_a_value_in_the_place_of_a_mapping_and_the_other_way_round(tmp_path: Path) -> None:
    regions = "{rom: {read: 9 cycles}, ram: {read: {first: 2 cycles, next: 1 cycle}}}"
    found = load_profile(written(tmp_path, f"based on: base.yaml\nregions: {regions}\n")).regions
    times = {name: region.times[Operation.READ] for name, region in found.items()}
    assert {name: (int(t.first.high), int(t.next.high)) for name, t in times.items()} == {
        "rom": (9, 9),
        "ram": (2, 1),
    }


def test_one_that_is_based_on_another_one(tmp_path: Path) -> None:
    folder = tmp_path / "boards"
    folder.mkdir()
    written(tmp_path, "based on: base.yaml\ncore: {events: {alu: 3 cycles}}\n")
    last = folder / "last.yaml"
    last.write_text(HEAD + "based on: ../own.yaml\ncore: {events: {load: 4 cycles}}\n")
    events = load_profile(str(last)).core.events
    assert [int(events[kind].high) for kind in (EventKind.ALU, EventKind.LOAD)] == [3, 4]


def test_a_shipped_one(tmp_path: Path) -> None:
    path = written(tmp_path, "based on: vexriscv/imc-zero-wait\ncore: {clock: 50 MHz}\n")
    own, base = load_profile(path), load_profile("vexriscv/imc-zero-wait")
    assert own.regions == base.regions
    assert own.core.events == base.core.events
    assert own.core.clock.high * 2 == base.core.clock.high


@pytest.mark.parametrize(
    ("own", "line", "says"),
    [
        ("based on: nowhere\n", 3, "no such hardware profile: `nowhere`"),
        ("based on: [base.yaml]\n", 3, "a list is no profile"),
        ("based on: own.yaml\n", 3, "`own.yaml` is based on this profile"),
        ("based on: base.yaml\ncore: {events: {store: none}}\n", 4, "has no `store` to leave out"),
        ("based on: base.yaml\ncore: {events: {lood: 1 cycle}}\n", 4, "lood"),
        ("based on: base.yaml\nregions: {ram: {read: 5}}\n", 4, "5"),
        ("based on: base.yaml\nregions: {ram: none}\n", 4, ""),
    ],
)
def test_mistakes_are_in_the_own_file(tmp_path: Path, own: str, line: int, says: str) -> None:
    path = written(tmp_path, own)
    found = [e for e in mistakes(path) if says in e.message]
    if says:
        (one,) = found
        assert one.where is not None
        assert (one.where.file, one.where.line) == (path, line)
        assert one.expected


def test_mistakes_of_the_other_file_are_in_that_one(tmp_path: Path) -> None:
    base = BASE.replace("clock: 100 MHz", "clock: 100 cycles").replace(
        "bus width: 32", "bus: 32", 1
    )
    path = written(tmp_path, "based on: base.yaml\nregions: {ram: {kind: paper}}\n", base)
    places = {(Path(e.where.file).name, e.where.line) for e in mistakes(path) if e.where}
    # Key by key: what stands in the base is there; what lacks is where the region is begun anew.
    assert ("base.yaml", 6) in places
    assert ("base.yaml", 11) in places
    assert ("own.yaml", 4) in places


def test_two_that_are_based_on_one_another(tmp_path: Path) -> None:
    base = BASE.replace("name: base", "name: base\nbased on: own.yaml")
    (one,) = mistakes(written(tmp_path, "based on: base.yaml\n", base))
    assert "is based on this profile" in one.message
    assert one.where is not None
    assert Path(one.where.file).name == "base.yaml"


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    (one,) = mistakes(
        written(tmp_path, "based on: base.yaml\n", "schema: wcetchar/section-map/1\n")
    )
    assert one.where is not None
    assert Path(one.where.file).name == "base.yaml"


def test_places(tmp_path: Path) -> None:
    path = written(tmp_path, "based on: base.yaml\nregions:\n  rom: {read: 1 cycle}\n")
    base = str(tmp_path / "base.yaml")
    for keys, file, line in (
        (("regions", "rom", "read"), path, 5),
        (("regions", "rom", "bus_width"), base, 12),
        (("regions", "ram", "read"), base, 11),
        (("core", "events", "load"), base, 7),
        # Of a mapping that another value stands in the place of nothing is left.
        (("regions", "rom", "read", "next"), path, 5),
        (("core", "other events"), base, 5),
    ):
        where = locate(path, *keys)
        assert (where.file, where.line) == (file, line), keys


def test_times_that_stand_elsewhere_are_not_fitted(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not all of its times stand in it") as caught:
        load_profile_text(written(tmp_path, "based on: base.yaml\n"))
    assert caught.value.where is not None
    assert caught.value.where.line == 3


LEAVES = st.sampled_from(["1 cycle", "2 cycles", "x"])
TREES = st.recursive(
    LEAVES, lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, min_size=1), max_leaves=12
)
MAPPINGS = st.dictionaries(st.sampled_from("abcd"), TREES)


def leaves(tree: object, steps: tuple[str, ...] = ()) -> dict[tuple[str, ...], object]:
    if not isinstance(tree, dict):
        return {steps: tree}
    return {k: v for key, value in tree.items() for k, v in leaves(value, (*steps, key)).items()}


def flow(tree: object) -> str:
    """As YAML writes it on one line."""
    if not isinstance(tree, dict):
        return str(tree)
    return "{" + ", ".join(f"{key}: {flow(value)}" for key, value in tree.items()) + "}"


@given(base=MAPPINGS, own=MAPPINGS)
def test_each_value_is_of_the_own_file_or_else_of_the_other_one(
    tmp_path_factory: pytest.TempPathFactory, base: dict[str, Any], own: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("p")
    text = f"schema: {PROFILE}\nname: base\nall: {flow(base)}\n"
    path = written(folder, f"based on: base.yaml\nall: {flow(own)}\n", text)
    source = with_base(read_document(path, PROFILE))
    assert source.mistakes == []
    assert isinstance(source.data, dict)
    mine, others = leaves(own), leaves(base)

    def said(steps: tuple[str, ...]) -> bool:
        """The own file has a value there, above it or below it."""
        return any(
            steps[: len(one)] == one or one[: len(steps)] == steps for one in mine if one != ()
        )

    expected = {**{steps: v for steps, v in others.items() if not said(steps)}, **mine}
    expected.pop((), None)
    assert leaves(source.data["all"]) == expected
    for steps, where in places_of(source).items():
        if steps[:1] == ("all",) and steps[1:] in expected:
            assert Path(where.file).name == ("own.yaml" if steps[1:] in mine else "base.yaml")
