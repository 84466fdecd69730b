"""The kernel's other heaps: what is declared is driven, instructions are those counted by hand in
what objdump lists, and random takes and gives cost nowhere more than what is published."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from functools import cache
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import pytest
from heap_runs import HEAPS, compared, publish, windows
from needs import need, need_compiler_of_the_pages
from random_check import ROOT, SUITE, kernel_source, make, services_files
from ruamel.yaml import YAML
from services_pages import cells_of_the_page, generator

from wcetchar import store
from wcetchar.formula import evaluate, parse
from wcetchar.model.characterization import Characterization

BOARD = "mps2-an385"
CALLS = 250

pytestmark = [pytest.mark.firmware, pytest.mark.xdist_group("heaps")]

EVERY_TIME = "heap_5"
"""To characterize one takes a minute and a half; `make test-long` has all of them."""
EACH = [pytest.param(h, marks=[] if h == EVERY_TIME else pytest.mark.long) for h in HEAPS]

Published = Callable[[str], Characterization]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("arm-none-eabi-gcc", "gcc-arm-none-eabi")
    if kernel_source() is None:
        pytest.skip("the kernel's source is not there (make kernel)")
    return tmp_path_factory.mktemp("heaps")


@pytest.fixture(scope="module")
def published(folder: Path) -> Published:
    @cache
    def of(heap: str) -> Characterization:
        return publish(BOARD, heap, folder / heap)

    return of


def instructions(characterization: Characterization, name: str, **values: int) -> int:
    (service,) = (s for s in characterization.services if s.name == name)
    return sum(
        evaluate(row.repetition, values) * row.vector.instructions for row in service.counts.rows
    )


def chosen(*heaps: str) -> dict[str, Any]:
    """By heap, what its own file says."""
    yaml = YAML(typ="safe", pure=True)
    return {heap: yaml.load(SUITE / "heaps" / f"{heap}.yaml") for heap in heaps or HEAPS}


@pytest.mark.parametrize("heap", EACH)
def test_all_that_is_declared_is_driven_and_exact(
    published: Published, folder: Path, heap: str
) -> None:
    found = published(heap)
    assert found.kernel.configuration["heap"] == heap
    assert all(service.counts.is_formula for service in found.services)
    described = store.load_services(*map(str, services_files(BOARD, folder, f"HEAP={heap}")))
    assert {s.name for s in described.services} == set(chosen()[heap]["only services"])
    assert {s.name.partition("/")[0] for s in found.services} == {
        s.name for s in described.services
    }
    expected = sum(
        prod(p.maximum - p.minimum + 1 for p in service.parameters)
        for service in described.services
    )
    # The kernel's own assertions hold, too.
    for goal in ("run", "run-check"):
        console = make(BOARD, folder / heap, f"HEAP={heap}", goal)
        assert f"done: {expected} invocations" in console


@pytest.mark.parametrize("heap", [*EACH, pytest.param("heap_4", marks=pytest.mark.long)])
def test_the_page_has_its_figures(published: Published, heap: str) -> None:
    """Of heap_4 `full` has the figures, too, which other tests hold."""
    need_compiler_of_the_pages()
    # The order is that of the services files, of which the campaign has another.
    expected = sorted(generator()["table"](published(heap).services))
    table = cells_of_the_page()[f"{BOARD}+{heap}"].partition("\n### ")[0]
    shown = sorted(re.findall(r"^\|.*", table, re.MULTILINE))
    assert shown == expected, "run: python docs/generate_services.py --more"


def test_what_a_heap_lacks_is_listed() -> None:
    """All that takes from a heap, gives back or asks about it is driven or stands in the list."""
    listed = YAML(typ="safe", pure=True).load(SUITE / "stands-for.yaml")
    files = chosen()
    everything = set(files["heap_5"]["only services"])
    for heap in HEAPS:
        groups = listed["not with this heap"].get(heap, [])
        left_out = [name for group in groups for name in group["services"]]
        assert len(left_out) == len(set(left_out))
        assert not set(left_out) & set(files[heap]["only services"])
        assert set(left_out) | set(files[heap]["only services"]) == everything, heap


@pytest.mark.parametrize("heap", EACH)
def test_what_takes_from_the_heap_is_in_the_list(published: Published, heap: str) -> None:
    """Functions of the kernel that call pvPortMalloc or vPortFree, in its sources, by name."""
    source = kernel_source()
    assert source is not None
    found = {s.name.partition("/")[0] for s in published(heap).services}
    callers = {  # in the sources of V11.2.0, by file
        "tasks.c": {"xTaskCreate"},  # prvCreateTask
        "queue.c": {"xQueueCreate"},
        "timers.c": {"xTimerCreate"},
        "event_groups.c": {"xEventGroupCreate"},
        "stream_buffer.c": {"xStreamBufferCreate"},
    }
    for name, services in callers.items():
        assert "pvPortMalloc" in (source / name).read_text(encoding="utf-8")
        assert services <= found
    files = [f for f in source.glob("*.c") if "pvPortMalloc(" in f.read_text(encoding="utf-8")]
    assert {f.name for f in files} - {"croutine.c"} == callers.keys()


# ---- by hand -------------------------------------------------------------------------------------


def listing(elf: Path, function: str) -> list[str]:
    """Mnemonics and operands of a function, as objdump lists them."""
    done = subprocess.run(
        ["arm-none-eabi-objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", elf],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split("\t") for line in done.stdout.splitlines() if line.startswith("   ")]
    return [" ".join(line[1:]) for line in lines if not line[1].startswith(".word")]


def loop(lines: list[str], elf: Path, function: str, branch: str) -> int:
    """Instructions from the target of the only backward branch of this kind up to it."""
    done = subprocess.run(
        ["arm-none-eabi-objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", elf],
        capture_output=True,
        text=True,
        check=True,
    )
    at = [line.split(":")[0].strip() for line in done.stdout.splitlines() if line[:3] == "   "]
    at = at[: len(lines)]
    found = [
        index - at.index(line.split()[1]) + 1
        for index, line in enumerate(lines)
        if line.startswith(branch) and line.split()[1] in at[: index + 1]
    ]
    assert len(found) >= 1, lines
    return found[-1]


@pytest.mark.long
def test_instructions_of_one_path_of_each_scheme(published: Published, folder: Path) -> None:
    """Counted in what gcc 12.2.1 makes. ``vTaskSuspendAll`` and ``xTaskResumeAll`` are the rest,
    the same in all four."""
    for heap in HEAPS:
        published(heap)
    elf = {heap: folder / heap / "freertos.elf" for heap in HEAPS}
    # heap_3: nine around `ldr, bx` of malloc; nothing branches.
    three = listing(elf["heap_3"], "pvPortMalloc")
    assert [line.split()[0].split(".")[0] for line in three] == [
        *("push", "mov", "bl", "mov", "bl", "mov", "bl", "mov", "pop")
    ]
    assert listing(elf["heap_3"], "malloc")[0].startswith("ldr")
    assert len(listing(elf["heap_3"], "malloc")[:2]) == 2
    around = instructions(published("heap_3"), "pvPortMalloc") - len(three) - 2
    assert around == len(listing(elf["heap_3"], "vTaskSuspendAll")[:5]) + 48
    # heap_1, the size rounded: straight on to the first return.
    one = listing(elf["heap_1"], "pvPortMalloc")
    straight = one.index(next(line for line in one if line.startswith("pop"))) + 1
    assert straight == 27
    assert instructions(published("heap_1"), "pvPortMalloc", case=0) == straight + around
    # Not rounded: without sub, cmp, bcc, adds, subs.
    assert instructions(published("heap_1"), "pvPortMalloc", case=1) == straight - 5 + around
    # heap_2: a turn of the search (ldr, cbz, mov, mov, ldr, cmp, bcc less what it begins with) and
    # one of the insertion (mov, ldr, ldr, cmp, bcc); vPortFree has the second alone.
    two = published("heap_2")
    give = listing(elf["heap_2"], "vPortFree")
    turn = loop(give, elf["heap_2"], "vPortFree", "bcc")
    for n in (1, 7, 16):
        taken = instructions(two, "vPortFree", N=n) - instructions(two, "vPortFree", N=n - 1)
        assert taken == turn == 5
    search = 7  # 2bee to 2bfa: ldr cbz mov mov ldr cmp bcc
    for n in (2, 9, 16):
        more = instructions(two, "pvPortMalloc", N=n, case=0)
        more -= instructions(two, "pvPortMalloc", N=n - 1, case=0)
        assert more == search + turn
    # heap_5 has the code of heap_4, whose loops the tutorial counts: 7 a block, and 4.
    five = published("heap_5")
    for n in (2, 9, 16):
        at = {"case": 0, "minimum": 0}
        more = instructions(five, "pvPortMalloc", N=n, **at)
        assert more - instructions(five, "pvPortMalloc", N=n - 1, **at) == 7
        more = instructions(five, "vPortFree", N=n)
        assert more - instructions(five, "vPortFree", N=n - 1) == 4


@pytest.mark.long
def test_heap_4_alone_has_the_figures_of_full(published: Published, folder: Path) -> None:
    """The page has those of the configuration `full`, where everything else is driven before."""
    page = (ROOT / "docs" / "reference" / "freertos-services.md").read_text(encoding="utf-8")
    full = dict(re.findall(r"^\| `([\w/]+)` \| `([^`]+)` \|", page, re.MULTILINE))
    alone = published("heap_4")
    assert alone.kernel.configuration["heap"] == "heap_4"
    assert set(chosen("heap_4")["heap_4"]["only services"]) == set(
        chosen("heap_5")["heap_5"]["only services"]
    )
    points = 0
    for service in alone.services:
        if service.name.startswith("vTaskDelete_none_delayed"):
            continue  # driven in other states, as the file says
        formula = parse(full[service.name])
        names = [p.name for p in service.parameters]
        for values in product(*(range(p.minimum, p.maximum + 1) for p in service.parameters)):
            at = dict(zip(names, values, strict=True))
            assert instructions(alone, service.name, **at) == evaluate(formula, at), (
                service.name,
                at,
            )
            points += 1
    assert points > 1000


# ---- by chance -----------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("heap", HEAPS)
def test_random_takes_and_gives_cost_no_more(published: Published, folder: Path, heap: str) -> None:
    found = windows(BOARD, heap, folder / f"{heap}-random", 1, CALLS)
    services, near, too_low = set(), 0, []
    for one in compared(published(heap), BOARD, found):
        services.add(one.service)
        near += one.taken == one.published > 0
        if one.taken > one.published:
            too_low.append(one)
    assert too_low == []
    # It looked, and came as near as can be.
    assert len(services) >= (8 if heap == "heap_1" else 12)
    assert near > CALLS
