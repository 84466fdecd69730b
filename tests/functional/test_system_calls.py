"""What ``wcetchar system check`` refuses of calls, and what it takes for granted and says."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from wcetchar import store
from wcetchar.cli import main
from wcetchar.model.characterization import (
    BlockingStretch,
    Counts,
    Joint,
    ServiceCharacterization,
    StretchKind,
    Word,
)
from wcetchar.model.service import ServiceKind
from wcetchar.pipeline.priced_calls import CallPrices

FILE = """\
schema: wcetchar/system/1
name: calls
kernel:
  characterization: kernel.json
  profile: renaux2010/platform1
  map: renaux2010/map1
  set: {N: 1}
  context switch: 1 us
  nested interrupts: true
tasks:
  a: {priority: 2, period: 20 ms, deadline: 5 ms, wcet: 10 us}
  b: {priority: 1, period: 20 ms, wcet: 1 ms, calls: [{service: plain}], MORE}
interrupts:
  tick: {priority: 1, period: 10 ms, calls: [{service: tick_handler}]}
"""
SETS = """\
schema: wcetchar/working-sets/1
source: by hand
working sets:
  small: {machine: any, size: 1 KiB, before: anything, least progress: 10 %, settles: 100 us}
  large: {machine: any, size: 9 KiB, before: anything, least progress: 50 %, settles: 1 ms}
