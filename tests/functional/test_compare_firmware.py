"""``wcetchar compare`` on two builds of FreeRTOS that were really characterized, -O2 and -Os: each
verdict, count, figure and exit status follows from ``wcetchar estimate --json`` at every value of
the parameters, by subtraction here."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bad_input import run
from needs import need

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "rtos_tests" / "freertos"
PROFILES = ("cortex-m3/zero-wait-sram", "cortex-m3/flash-3ws")
HARDWARE = tuple(
    word
    for name in PROFILES
    for word in ("--profile", name, "--map", name.replace("m3/", "m3/map-"))
)
RANGES: dict[str, tuple[str, range]] = {
    "tick_interrupt": ("K", range(9)),
    "xTaskCreate": ("N", range(13, 14)),
    "vTaskDelete": ("N", range(13, 14)),
    "uxTaskPriorityGet": ("", range(1)),
    "vTaskSuspend": ("", range(1)),
    "xTaskNotifyGive": ("", range(1)),
    "context_switch": ("", range(1)),
}
"""Of each compared service, its parameter and that one's values: all, or the one that is set."""
ALONE = tuple(word for name in RANGES for word in ("--service", name))
AT = ("--set", "N=13")
METRICS = ("total", "interrupts", "preemption")

# Two whole characterizations; `tests/functional/test_compare_command.py` has small ones each time.
pytestmark = [
    pytest.mark.firmware,
    pytest.mark.long,
    pytest.mark.xdist_group("compared firmware"),
]

Times = dict[tuple[str, int, str], dict[int, float]]
"""ns by service, number of the profile and metric; by the parameter's value (0: it has none)."""


@dataclass(frozen=True)
class Pair:
    """The two characterizations, and what an estimate says of each."""

    files: tuple[str, str]
    times: tuple[Times, Times]


