"""This machine, measured by the shipped program: what comes out is plausible.

Nothing is asserted that other load on the machine could break: orders of things that are far apart,
the same thing measured from outside, and how often things were done.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from wcetchar import store
from wcetchar.capture import OPERATIONS, HostRequest, host_readings
from wcetchar.capture.host import FLAGS, SOURCE, _ranges
from wcetchar.cli import main
from wcetchar.errors import InputError

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a C compiler"
)
PARAMETERS = {"procedure call": 7, "process switch": 1, "thread switch": 2000, "memory": 4096}


def measured(*requests: HostRequest, counter: bool = False) -> dict[tuple[str, int | None], Any]:
    text = host_readings(requests, counter=counter, cpu=None, timeout=120)
    found = store.parse_readings(text, "host")
    return {(one.operation, one.parameter): one for one in found.series}


def typical(series: Any) -> float:
    return float(sorted(one.inner for one in series.readings)[len(series.readings) // 2])


def test_every_operation_is_carried_out() -> None:
    asked = [HostRequest(name, PARAMETERS.get(name), 2, 6) for name in OPERATIONS]
    found = measured(*asked)
    assert [key[0] for key in found] == list(OPERATIONS)
    for one in found.values():
        assert (len(one.readings), one.calls) == (6, 2)
        # Repetitions follow each other, so what is read is one clock.
        places = [place for r in one.readings for place in (r.start_outer, r.end_outer)]
        assert places == sorted(places)
        assert one.readings[-1].end_outer > one.readings[0].start_outer
    least = {key[0]: min(r.inner for r in one.readings) for key, one in found.items()}
    # Orders of magnitude apart on any machine.
    assert least["process"] > 5 * least["system call getpid"]
    assert least["thread"] > 5 * least["system call getpid"]


def test_the_whole_is_no_longer_than_the_process_that_measured_it() -> None:
    begin = time.perf_counter_ns()
    found = measured(HostRequest("process", None, 1, 20), HostRequest("loop", None, 10**7, 3))
    outside = time.perf_counter_ns() - begin
    inside = sum(r.inner for one in found.values() for r in one.readings)
    assert 0 < inside <= outside
    # Ten million turns take a millisecond at least: no processor makes ten in a nanosecond.
    assert min(r.inner for r in found["loop", None].readings) > 10**6


def test_more_calls_take_longer() -> None:
    once = HostRequest("system call getpid", None, 1000, 9)
    found = typical(measured(once)["system call getpid", None])
    tenfold = HostRequest("system call getpid", None, 100_000, 9)
    assert typical(measured(tenfold)["system call getpid", None]) > 10 * found


def test_memory_is_slower_where_it_does_not_fit_into_a_cache() -> None:
    small, large = 4096, 256 << 20
    found = measured(
        HostRequest("memory", small, 10_000, 15), HostRequest("memory", large, 10_000, 15)
    )
    assert typical(found["memory", large]) > typical(found["memory", small])


def test_the_counter_and_the_clock_tell_the_same_time() -> None:
    request = HostRequest("loop", None, 10**6, 9)
    try:
        text = host_readings([request], counter=True, cpu=None, timeout=60)
    except InputError as error:
        if "no counter" in str(error):
            pytest.skip("this processor has no counter that programs may read")
        raise
    found = store.parse_readings(text, "host")
    assert found.clock is not None
    # What is not known of it is an error of results, and small beside a twentieth of a second.
    assert found.clock[0] < found.clock[2] < found.clock[0] * Fraction(101, 100)
    cycles = min(r.inner for r in found.series[0].readings)
    nanoseconds = min(r.inner for r in measured(request)["loop", None].readings)
    # The loop's speed may change between both runs, by the processor's own clock.
    assert 0.2 < cycles * 1e9 / float(found.clock[1]) / nanoseconds < 5


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (HostRequest("procedure call", 8, 1, 1), "0 to 7 arguments"),
        (HostRequest("procedure call", None, 1, 1), "0 to 7 arguments"),
        (HostRequest("process switch", 1, 3, 1), "in pairs"),
        (HostRequest("thread switch", 0, 2, 1), "1 to 4096 bytes"),
        (HostRequest("memory", 64, 1, 1), "at least two lines"),
        (HostRequest("memory", 1 << 62, 1, 1), "no memory for such a working set"),
        (HostRequest("loop", None, 0, 1), "numbers above zero"),
        (HostRequest("other", None, 1, 1), "no operation has the name other"),
    ],
)
def test_what_the_program_refuses(request_: HostRequest, said: str) -> None:
    with pytest.raises(InputError, match=said):
        measured(request_)


def test_what_helps_is_said_and_is_not_to_leave_the_operation_out() -> None:
    with pytest.raises(InputError) as caught:
        measured(HostRequest("memory", 1 << 62, 1, 1))
    assert "smaller `sizes`" in str(caught.value.hint)


def test_cpus_are_listed_in_ranges() -> None:
    assert _ranges([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"


def test_what_takes_too_long_is_ended() -> None:
    with pytest.raises(InputError, match=r"did not end within 0\.2 s"):
        host_readings(
            [HostRequest("loop", None, 10**8, 10**6)], counter=False, cpu=None, timeout=0.2
        )


def test_compiles_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        ["cc", *FLAGS, "-Wextra", "-Werror", "-o", tmp_path / "m", SOURCE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_kept_readings_say_the_same_again(tmp_path: Path) -> None:
    kept, picture = tmp_path / "kept.csv", tmp_path / "p.svg"
    words = ("--repetitions", "8", "--only", "memory", "--only", "loop", "--json")
    first = CliRunner().invoke(
        main, ["measure", "host", *words, "--readings", str(kept), "--plot", str(picture)]
    )
    assert first.exit_code in (0, 1), first.output
    again = CliRunner().invoke(
        main,
        [
            *("measure", "target", "linux-host", str(kept)),
            *("--only", "memory", "--only", "loop", "--json"),
        ],
    )
    document, later = json.loads(first.stdout), json.loads(again.stdout)
    assert later.pop("notes") == [
        "fewer repetitions than the plan asks for: loop (8 of 500), memory (8 of 500)",
        *document.pop("notes"),
    ]
    assert later == document
    assert len(json.loads(first.stdout)["rows"]) == 16
    assert picture.read_text().startswith("<svg")
