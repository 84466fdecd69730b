"""The board in RTL: its memories by hand, and that the core executes what the emulator traced."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from needs import need
from rtl_bench import BENCH, ROOT, bench, bench_run, firmware

from wcetchar import readers
from wcetchar.model.trace import Event

RTL = ROOT / "rtl_boards"

Addresses = npt.NDArray[np.uint64]


def test_transactions_of_a_memory_are_those_counted_by_hand(tmp_path: Path) -> None:
    need("g++", "g++")
    program = tmp_path / "memory_test"
    sources = [RTL / "selftest" / "memory_test.cpp", RTL / "bench" / "memory.cpp"]
    subprocess.run(["g++", "-std=c++17", "-O1", "-o", program, *sources], check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def retired(tmp_path_factory: pytest.TempPathFactory) -> Addresses:
    """Addresses of all instructions that the core retired on board A."""
    folder = tmp_path_factory.mktemp("rtl")
    run = bench_run(RTL / "boards" / "a.yaml", firmware(), folder, "--caches", "left")
    said = re.search(r"done: (\d+) invocations", run.said)
    assert said is not None
    lines = (folder / "m.csv").read_text().splitlines()
    assert lines[0] == "cycle,offset"
    begun = sum(1 for line in lines[1:] if int(line.split(",")[1]) < 4096)
    assert begun == int(said[1]) > 400
    return run.address.astype(np.uint64)


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Addresses, int | None]]:
    """The emulator's run, cut at exceptions: addresses, and the exception that follows them."""
    need("qemu-system-riscv32", "qemu-system-misc")
    from click.testing import CliRunner

    from wcetchar.cli import main

    path = tmp_path_factory.mktemp("qemu") / "run.trace"
    done = CliRunner().invoke(
        main, ["capture", str(firmware()), "--machine", "virt", "-o", str(path)]
    )
    assert done.exit_code == 0, done.output
    return list(_cut(str(path)))


def _cut(path: str) -> Iterator[tuple[Addresses, int | None]]:
    parts: list[Addresses] = []
    for batch in readers.open_trace(path).batches():
        stops = np.flatnonzero(batch.kind == Event.EXCEPTION)
        start = 0
        for stop in (*stops.tolist(), len(batch.kind)):
            kind, address = batch.kind[start:stop], batch.address[start:stop]
            parts.append(address[kind == Event.INSTRUCTION])
            if stop < len(batch.kind):
                yield np.concatenate(parts), int(batch.address[stop])
                parts = []
            start = stop
    yield np.concatenate(parts), None


INTERRUPT = 1 << 31
HANDLER = 0x80000100
LATER = 4
"""Instructions that the core may still execute before an interrupt that one of them has raised. The
driver's own, outside of everything that is measured."""


def test_core_and_emulator_execute_the_same_instructions(
    retired: Addresses, traced: list[tuple[Addresses, int | None]]
) -> None:
    """All of a run, one by one. An `ecall` does not retire. An interrupt comes some instructions
    later: these then stand before the handler, and not where the interrupted thread goes on."""
    at = compared = interrupts = 0
    owed: list[Addresses] = []
    for addresses, exception in traced:
        interrupt = exception is not None and bool(exception & INTERRUPT)
        expected = addresses if exception is None or interrupt else addresses[:-1]
        while True:
            found = retired[at : at + len(expected)]
            wrong = np.flatnonzero(found != expected[: len(found)])
            if not len(wrong):
                break
            place = int(wrong[0])
            paid = [n for n, o in enumerate(owed) if _begins(expected[place:], o)]
            assert paid, f"instruction {at + place}: {_first(found, expected)}"
            one = owed.pop(paid[0])
            expected = np.concatenate([expected[:place], expected[place + len(one) :]])
        at += len(expected)
        compared += len(expected)
        if interrupt:
            late = retired[at : at + LATER + 1].tolist().index(HANDLER)
            if late:
                owed.append(retired[at : at + late])
            at += late
            interrupts += 1
    assert len(owed) <= 1  # of a thread that never goes on
    assert abs(len(retired) - at) <= LATER  # the bench stops with the call that ends the program
    assert compared > 1_300_000
    assert interrupts > 50


def _begins(addresses: Addresses, with_these: Addresses) -> bool:
    head = addresses[: len(with_these)]
    return len(head) == len(with_these) and bool((head == with_these).all())