"""


def _kernel() -> str:
    """Services with the counts of a published one: a plain one, ones that leave something held off,
    one that goes on from what its caller held off, and a handler of the tick."""
    published = store.load_characterization("renaux2010")
    (whole,) = published.services

    def service(
        name: str,
        kind: StretchKind,
        to: frozenset[Joint] = frozenset(),
        by: frozenset[Joint] = frozenset(),
    ) -> ServiceCharacterization:
        rows = tuple(row for row in whole.counts.rows if row.blocking.masks)
        assert rows
        stretch = BlockingStretch(
            kind, f"{name} (k.c:1)", f"{name}+8 (k.c:9)", Counts(rows), None, None, by, to
        )
        return replace(whole, name=name, stretches=(stretch,), stretches_known=True)

    caller = frozenset((Joint.CALLER,))
    services = (
        service("plain", StretchKind.PREEMPTION),
        service("suspend_all", StretchKind.PREEMPTION, caller),
        service("mask", StretchKind.INTERRUPTS, caller),
        service("within", StretchKind.PREEMPTION, caller, caller),
        replace(service("tick_handler", StretchKind.INTERRUPTS), kind=ServiceKind.HANDLER),
    )
    bounds = tuple(replace(one, word=Word.BOUND) for one in services)
    return store.characterization_json(replace(published, services=bounds))


@pytest.fixture(scope="module")
def kernel() -> str:
    return _kernel()


@pytest.fixture
def file(tmp_path: Path, kernel: str) -> Path:
    (tmp_path / "kernel.json").write_text(kernel)
    (tmp_path / "sets.yaml").write_text(SETS)
    file = tmp_path / "system.yaml"
    write(file)
    return file


def write(file: Path, more: str = "jitter: 0 us", *changes: tuple[str, str]) -> None:
    text = FILE.replace("MORE", more)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)


def call(file: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["system", "check", str(file), *arguments])


def document(file: Path) -> dict[str, Any]:
    done = call(file, "--json")
    assert done.exit_code in (0, 1), done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def response(file: Path, name: str) -> Fraction:
    (row,) = (row for row in document(file)["rows"] if row["name"] == name)
    assert row["simulated_ns"] <= row["response_ns"]
    return Fraction(str(row["response_ns"]))


def refused(file: Path, message: str) -> str:
    done = call(file)
    text = " ".join(done.output.split())
    assert done.exit_code == 3, done.output
    assert message in text
    return text


@pytest.mark.parametrize(
    ("service", "kind", "enough"),
    [
        ("suspend_all", "preemption", ("preemption", "interrupts", "all interrupts")),
        ("mask", "interrupts", ("interrupts", "all interrupts")),
    ],
)
def test_what_a_service_leaves_held_off_needs_a_length(
    file: Path, service: str, kind: str, enough: tuple[str, ...]
) -> None:
    calls = ("[{service: plain}]", f"[{{service: {service}}}, {{service: plain}}]")
    write(file, "jitter: 0 us", calls)
    text = refused(file, f"{kind} can still be held off when {service} returns")
    assert f"{file}:12:" in text
    assert f"`holds off: {{{kind}: TIME}}` of b" in text
    before = response_with(file, "jitter: 0 us")
    for way in ("preemption", "interrupts", "all interrupts"):
        write(file, f"holds off: {{{way}: 900 us}}", calls)
        if way in enough:
            assert response(file, "a") > before + 700_000
        else:
            refused(file, "can still be held off")


def response_with(file: Path, more: str) -> Fraction:
    write(file, more)
    return response(file, "a")


def test_what_goes_on_from_the_caller_is_the_callers(file: Path) -> None:
    write(file, "jitter: 0 us", ("[{service: plain}]", "[{service: within}]"))
    assert call(file).exit_code == 0


def test_a_handler_that_leaves_interrupts_masked_masks_to_its_end(file: Path) -> None:
    handler = "  low: {priority: 1, period: 10 ms, wcet: 3 ms, calls: [{service: SERVICE}]}\n"
    found = []
    for service in ("plain", "mask"):
        write(file, "jitter: 0 us", ("tick: {priority: 1", "tick: {priority: 2"))
        file.write_text(file.read_text() + handler.replace("SERVICE", service))
        found.append(response(file, "tick"))
    assert found[1] > found[0] + 2_500_000


def test_handlers_call_nothing_that_gives_way(file: Path) -> None:
    write(
        file,
        "jitter: 0 us",
        ("[{service: tick_handler}]", "[{service: tick_handler, gives way: lock}]"),
    )
    refused(file, "tick is an interrupt, whose handler loses the processor to no task")


def test_tasks_call_no_handler(file: Path) -> None:
    write(file, "jitter: 0 us", ("[{service: plain}]", "[{service: tick_handler}]"))
    refused(file, "tick_handler is an activity of the kernel's own")


def test_a_kernel_with_a_tick_has_one_here(file: Path) -> None:
    write(file, "jitter: 0 us", ("[{service: tick_handler}]", "[{service: plain}]"))
    refused(file, "the kernel has a tick, and no interrupt of this system calls it")
    write(
        file,
        "jitter: 0 us",
        ("[{service: tick_handler}]", "[{service: plain}]"),
        ("  nested", "  tick: none\n  nested"),
    )
    assert call(file).exit_code == 0


def test_what_is_called_outside_of_uses_is_said(file: Path) -> None:
    notes = document(file)["notes"]
    assert "assumed: calls outside of `uses` leave no lock taken that others wait for" in notes
    write(file, "uses: [{resource: r, calls: [{service: plain}]}]")
    (note,) = (note for note in document(file)["notes"] if "outside of `uses`" in note)
    assert note.endswith("plain is called by b there, too")


def test_slowdown_of_the_kernel_and_of_handlers(file: Path) -> None:
    parts = {p["part"]: p["ns"] for p in document(file)["parts"]["b"]}
    write(file, "jitter: 0 us", ("  nested", "  slowdown: 2\n  nested"))
    twice = {p["part"]: p["ns"] for p in document(file)["parts"]["b"]}
    for part in ("kernel services", "context switches"):
        assert twice[part] == pytest.approx(2 * parts[part], abs=0.002)
    assert twice["own code"] == parts["own code"]
    held = {p["part"]: p["ns"] for p in document(file)["parts"]["tick"]}
    write(file)
    before = {p["part"]: p["ns"] for p in document(file)["parts"]["tick"]}
    assert held["held off by"] == pytest.approx(2 * before["held off by"], abs=0.002)
    tick = "tick: {priority: 1, wcet: 10 us, slowdown: 1.5"
    write(file, "jitter: 0 us", ("tick: {priority: 1", tick))
    own = {p["part"]: p["ns"] for p in document(file)["parts"]["tick"]}["own code"]
    assert own == 15_000
    assert any("slow down own code alone" in note for note in document(file)["notes"])


def test_working_sets_come_back_behind_everything_that_ran(file: Path) -> None:
    """b begins with its own, 90 us, and loses it to the job of a and to each tick."""
    before = response(file, "b")
    nothing = "assumed: being interrupted costs {} nothing in caches (no `working set`)"
    assert nothing.format("a, b") in document(file)["notes"]
    write(file, "working set: sets.yaml:small")
    after = response(file, "b")
    ticks = 1
    assert after == before + 90_000 * (1 + 1 + ticks)
    assert nothing.format("a") in document(file)["notes"]
    write(file, "working set: sets.yaml:large")
    assert response(file, "b") == before + 500_000 * 3


def test_working_sets_that_are_not_there(file: Path) -> None:
    write(file, "working set: sets.yaml:middle")
    text = refused(file, "has no working set `middle`")
    assert f"{file}:12:" in text
    write(file, "working set: small")
    refused(file, "names no working set of a file")


def test_with_caches_and_no_working_set_it_is_an_estimate(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert document(file)["word"] == "bound"
    monkeypatch.setattr(CallPrices, "caches", True)
    assert document(file)["word"] == "estimate"
    both = ("wcet: 10 us}", "wcet: 10 us, working set: sets.yaml:small}")
    write(file, "working set: sets.yaml:small", both)
    assert document(file)["word"] == "bound"


def test_what_interrupts_defer_counts_with_each_of_them(file: Path) -> None:
    said = "assumed: interrupts leave nothing to be done at the end of a call"
    assert any(note.startswith(said) for note in document(file)["notes"])
    parts = {row["name"]: parts_of(file, row["name"]) for row in document(file)["rows"]}
    services = parts["b"]["kernel services"]
    held = parts["a"]["held off by"]
    write(file, "jitter: 0 us", ("  nested", "  deferred: [{service: plain, times: 3}]\n  nested"))
    assert not any(note.startswith(said) for note in document(file)["notes"])
    # One tick in b's response, and one in the stretch of b that holds a off.
    after = parts_of(file, "b")["interrupted by"] - parts["b"]["interrupted by"]
    assert after == pytest.approx(3 * services, abs=0.01)
    assert parts_of(file, "a")["held off by"] == pytest.approx(held + 3 * services, abs=0.01)
    # The handler itself does not.
    assert parts_of(file, "tick")["kernel services"] == parts["tick"]["kernel services"]


def parts_of(file: Path, name: str) -> dict[str, float]:
    return {p["part"]: p["ns"] for p in document(file)["parts"][name]}


def test_what_is_deferred_has_a_place(file: Path) -> None:
    write(file, "jitter: 0 us", ("  nested", "  deferred: [{service: none}]\n  nested"))
    text = refused(file, "none")
    assert f"{file}:9:" in text
