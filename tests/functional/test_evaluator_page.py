"""The page's evaluator against what ``wcetchar estimate`` prints of a profile file written anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from evaluator_cases import Both, Case
from needs import need

from wcetchar.cli import main
from wcetchar.pipeline.evaluator import Request, document_of
from wcetchar.store.names import characterization_path, profile_path

MAP = "renaux2010/map1"


@pytest.fixture(scope="module")
def both() -> Both:
    need("node", "nodejs")
    return Both.of_files("renaux2010", "renaux2010/platform1", MAP)


def estimate(profile: str, *more: str) -> str:
    command = ["estimate", "renaux2010", "--profile", profile, "--map", MAP, *more]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    return done.output


def page(both: Both, numbers: dict[str, str], **parameters: int) -> dict[str, Any]:
    (found,) = both.javascript([Case("CreateThread", parameters, numbers)])
    return found


def test_the_published_figure(both: Both) -> None:
    found = page(both, {}, N=13)
    assert found["total"]["ns"] == "56,728"
    assert found["word"] == "estimate"


def test_a_profile_that_was_written_anew(both: Both, tmp_path: Path) -> None:
    text = Path(profile_path("renaux2010/platform1")).read_text()
    changes = {
        "core.clock": ("clock: 72 MHz", "clock: 60.5 MHz"),
        "regions.sdram heap.read": ("read: 200 ns", "read: 333.3 ns"),
        "core.events.branch taken": ("branch taken: 250 ns", "branch taken: 17 cycles"),
    }
    for _, (before, after) in changes.items():
        assert text.count(before) == 1
        text = text.replace(before, after)
    file = tmp_path / "edited.yaml"
    file.write_text(text)
    edits = {way: after.partition(": ")[2] for way, (_, after) in changes.items()}
    found = page(both, edits, N=7)
    # The number is in nanoseconds in the document, and the edit is in cycles.
    assert found["outside"] == (
        'core.events.branch taken is in ns in this file, and "17 cycles" is not'
    )
    file.write_text(text.replace("17 cycles", "0.017 us"))
    found = page(both, {**edits, "core.events.branch taken": "0.017 us"}, N=7)
    printed = estimate(str(file), "--set", "N=7")
    assert f"total {found['total']['ns']} ns ({found['word']})" in printed
    assert f"{found['total']['cycles']} core cycles" in printed
    for part in found["blocking"]:
        assert f"blocks {part['kind']} for {part['time']['ns']} ns ({part['word']})" in printed
    for row in found["sections"]:
        assert row["time"]["ns"] in printed
    (known,) = json.loads(estimate(str(file), "--set", "N=7", "--json"))["estimates"]
    assert known["total_ns"] == float(found["total"]["ns"].replace(",", ""))


@pytest.mark.parametrize(
    ("numbers", "parameters", "reason"),
    [
        ({}, {"N": -1}, "out of the range"),
        ({}, {"N": 10**9}, "out of the range"),
        ({}, {"M": 1, "N": 3}, "no service has a parameter M"),
        ({"core.clock": "0 MHz"}, {"N": 3}, "can be zero"),
        ({"core.clock": "72"}, {"N": 3}, "no unit"),
        ({"core.clock": "72 MHz +- 1 %"}, {"N": 3}, "no tolerance in this file"),
        ({"core.clock": "-72 MHz"}, {"N": 3}, "no time and no clock"),
        ({"constructor": "72 MHz"}, {"N": 3}, "not among the numbers"),
        ({"core.clock": "7 constructor"}, {"N": 3}, "no unit of a time"),
    ],
)
def test_what_is_outside(
    both: Both, numbers: dict[str, str], parameters: dict[str, int], reason: str
) -> None:
    found = page(both, numbers, **parameters)
    assert list(found) == ["outside"]
    assert reason in found["outside"]


def test_a_number_for_several(both: Both) -> None:
    """``fetch: 14 ns`` is the first and the next one."""
    numbers = {f"regions.sdram code.fetch{end}": "21 ns" for end in (".first", ".next")}
    found = page(both, {"regions.sdram code.fetch": "21 ns"}, N=3)
    assert found == page(both, numbers, N=3)
    assert found["total"] != page(both, {}, N=3)["total"]


@pytest.mark.parametrize("name", ["__proto__", "constructor", "toString", "hasOwnProperty"])
def test_a_parameter_with_the_name_of_something_in_the_language(name: str, tmp_path: Path) -> None:
    need("node", "nodejs")
    text = Path(characterization_path("renaux2010")).read_text()
    assert (text.count('"name": "N"'), text.count('"repetition": "N"')) == (1, 1)
    file = tmp_path / "renamed.json"
    file.write_text(text.replace(': "N"', f': "{name}"'))
    renamed = Both.of_files(str(file), "renaux2010/platform1", MAP)
    found = page(renamed, {}, **{name: 7})
    command = ["estimate", str(file), "--profile", "renaux2010/platform1", "--map", MAP]
    printed = CliRunner().invoke(main, [*command, "--set", f"{name}=7", "--json"])
    (known,) = json.loads(printed.output)["estimates"]
    assert float(found["total"]["ns"].replace(",", "")) == known["total_ns"]
    assert found["parameters"] == known["parameters"] == {name: 7}


def test_the_document_is_the_same_each_time() -> None:
    request = Request("renaux2010", "renaux2010/platform2", "renaux2010/map2")
    one, other = (json.dumps(document_of(request)) for _ in range(2))
    assert one == other
