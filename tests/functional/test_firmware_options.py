"""What the FreeRTOS suite can decide otherwise (``make OPTION=name``): the settings that are
published are those that are compiled, and the driver's and the kernel's own checks hold."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from needs import need
from ruamel.yaml import YAML

from wcetchar import store

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "rtos_tests" / "freertos"
OPTIONS = sorted(file.stem for file in (SUITE / "options").glob("*.yaml"))
BOARDS = ("mps2-an385", "virt")

pytestmark = pytest.mark.firmware


def make(*words: str) -> subprocess.CompletedProcess[str]:
    usual = ROOT / "build" / "firmware" / "freertos" / "FreeRTOS-Kernel"
    kernel = os.environ.get("FREERTOS_KERNEL") or str(usual)
    return subprocess.run(
        ["make", "-s", "-C", str(SUITE), *words],
        env={**os.environ, "FREERTOS_KERNEL": kernel},
        capture_output=True,
        text=True,
        check=False,
    )


def services(board: str, *words: str) -> list[str]:
    done = make(f"BOARD={board}", *words, "services")
    assert done.returncode == 0, done.stderr
    return [str(ROOT / name) for name in done.stdout.split()]


def instead(option: str) -> dict[str, str]:
    document = YAML(typ="safe", pure=True).load(SUITE / "options" / f"{option}.yaml")
    return {name: str(value) for name, value in document["configuration instead"].items()}


@pytest.mark.parametrize("option", OPTIONS)
def test_what_is_published_is_what_is_compiled(option: str) -> None:
    header = SUITE / "options" / f"{option}.h"
    if option == "size":
        assert not header.exists()
        assert instead(option) == {"optimization": "-Os"}
        return
    text = header.read_text(encoding="utf-8")
    assert dict(re.findall(r"^#define (\w+) (\w+)$", text, re.MULTILINE)) == instead(option)
    assert set(re.findall(r"^#undef (\w+)$", text, re.MULTILINE)) == instead(option).keys()
    # After everything else, so that nothing changes it back.
    config = (SUITE / "FreeRTOSConfig.h").read_text(encoding="utf-8")
    assert config.rpartition("#include WCET_OPTION")[2].split() == ["#endif", "#endif"]


@pytest.mark.parametrize("words", [(), ("OPTION=size",)])
def test_the_compiler_is_called_as_is_published(tmp_path: Path, words: tuple[str, ...]) -> None:
    need("arm-none-eabi-gcc", "gcc-arm-none-eabi")
    done = make("-n", f"BUILD={tmp_path / 'build'}", *words)
    flags = set(re.findall(r" (-O\w+) ", done.stdout))
    (published,) = {
        store.load_services(*services(board, *words)).kernel.configuration["optimization"]
        for board in BOARDS
    }
    assert flags == {published}


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_changes_one_setting_and_names_its_services(board: str, option: str) -> None:
    usual = store.load_services(*services(board))
    other = store.load_services(*services(board, f"OPTION={option}"))
    settings = {**usual.kernel.configuration, **instead(option)}
    assert other.kernel.configuration == settings != usual.kernel.configuration
    assert [s.name for s in other.services] == [s.name for s in usual.services]
    differ = {a.name for a, b in zip(usual.services, other.services, strict=True) if a != b}
    assert differ == ({"context_switch"} if option == "generic-selection" else set())


def test_every_option_is_a_cell_of_the_campaign() -> None:
    cells = {cell.name for cell in store.load_campaign(str(SUITE / "campaign.yaml")).cells()}
    assert {f"{board}+basic-{option}" for board in BOARDS for option in OPTIONS} <= cells


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("OPTION=none",), "there is no option 'none'; there are: "),
        (("OPTION=size", "CONFIG=full"), "'size' is measured with CONFIG=basic"),
        (("OPTION=size", "HEAP=heap_2"), "'size' is measured with CONFIG=basic"),
        (("ONLY=heap", "DRIVER=random"), "random calls with heap_4 are DRIVER=random alone"),
    ],
)
def test_what_cannot_be_built_is_refused(words: tuple[str, ...], said: str) -> None:
    done = make(*words, "services")
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("option", OPTIONS)
def test_the_checks_hold(tmp_path: Path, option: str) -> None:
    need("arm-none-eabi-gcc", "gcc-arm-none-eabi")
    need("qemu-system-arm", "qemu-system-arm")
    # One call for each number of priorities that are passed over.
    expected = 1130 + (19 if option == "generic-selection" else 0)
    for goal in ("run", "run-check"):
        done = make(f"BUILD={tmp_path}", f"OPTION={option}", goal)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"done: {expected} invocations" in done.stdout + done.stderr
