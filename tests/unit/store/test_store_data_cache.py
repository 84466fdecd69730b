"""Data caches in profiles, maps and characterizations: what is read and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_store_characterization import FULL
from test_store_fetched_lines import NO_GEOMETRY, profile

from wcetchar.errors import InputError, InputErrors
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.section_map import Assumption, CacheState
from wcetchar.report.profile import view_of
from wcetchar.store import characterization_json, load_characterization, load_map, load_profile

PROFILE = """\
schema: wcetchar/hardware-profile/1
name: board
core:
  name: core
  clock: 100 MHz
  data cache: {line: 32, size: 4 KiB, ways: 1}
regions:
  ram: {kind: memory, bus width: 32, read: 1 cycle, load miss penalty: 9..11 cycles}
"""


def test_a_data_cache_of_a_profile(tmp_path: Path) -> None:
    found = profile(tmp_path, PROFILE)
    assert found.core.instruction_cache is None
    assert found.core.data_cache.geometry == CacheGeometry(32, 128)
    assert found.core.data_cache.load_behind_store is None
    assert found.regions["ram"].load_miss_penalty.high == 11
    assert found.regions["ram"].line_refill is None
    more = PROFILE.replace("ways: 1", "ways: 2, replacement: lru, load behind store: 7 cycles")
    cache = profile(tmp_path, more).core.data_cache
    assert cache.geometry == CacheGeometry(32, 64, 2)
    assert (cache.load_behind_store.high, cache.load_behind_store.unit.value) == (7, "cycles")


def test_a_data_cache_in_words() -> None:
    words = view_of(load_profile("vexriscv/imac-board-d"), ()).words
    assert "data cache of 4096 bytes in lines of 32, direct mapped, that stores go through" in words
    assert "14 cycles more for a load from data that misses" in words
    assert "7 cycles for a load right behind a store to the same bytes" in words


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        *NO_GEOMETRY,
        ("ways: 1", "ways: 1, hides stalls: true", "`hides stalls` is not known"),
        ("read: 1 cycle", "read: 1 cycle, access: 1 cycle", "may be a load that misses"),
        (", load miss penalty: 9..11 cycles", "", "no region says what a miss takes"),
        ("  data cache: {line: 32, size: 4 KiB, ways: 1}\n", "", "the core has no data cache"),
        ("clock: 100 MHz", "clock: 100 MHz\n  events: {line load 32 x1: 1 cycle}", "no price of"),
        ("clock: 100 MHz", "clock: 100 MHz\n  events: {load behind store: 1 cycle}", "no price of"),
    ],
)
def test_data_caches_that_are_none(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert old in PROFILE
    with pytest.raises((InputError, InputErrors)) as caught:
        profile(tmp_path, PROFILE.replace(old, new))
    assert said in str(caught.value)


MAP = """\
schema: wcetchar/section-map/1
name: mine
sections: {heap: ram}
assumptions: [data alignment]
data cache: cold
"""


def test_a_data_cache_of_a_map(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(MAP)
    found = load_map(str(path))
    assert found.data_cache is CacheState.COLD
    assert found.instruction_cache is CacheState.ALWAYS_MISS
    assert found.assumptions == {Assumption.DATA_ALIGNMENT}
    path.write_text(MAP.replace("data cache: cold\n", ""))
    assert load_map(str(path)).data_cache is CacheState.ALWAYS_MISS
    path.write_text(MAP.replace("cold", "warm"))
    assert load_map(str(path)).data_cache is CacheState.WARM
    path.write_text(MAP.replace("cold", "hot"))
    with pytest.raises(InputError, match="the state `hot` of a cache is not known"):
        load_map(str(path))


def test_a_characterization_says_which_lines_it_counts(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    document = json.loads(characterization_json(FULL))
    assert "data_lines" not in document
    row = next(r for s in document["services"] for r in s["counts"].get("rows", ()))
    section = document["sections"][0]["name"]
    row["counts"].append({"section": section, "event": "line load 32 x1 emptied", "count": 3})
    for counted, said in (
        ({}, "`data_lines` does not name"),
        ({"data_lines": [16]}, "`data_lines` does not name"),
        ({"data_lines": [48]}, "`48` is not known here"),
    ):
        path.write_text(json.dumps({**document, **counted}))
        with pytest.raises((InputError, InputErrors)) as caught:
            load_characterization(str(path))
        assert said in str(caught.value)
    path.write_text(json.dumps({**document, "data_lines": [32]}))
    found = load_characterization(str(path))
    assert found.data_lines == (32,)
    path.write_text(characterization_json(found))
    assert load_characterization(str(path)) == found


@pytest.mark.parametrize("left_out", range(3))
def test_what_reads_loads_lines(left_out: int, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    document = json.loads(characterization_json(FULL))
    document["data_lines"] = [32]
    row = next(r for s in document["services"] for r in s["counts"].get("rows", ()))
    section = document["sections"][0]["name"]
    read = {"section": section, "operation": "read", "width": 32, "pattern": "single", "count": 4}
    loads = [
        {"section": section, "event": f"line load 32 x{ways}", "count": 1} for ways in (1, 2, 4)
    ]
    before = row["counts"]
    row["counts"] = [*before, read, *loads]
    path.write_text(json.dumps(document))
    assert load_characterization(str(path)).data_lines == (32,)
    row["counts"] = [*before, read, *loads[:left_out], *loads[left_out + 1 :]]
    path.write_text(json.dumps(document))
    with pytest.raises((InputError, InputErrors)) as caught:
        load_characterization(str(path))
    assert f"no `line load 32 x{(1, 2, 4)[left_out]}` is counted" in str(caught.value)
