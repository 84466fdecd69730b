"""Profiles fitted to machines whose prices are known, with caches cold and warm, and with another
master: never below any measurement, and the true prices where the rows tell them."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from click.testing import CliRunner, Result
from fit_machine import (
    MAP,
    STATES,
    Machine,
    Service,
    cycles,
    disturbed,
    profile_text,
    write_characterization,
    write_measured,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wcetchar.cli import main
from wcetchar.model.access import EventKind, Operation
from wcetchar.store import load_profile

LABELS = ("cold", "warm", "off")
MACHINES = st.builds(
    Machine,
    alu=st.integers(0, 9),
    load=st.just(1),
    fetch=st.integers(0, 9),
    read=st.integers(0, 9),
    refill=st.integers(0, 60),
    penalty=st.integers(0, 60),
)
SERVICES = st.builds(
    lambda alu, load, fetch, lines, data: Service(
        alu, load, fetch, lines, max(1, min(data, load)) if load else 0
    ),
    st.integers(0, 30),
    st.integers(0, 12),
    st.integers(0, 30),
    st.integers(1, 12),
    st.integers(0, 12),
).filter(lambda s: s.alu + s.load > 0)
TELLING = [
    Service(10, 0, 3, 1, 0),
    Service(3, 5, 0, 1, 2),
    Service(1, 1, 20, 4, 1),
    Service(7, 2, 2, 3, 2),
]
"""Of which all prices follow."""
fitting = settings(deadline=None, max_examples=25)


def _invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def _fit(
    folder: Path,
    services: list[Service],
    measured: list[tuple[str, str, int]],
    *options: str,
    profile: str,
    successions: bool = False,
) -> Result:
    names = {f"s{n}": one for n, one in enumerate(services)}
    write_characterization(folder / "c.json", names, successions=successions)
    write_measured(folder / "m.csv", measured)
    (folder / "p.yaml").write_text(profile)
    (folder / "map.yaml").write_text(MAP)
    return _invoke(
        *("profile", "fit", str(folder / "m.csv"), "--characterization", str(folder / "c.json")),
        *("--profile", str(folder / "p.yaml"), "--map", str(folder / "map.yaml"), "--step", "1"),
        *("--hold-out", "0"),
        *("--json", "-o", str(folder / "fitted.yaml"), *options),
    )


def _found(folder: Path) -> Machine:
    """What the written profile says, read back."""
    profile = load_profile(str(folder / "fitted.yaml"))
    flash, ram = profile.regions["flash"], profile.regions["ram"]

    def whole(value: Fraction) -> int:
        assert value.denominator == 1
        return int(value)

    refill, penalty = flash.line_refill, ram.load_miss_penalty
    return Machine(
        alu=whole(profile.core.events[EventKind.ALU].high),
        load=whole(profile.core.events[EventKind.LOAD].high),
        fetch=whole(flash.times[Operation.FETCH].next.high),
        read=whole(ram.times[Operation.READ].first.high),
        refill=whole(refill.high) if refill else 0,
        penalty=whole(penalty.high) if penalty else 0,
        takes=whole(ram.arbitration.takes.high) if ram.arbitration else 0,
    )


@fitting
@given(MACHINES, st.lists(SERVICES, min_size=1, max_size=3))
@example(Machine(1, 1, 1, 2, 22, 14), [])
@example(Machine(0, 1, 0, 0, 0, 0), [])
def test_exact_measurements_give_the_true_prices(machine: Machine, more: list[Service]) -> None:
    services = TELLING + more
    rows = [
        (f"s{n}", label, cycles(machine, one, label))
        for n, one in enumerate(services)
        for label in LABELS
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = _fit(folder, services, rows, *STATES, "--no-ranges", profile=profile_text())
        assert result.exit_code == 0, result.output
        assert _found(folder) == machine
        document = json.loads(result.stdout)
        assert document["priced_above_the_sums"] == 0
        assert document["after"]["unsafe"] == 0
        measured = folder / "m.csv"
        lines = measured.read_text().splitlines(keepends=True)
        # Calls that take nothing are refused where they are held against figures.
        measured.write_text("".join(line for line in lines if not line.endswith(",0\n")))
        again = _invoke(
            *("validate", str(folder / "c.json"), "--profile", str(folder / "fitted.yaml")),
            *("--map", str(folder / "map.yaml"), "--measured", str(folder / "m.csv"), "--json"),
            *STATES,
        )
        assert again.exit_code == 0, again.output
        for row in json.loads(again.stdout)["rows"]:
            service = services[int(row["service"].removeprefix("s"))]
            assert row["estimated_ns"] == 10 * cycles(machine, service, row["label"])


@fitting
@given(
    MACHINES,
    st.lists(SERVICES, min_size=1, max_size=3),
    st.lists(st.integers(0, 60), min_size=21, max_size=21),
)
def test_never_below_any_measurement(
    machine: Machine, more: list[Service], less: list[int]
) -> None:
    """Calls that took less than the machine can take: what is found may then be less as well, but
    all that was measured is covered."""
    services = TELLING + more
    rows = [
        (f"s{n}", label, max(1, cycles(machine, one, label) - less[3 * n + k]))
        for n, one in enumerate(services)
        for k, label in enumerate(LABELS)
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = _fit(folder, services, rows, *STATES, "--no-ranges", profile=profile_text())
        assert result.exit_code == 0, result.output
        found = _found(folder)
    for name_of, label, measured in rows:
        service = services[int(name_of.removeprefix("s"))]
        assert cycles(found, service, label) >= measured, (found, service, label)


@fitting
@given(MACHINES, st.integers(1, 20), st.integers(21, 90), st.lists(SERVICES, max_size=2))
@example(Machine(1, 1, 1, 2), 20, 21, [])
def test_what_another_master_takes_is_found_behind_undisturbed_rows(
    machine: Machine, takes: int, every: int, more: list[Service]
) -> None:
    machine = replace(machine, takes=takes, every=every)
    services = TELLING + more
    rows = []
    for n, one in enumerate(services):
        quiet = cycles(machine, one, "warm")
        rows += [(f"s{n}", "quiet", quiet), (f"s{n}", "busy", disturbed(machine, quiet))]
    master = f"{{every: {every} cycles, takes: 0..20 cycles}}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = _fit(
            folder,
            services,
            rows,
            *("--undisturbed", "quiet", "--no-ranges"),
            profile=profile_text(caches=False, master=master),
            successions=True,
        )
        assert result.exit_code == 0, result.output
        found = _found(folder)
        document = json.loads(result.stdout)
    assert found == replace(machine, refill=0, penalty=0, every=0, takes=found.takes)
    assert found.takes == (takes if any(busy for _, label, busy in rows if label == "busy") else 20)
    assert document["after"]["unsafe"] == 0
