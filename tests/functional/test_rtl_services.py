"""Services on boards in RTL against their figures: a small part of `make validate`."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from needs import need
from rtl_bench import ROOT, bench, firmware

from wcetchar.counting.vain import FetchedInVain
from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.store import load_map

ROW = re.compile(r"\| basic \| (.*?) \| ([\d,]+) \| ([\d,]+) \| (\d+) \| (.*?) % \| (.*?) % \|")


REFRESH = "imc, board C, caches ideal, refresh, second master"
EVERYTHING = REFRESH.replace("ideal", "cold")  # waits in every way that there is, and lines
EACH_BOARD = [
    "imc, board A, caches ideal",
    "imc, board B, caches cold",
    EVERYTHING,
    "imac-cached, board D, caches ideal; as if no load hit",
]
WARM = "imc, board A, caches warm"
WARM_OF_ALL = [
    "imc, board B, caches warm",
    "imc, board B, caches warm, jitter, second master, busiest",
    "imc, board C, caches warm",
    "imc, board C, caches warm, refresh, second master, busiest",
    "imac-cached, board D, caches warm, warm data; by lines that are placed",
]
EMPTY_DATA = "imac-cached, board D, caches ideal, empty data; by lines that are placed"
BOARD_D = [
    f"imac-cached, board D, caches ideal{state}"
    for state in (
        "; as if no load hit",
        "; by lines",
        "; by lines that are placed",
        ", empty data; by lines",
        ", empty data; by lines that are placed",
        ", warm data; by lines that are placed",
    )
]
PAST_THE_CACHE = [
    "imac, board D, caches ideal",
    "imac, board D, caches cold",
    "imac, board D, caches warm",
    "cynthion, board D, caches cold",
    "cynthion, board D, caches warm",
]
SHARED = [
    "imc, board C, caches cold, jitter",
    "imc, board A, caches cold, second master, busiest",
    "imac, board D, caches ideal, jitter, second master, busiest",
    "imac-cached, board D, caches cold, jitter, second master, busiest; by lines that are placed",
]
BOTH_CACHES = [
    f"imac-cached, board D, caches cold; by lines{placed}" for placed in ("", " that are placed")
]


@pytest.mark.parametrize(
    ("states", "runs"),
    [
        (EACH_BOARD, ["--runs", "1"]),
        pytest.param([WARM], ["--runs", "1"], marks=pytest.mark.long),
        # of those that differ, two: the page has four
        pytest.param(
            [EVERYTHING, "imc, board B, caches cold", WARM, EMPTY_DATA],
            ["--runs", "2"],
            marks=pytest.mark.long,
        ),
        # bounds of all paths in the place of the figures
        pytest.param(
            ["imc, board B, caches cold"], ["--runs", "1", "--paths"], marks=pytest.mark.long
        ),
        pytest.param(
            [
                "imc, board A, caches ideal",
                "imc, board A, caches cold",
                "imc, board B, caches ideal",
                "imc, board C, caches ideal",
            ],
            ["--runs", "1", "--paths"],
            marks=pytest.mark.long,
        ),
        pytest.param([REFRESH, EVERYTHING], [], marks=pytest.mark.long),
        pytest.param([f"{EVERYTHING}, busiest"], [], marks=pytest.mark.long),
        pytest.param(BOTH_CACHES, [], marks=pytest.mark.long),
        pytest.param(WARM_OF_ALL, [], marks=pytest.mark.long),
        pytest.param([f"{REFRESH}, busiest"], [], marks=pytest.mark.long),
        pytest.param(["imc, board A, caches cold"], [], marks=pytest.mark.long),
        pytest.param(BOARD_D, [], marks=pytest.mark.long),
        pytest.param(PAST_THE_CACHE, [], marks=pytest.mark.long),
        pytest.param(SHARED, ["--runs", "2"], marks=pytest.mark.long),
    ],
)
def test_no_service_takes_longer_than_its_figure(states: list[str], runs: list[str]) -> None:
    need("qemu-system-riscv32", "qemu-system-misc")
    need("riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf")
    bench()
    firmware()
    command = [sys.executable, ROOT / "rtl_boards" / "validate.py", "--config", "basic", *runs]
    only = [word for state in states for word in ("--only", state)]
    done = subprocess.run([*command, *only], capture_output=True, text=True)
    if re.search(r"No such file.*bench-", done.stderr):
        pytest.skip("the board is not built in build/rtl")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    calls, masked = done.stdout.split("How long services mask interrupts")
    for table, rows_at_least in (calls, 600), (masked, 300):
        rows = ROW.findall(table)
        assert {row[0] for row in rows} == set(states), table
        for row in rows:
            assert int(row[1].replace(",", "")) > rows_at_least
            assert int(row[3]) == 0


@pytest.mark.parametrize("folder", ["freertos-virt", "freertos-virt-full"])
def test_behind_each_return_of_the_kernel_lies_code(folder: str) -> None:
    """Else what is fetched there in vain may be anything, and two lines are charged for it."""
    elf = ROOT / "build" / "firmware" / folder / "freertos.elf"
    if not elf.exists():
        pytest.skip(f"{elf} is not built")
    image = load_image(str(elf))
    table = decode_image(image)
    vain = FetchedInVain(table)
    kernel = {s.name: range(s.address, s.address + s.size) for s in image.sections}
    code = [kernel[name] for name in (".fast_text", ".text")]
    of_kernel = [
        n
        for n, row in enumerate(table.instructions)
        if any(row.address in section for section in code)
        and (function := image.function_at(row.address)) is not None
        and function.name != "behind_fast_text"
    ]
    assert len(of_kernel) > 3_000
    assert [n for n in of_kernel for taken in (True, False) if vain.of(n, taken).wild] == []


@pytest.mark.parametrize("folder", ["freertos-virt", "freertos-virt-full"])
@pytest.mark.parametrize(
    "name",
    ["imc-cached", "imc-board-b-cached", "imc-board-c-cached", "imac-board-d-cached"],
)
def test_the_map_says_where_the_code_lies(name: str, folder: str) -> None:
    """By objdump: the figures with a cache rest on it."""
    elf = ROOT / "build" / "firmware" / folder / "freertos.elf"
    need("riscv64-unknown-elf-objdump", "binutils-riscv64-unknown-elf")
    if not elf.exists():
        pytest.skip(f"{elf} is not built")
    command = ["riscv64-unknown-elf-objdump", "-h", elf]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {r[1]: int(r[3], 16) for r in map(str.split, listing.splitlines()) if len(r) == 7}
    addresses = dict(load_map(f"vexriscv/map-{name}").addresses)
    addresses[".caller_text"] = addresses.pop("caller.text")
    there = addresses.keys() & found.keys()
    assert {".text", ".fast_text"} <= there
    assert {section: found[section] for section in there} == {s: addresses[s] for s in there}