def wcetchar(*arguments: str) -> str:
    done = run(*arguments)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def sized(folder: Path) -> Path:
    """The same firmware, compiled for size."""
    usual = ROOT / "build" / "firmware" / "freertos" / "FreeRTOS-Kernel"
    kernel = os.environ.get("FREERTOS_KERNEL") or str(usual)
    done = subprocess.run(
        ["make", "-s", "-C", SUITE, f"BUILD={folder}", "OPTION=size"],
        env={**os.environ, "FREERTOS_KERNEL": kernel},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "freertos.elf"


def characterized(elf: Path, folder: Path, *more: str) -> str:
    """A firmware of the configuration `basic`, characterized in ``folder``."""
    folder.mkdir()
    names = ("services.yaml", "config/basic.yaml", "boards/mps2-an385/image.yaml", *more)
    services = [word for name in names for word in ("--services", str(SUITE / name))]
    trace, output = str(folder / "run.trace"), str(folder / "kernel.json")
    wcetchar("capture", str(elf), "--machine", "mps2-an385", "-o", trace)
    wcetchar("characterize", str(elf), trace, *services, "-o", output)
    return output


def estimated(file: str) -> Times:
    """At every value: one command sets all parameters, the shorter ranges end at their last."""
    found: Times = {}
    ranges = dict(given for given in RANGES.values() if given[0])
    for number in range(max(map(len, ranges.values()))):
        at = {name: values[min(number, len(values) - 1)] for name, values in ranges.items()}
        options = [word for name, value in at.items() for word in ("--set", f"{name}={value}")]
        document = json.loads(wcetchar("estimate", file, *HARDWARE, *ALONE, *options, "--json"))
        assert len(document["estimates"]) == len(RANGES) * len(PROFILES)
        for one in document["estimates"]:
            value = at.get(RANGES[one["service"]][0], 0)
            figures = {"total": one["total_ns"], **one["blocking_ns"]}
            for metric in METRICS:
                key = one["service"], PROFILES.index(one["profile"]), metric
                known = found.setdefault(key, {}).setdefault(value, figures[metric])
                assert known == figures[metric]
    return found


@pytest.fixture(scope="module")
def pair(firmware: Path, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    need("arm-none-eabi-gcc", "gcc-arm-none-eabi")
    need("qemu-system-arm", "qemu-system-arm")
    folder = tmp_path_factory.mktemp("compared")
    small = sized(folder / "build")
    files = (
        characterized(firmware, folder / "O2"),
        characterized(small, folder / "Os", "options/size.yaml"),
    )
    return Pair(files, (estimated(files[0]), estimated(files[1])))


def by_key(document: Any) -> Iterator[tuple[tuple[str, int, str], Any]]:
    for service in document["services"]:
        for metric in service["metrics"]:
            yield (service["service"], metric["hardware"], metric["metric"]), metric


def expected(base: dict[int, float], other: dict[int, float]) -> tuple[str, int, int]:
    slower = sum(other[value] > base[value] for value in base)
    faster = sum(other[value] < base[value] for value in base)
    if slower and faster:
        return "depends on the parameters", slower, faster
    verdict = "never faster" if slower else "never slower" if faster else "equal"
    return verdict, slower, faster


def changes(pair: Pair) -> dict[tuple[str, int, str], float]:
    """The largest change of each, in percent."""
    base, other = pair.times
    return {
        key: max(100 * (other[key][v] - t) / t if t else 0 for v, t in base[key].items())
        for key in base
    }


def test_the_firmware_differs_in_the_option_alone(pair: Pair) -> None:
    document = json.loads(wcetchar("compare", *pair.files, *ALONE, *AT, "--json"))
    one, two = (subject["settings"] for subject in document["characterizations"])
    assert {name for name in one | two if one.get(name) != two.get(name)} == {"optimization"}
    assert (one["optimization"], two["optimization"]) == ("-O2", "-Os")


def test_verdicts_follow_from_estimates(pair: Pair) -> None:
    document = json.loads(wcetchar("compare", *pair.files, *HARDWARE, *ALONE, *AT, "--json"))
    base, other = pair.times
    seen = set()
    for key, metric in by_key(document):
        service, _, kind = key
        parameter, values = RANGES[service]
        (against,) = metric["against"]
        verdict, slower, faster = expected(base[key], other[key])
        assert against["verdict"] == verdict, key
        assert (against["slower"], against["faster"]) == (slower, faster), key
        assert metric["points"] == metric["complete"] == against["checked"] == len(values), key
        assert against["basis"] == "every point of the range", key
        assert metric["best"] == {"O2": len(values) - faster, "Os": len(values) - slower}, key
        corners = {c["parameters"].get(parameter, 0): c["ns"] for c in metric["corners"]}
        ends = {values[0], values[-1]}
        assert corners == {v: {"O2": base[key][v], "Os": other[key][v]} for v in ends}, key
        worst = against["worst"]
        at = worst["parameters"].get(parameter, 0)
        assert (worst["base_ns"], worst["ns"]) == (base[key][at], other[key][at]), key
        if base[key][at]:
            assert worst["change_percent"] == pytest.approx(changes(pair)[key], abs=0.06), key
        if kind != "total" and other[key][at]:
            assert worst["where"], key
        seen.add((kind, verdict))
    assert {key for key, _ in by_key(document)} == base.keys() == other.keys()
    # What came out is worth comparing: each verdict occurs, and blocking goes both ways.
    assert {verdict for _, verdict in seen} == {
        "equal",
        "never slower",
        "never faster",
        "depends on the parameters",
    }
    for kind in METRICS:
        assert {(kind, "never slower"), (kind, "never faster")} <= seen


def test_which_is_better_depends_on_the_hardware(pair: Pair) -> None:
    """Of two that differ on one profile alone."""
    base, other = pair.times
    printed = wcetchar("compare", *pair.files, *HARDWARE, *ALONE, *AT, "--changed", "--json")
    document = dict(by_key(json.loads(printed)))
    bare, flash = (("vTaskSuspend", number, "total") for number in range(2))
    assert other[bare][0] < base[bare][0]
    assert other[flash] == base[flash]
    found = [document[key]["against"][0]["verdict"] for key in (bare, flash)]
    assert found == ["never slower", "equal"]
    unchanged = {
        service for service in RANGES if all(base[k] == other[k] for k in base if k[0] == service)
    }
    assert {service for service, _, _ in document} == RANGES.keys() - unchanged


def test_the_gate_by_plain_arithmetic(pair: Pair) -> None:
    found = changes(pair)
    above = [key for key, change in found.items() if change > 10]
    done = run("compare", *pair.files, *HARDWARE, *ALONE, *AT, "--fail-if-slower", "10")
    assert done.exit_code == 1
    assert f"{len(above)} times are above the base's by more than 10 %" in done.stderr
    most = max(found.values())
    for percent, code in ((most - 0.1, 1), (most + 0.1, 0)):
        done = run(
            "compare", *pair.files, *HARDWARE, *ALONE, *AT, "--fail-if-slower", f"{percent:.2f}"
        )
        assert done.exit_code == code, done.stderr
    one = ("--service", "vTaskDelete")
    same = run("compare", pair.files[0], pair.files[0], *HARDWARE, *one, "--fail-if-slower")
    assert (same.exit_code, same.stderr) == (0, "")