def _first(found: Addresses, expected: Addresses) -> str:
    for one, two in zip(found, expected, strict=False):
        if one != two:
            return f"core {int(one):#x}, emulator {int(two):#x}"
    return f"the core stops after {len(found)} of {len(expected)}"


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--refresh", "has no memory with refresh"),
        ("--jitter", "has no memory with jitter"),
        ("--second-master", "has no second master"),
    ],
)
def test_what_the_board_does_not_have(tmp_path: Path, option: str, message: str) -> None:
    board = tmp_path / "quiet.yaml"
    lines = (RTL / "boards" / "a.yaml").read_text().splitlines()
    board.write_text("\n".join(line for line in lines if not line.startswith("second master")))
    done = bench(board, firmware(), "-o", tmp_path / "m.csv", option)
    assert done.returncode == 3
    assert message in done.stderr


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--busiest", "often", "any, waited"),
        ("--busiest", "", "any, waited"),
        ("--busiest", "-1", "any, waited"),
        ("--busiest", "18446744073709551616", "a whole number of at most 18446744073709551615"),
        ("--seed", "4294967296", "a whole number of at most 4294967295"),
        ("--phase", "12 cycles", "not 12 cycles"),
        ("--limit", "", "a whole number"),
    ],
)
def test_values_of_options(tmp_path: Path, option: str, value: str, message: str) -> None:
    command = ("-o", tmp_path / "m.csv", "--second-master", option, value)
    done = bench(RTL / "boards" / "b.yaml", firmware(), *command)
    assert done.returncode == 3
    assert message in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("memories: {}\n", "expected 'name' and 'memories'"),
        ("name: x\nmemories:\n  m: {base: 0, size: 8}\n", "3:6: 'first' is missing"),
        ("name: x\nmemories:\n  m: {base: 0, size: 8, first: 0}\n", "3:32: 'first' is '0'"),
        ("name: x\nmemories:\n  m: {base: 0, size: 8, first: 1, wait: 2}\n", "unknown key 'wait'"),
        (
            "name: x\nmemories:\n  m: {base: 0, size: 8, first: 1}\n"
            "  n: {base: 4, size: 8, first: 1}\n",
            "4:3: memories m and n overlap",
        ),
        ("name: x\nmemories:\n  m: {base: 0, size: 8, first: 1, width: 24}\n", "8, 16 or 32"),
    ],
)
def test_a_board_file_with_a_mistake(tmp_path: Path, text: str, message: str) -> None:
    board = tmp_path / "b.yaml"
    board.write_text(text)
    done = bench(board, "none.elf", "-o", tmp_path / "m.csv")
    assert done.returncode == 3
    assert message in done.stderr


PERIODS, SETS = 20_000, 128
"""More than the run has marks and returns of handlers; sets of the instruction cache."""


@pytest.mark.long
def test_a_warm_cache_without_room_is_a_cold_one(tmp_path: Path) -> None:
    """And one with room everywhere is ideal: cycle by cycle."""
    pairs = np.stack(np.meshgrid(np.arange(PERIODS), np.arange(SETS)), axis=-1).reshape(-1, 2)
    # Until the caches are emptied for the first time, nothing has to be there.
    pairs[pairs[:, 0] > 0].astype("<u4").tofile(tmp_path / "all")
    (tmp_path / "none").write_bytes(b"")
    board, elf = RTL / "boards" / "b.yaml", firmware()
    runs = {}
    for name, caches in {
        "ideal": ("ideal",),
        "room": ("warm", "--full", str(tmp_path / "none")),
        "cold": ("cold", "--emptied", str(tmp_path / "emptied")),
        "no room": ("warm", "--full", str(tmp_path / "all")),
    }.items():
        runs[name] = bench_run(board, elf, tmp_path, "--caches", *caches)
    assert 0 < (tmp_path / "emptied").stat().st_size // 4 < PERIODS
    emptied = int(np.fromfile(tmp_path / "emptied", dtype="<u4")[0])
    # Before that the cold cache had lines to load; some instructions are on their way then.
    behind = int(np.searchsorted(runs["cold"].cycle, emptied)) + 20
    for one, other, first in ("room", "ideal", 0), ("no room", "cold", behind):
        assert (runs[one].address[first:] == runs[other].address[first:]).all()
        took = [runs[name].took[first + 1 :] for name in (one, other)]
        assert (took[0] == took[1]).all()
    assert runs["cold"].cycle[-1] > runs["ideal"].cycle[-1] * 1.1


@pytest.mark.parametrize(
    "options", [("--caches", "warm"), ("--full", "f"), ("--caches", "cold", "--full", "f")]
)
def test_what_is_warm_needs_a_file(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = bench(RTL / "boards" / "a.yaml", firmware(), "-o", tmp_path / "m.csv", *options)
    assert done.returncode == 3
    assert "--caches warm and --full FILE go together" in done.stderr


def test_with_its_data_cached_a_core_executes_the_same(tmp_path: Path) -> None:
    """Board D: what the cache is told to be devices is the only thing that differs."""
    cores = {name: BENCH.with_name(f"bench-{name}") for name in ("imac", "imac-cached")}
    missing = [name for name, path in cores.items() if not path.exists()]
    if missing:
        pytest.skip(f"not built: make -C rtl_boards CORE={missing[0]}")
    cycles = {}
    for name, program in cores.items():
        files = ["-o", tmp_path / "m.csv", "--retired", tmp_path / name]
        command = [program, RTL / "boards" / "d.yaml", firmware(), *files]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said = re.search(r"(\d+) cycles", done.stderr)
        assert said is not None
        cycles[name] = int(said[1])
    one, two = (np.fromfile(tmp_path / name, dtype="<u4")[0::2] for name in cores)
    assert len(one) > 1_300_000
    assert np.array_equal(one, two)
    assert cycles["imac-cached"] < 0.9 * cycles["imac"]
