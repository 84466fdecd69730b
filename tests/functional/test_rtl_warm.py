"""What warm caches hold: of runs that are written by hand, and whether the bench does so."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rtl_bench import BENCH, BOARDS, ROOT, firmware

from wcetchar.model.service import Part

CALL, ENTRY, BEHIND = 0x1000, 0x2004, 0x1004
CALLED, RETURNED = 10, 60


@pytest.fixture
def warm(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "rtl_boards"))
    return import_module("warm")


def run_of(*refills: tuple[int, int, int]) -> SimpleNamespace:
    """The call, two instructions of the service and what it returns to; line, asked and loaded of
    each refill."""
    line, asked, loaded = np.array(refills, dtype=np.int64).reshape(-1, 3).T
    address = np.array([CALL, ENTRY, ENTRY + 4, BEHIND])
    cycle = np.array([CALLED, 30, RETURNED, 75])
    return SimpleNamespace(address=address, cycle=cycle, line=line, asked=asked, loaded=loaded)


WINDOW = SimpleNamespace(first=1, last=2)


@pytest.mark.parametrize(
    ("refills", "lines"),
    [
        ((), set()),
        # The entry's line may be asked for before the call retires.
        (((0x2000, 8, 20), (0x3000, 31, 42)), {0x2000, 0x3000}),
        # In vain behind the call: not the service's; behind its entry: its own.
        (((0x1020, 5, 15), (0x2000, 16, 27), (0x2020, 28, 39)), {0x2000, 0x2020}),
        (((0x1020, 5, 15), (0x2020, 28, 39)), {0x2020}),
        (((0x1020, CALLED, 20), (0x2000, 21, 32)), {0x2000}),
        (((0x2020, CALLED, 20), (0x2000, 21, 32)), {0x2000, 0x2020}),
        # Over before, and begun behind its end.
        (((0x2000, 0, 9), (0x2040, 61, 72)), set()),
        # Asked for just when it returns, and what it returns to.
        (((0x2040, 60, 71),), {0x2040}),
        (((0x1000, 58, 69),), set()),
    ],
)
def test_lines_that_a_service_fetches_from(
    warm: Any, refills: tuple[tuple[int, int, int], ...], lines: set[int]
) -> None:
    found = warm.fetched_lines(run_of(*refills), WINDOW, 0x100)
    assert found == {line // 32 for line in lines}


def test_lines_that_an_interrupt_waits_for_are_not_its_handlers(warm: Any) -> None:
    """Two in vain behind what it interrupts, and its own."""
    refills = (0x2020, CALLED, 20), (0x3000, 21, 24), (0x2000, 25, 29), (0x2040, 31, 40)
    found = warm.fetched_lines(run_of(*refills), WINDOW, ENTRY)
    assert found == {0x2000 // 32, 0x2040 // 32}
    called = warm.fetched_lines(run_of(*refills), WINDOW, 0x100)
    assert called == found | {0x2020 // 32, 0x3000 // 32}


@pytest.mark.parametrize(
    ("lines", "full"),
    [
        (set(), []),
        ({0x2000, 0x2020, 0x2FE0}, []),
        ({0x2000, 0x3000}, [0]),  # 4 KiB apart
        ({0x2FE0, 0x3FE0, 0x3000, 0x2000, 0x4000, 0x2040}, [0, 127]),
    ],
)
def test_sets_without_room(warm: Any, lines: set[int], full: list[int]) -> None:
    assert warm.full_sets({line // 32 for line in lines}) == full


@pytest.mark.parametrize(
    ("lines", "fit"),
    [
        (set(), []),
        ({0x2FE0, 0x2000, 0x2020}, [0x2000, 0x2020, 0x2FE0]),
        ({0x2000, 0x3000, 0x4020}, [0x4020]),
    ],
)
def test_lines_that_have_a_set_for_themselves(warm: Any, lines: set[int], fit: list[int]) -> None:
    assert [line * 32 for line in warm.that_fit({line // 32 for line in lines})] == fit


def test_lines_that_a_service_loads_from(warm: Any) -> None:
    accesses = [
        (0x80400000, CALLED, 4),  # the call's own cycle: before
        (0x80400024, CALLED + 1, 4),
        (0x80400040, 30, 16 + 4),  # a store
        (0x0200BFF8, 31, 4),  # of a device
        (0x8040007F, 32, 1),
        (0x8040003C, RETURNED, 4),
        (0x80400080, RETURNED + 1, 4),  # behind it
    ]
    found = warm.loaded_lines(run_of(), WINDOW, np.array(accesses, dtype=np.int64))
    assert [line * 32 for line in sorted(found)] == [0x80400020, 0x80400060]


def windows_at(monkeypatch: pytest.MonkeyPatch, warm: Any, cycles: list[int]) -> list[Any]:
    import windows

    made = [SimpleNamespace(first=n + 1, service=f"s{n}", number=n + 1) for n in range(len(cycles))]
    monkeypatch.setattr(windows, "cut", lambda *_: SimpleNamespace(windows=made))
    run = SimpleNamespace(cycle=np.array(cycles))
    return [period for period, _ in warm.by_period(None, run, None, np.array([6, 9]))]


@pytest.mark.parametrize(("cycle", "period"), [(5, 0), (6, 1), (8, 1), (9, 2), (30, 2)])
def test_how_often_caches_were_emptied_before(
    monkeypatch: pytest.MonkeyPatch, warm: Any, cycle: int, period: int
) -> None:
    """What is entered by the instruction in whose cycle they are emptied begins behind that."""
    assert windows_at(monkeypatch, warm, [cycle]) == [period]


def test_each_service_has_a_period_for_itself(monkeypatch: pytest.MonkeyPatch, warm: Any) -> None:
    assert windows_at(monkeypatch, warm, [5, 8, 9]) == [0, 1, 2]
    with pytest.raises(ValueError, match=r"s0 and s1 \(marks 1 and 2\) .* emptied 1 times"):
        windows_at(monkeypatch, warm, [7, 8])


def test_what_goes_on_behind_a_switch_is_not_warm(warm: Any) -> None:
    data = np.array([(0x80400024, CALLED + 1, 4), (0x80401024, 40, 4), (0x80400040, 41, 4)])
    windows = [
        (period, SimpleNamespace(first=1, last=2, part=part))
        for period, part in enumerate([Part.WHOLE, Part.UNTIL_SWITCH, Part.UNTIL_RETURN])
    ]
    found = [*warm.of_loads(windows, run_of(), data)]
    # Two share a set.
    assert found == [(0, ENTRY), (0, 0x80400040), (1, ENTRY), (1, 0x80400040)]


@pytest.mark.long
def test_warm_data_are_there(warm: Any, tmp_path: Path) -> None:
    """No service of `basic` loads a line again that has its set for itself, whatever the driver has
    loaded since its mark, but for what goes on behind a switch; and the run executes what it does
    otherwise."""
    from measurements import TRAP_HANDLER
    from windows import Program, by_period, load

    from wcetchar import store

    core = BENCH.with_name("bench-imac-cached")
    if not core.exists():
        pytest.skip("not built: make -C rtl_boards CORE=imac-cached")
    make = ["make", "-s", "-C", ROOT / "rtos_tests" / "freertos", "BOARD=virt", "services"]
    services = subprocess.run(make, capture_output=True, text=True, check=True).stdout.split()

    def run(name: str, board: str, core: Path, *options: str | Path) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        kept = ["retired", "refills", "emptied", "accesses"]
        files = [word for one in kept for word in (f"--{one}", folder / one)]
        words = [core, BOARDS / f"{board}.yaml", firmware(), "-o", folder / "marks.csv", *files]
        subprocess.run([*words, "--caches", "ideal", *options], check=True, capture_output=True)
        return folder

    reference = run("reference", "a", BENCH)
    data = tmp_path / "data"
    empty = run("empty", "d", core, "--empty-data", "--data", data)
    data.rename(empty / "data")
    named = [word for name in services for word in ("--services", ROOT / name)]
    cuts = ["--program", firmware(), "--reference", reference, *named]
    script = ROOT / "rtl_boards" / "warm.py"
    subprocess.run([sys.executable, script, empty, *cuts], check=True, cwd=ROOT)
    folder = run("warm", "d", core, "--warm-data", empty / "lines")

    one, other = (np.fromfile(f / "retired", dtype="<u4")[0::2] for f in (empty, folder))
    assert np.array_equal(one, other)
    there: dict[int, set[int]] = {}
    for period, line in warm.words(empty / "lines", 2).tolist():
        there.setdefault(period, set()).add(line)
    # Reads that end a burst: a line has been loaded.
    word, cycle, what = warm.words(folder / "accesses", 3).T
    ends = (what >> 5 == 7) & (what & 16 == 0)
    line, cycle = word[ends] - word[ends] % 32, cycle[ends]
    program = Program(
        str(firmware()), store.load_services(*(str(ROOT / s) for s in services)), TRAP_HANDLER
    )
    emptied = warm.words(folder / "emptied", 1)[:, 0]
    ran, windows, lines = load(folder), 0, 0
    for period, window in by_period(program, ran, load(reference), emptied):
        assert (period in there) is (window.part is not Part.UNTIL_RETURN)
        if period not in there:
            continue
        begin, end = ran.cycle[window.first - 1], ran.cycle[window.last]
        loaded = line[slice(*np.searchsorted(cycle, (begin + LINE_TAKES, end)))]
        assert not there[period] & set(loaded.tolist()), (window.service, period)
        windows, lines = windows + 1, lines + len(there[period]) - 1
    assert windows > 1_000
    assert lines > 5 * windows


LINE_TAKES = 10
"""Cycles on board D, from RAM: one that ends sooner was begun for the caller."""
