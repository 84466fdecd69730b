"""Graphs of the FreeRTOS firmware against the ones that objdump's text gives: the same functions,
the same successors of every instruction, the same calls, tail calls and returns."""

from __future__ import annotations

import shutil
from collections import defaultdict

import pytest
from chain_made import Firmware
from flow_listing import Listing

from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.model.flow import OpenKind, ProgramGraph, TransferKind
from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable
from wcetchar.static.flow.graph import program_graph

pytestmark = pytest.mark.firmware


def functions_of(image: Image, table: InstructionTable) -> list[int]:
    """All functions that an image names."""
    known = {row.address for row in table.instructions}
    return sorted(
        {
            symbol.address
            for symbol in image.symbols
            if symbol.address in known
            and (symbol.kind == "function" or (symbol.kind == "other" and not symbol.local))
        }
    )


def unrolled(
    graph: ProgramGraph, table: InstructionTable, address: int
) -> tuple[dict[int, set[int]], set[tuple[int, int]], set[tuple[int, int]], set[int]]:
    """Successors of each instruction, calls, tail calls and returns of one function."""
    rows, function = table.instructions, graph.functions[address]
    goes: dict[int, set[int]] = defaultdict(set)
    for block in function.blocks:
        for number in range(block.first, block.last):
            goes[rows[number].address].add(rows[number + 1].address)
        goes.setdefault(rows[block.last].address, set())
    for edge in function.edges:
        source = function.blocks[edge.source].last
        goes[rows[source].address].add(rows[function.blocks[edge.target].first].address)
    kinds: dict[TransferKind, set[tuple[int, int]]] = {kind: set() for kind in TransferKind}
    for transfer in function.transfers:
        at = rows[function.blocks[transfer.block].last].address
        kinds[transfer.kind].update((at, target) for target in transfer.targets)
    returns = {rows[function.blocks[number].last].address for number in function.returns}
    return goes, kinds[TransferKind.CALL], kinds[TransferKind.TAIL_CALL], returns


@pytest.mark.parametrize(
    "board", ["mps2-an385", "mps2-an386", "virt", "versatilepb", "versatilepb-thumb"]
)
@pytest.mark.parametrize("config", ["basic", "full"])
def test_same_graph(board: str, config: str) -> None:
    firmware = Firmware(board, config)
    if not firmware.elf.exists():
        pytest.skip(f"{firmware.name} is not built (make -C rtos_tests/freertos BOARD={board})")
    riscv = board == "virt"
    need = "riscv64-unknown-elf-objdump" if riscv else "arm-none-eabi-objdump"
    if shutil.which(need) is None:
        pytest.skip(f"{need} is not installed")
    image = load_image(str(firmware.elf))
    table = decode_image(image)
    entries = functions_of(image, table)
    graph = program_graph(image, table, entries)
    listing = Listing(firmware.elf, riscv=riscv, thumb1=board.endswith("thumb"))
    tables: dict[int, set[int]] = {}
    opens = set()
    for address, function in graph.functions.items():
        opens.update(o.address for o in function.open if o.kind is OpenKind.JUMP)
        goes, _, tails, returns = unrolled(graph, table, address)
        for at, goals in goes.items():
            line = listing.lines[at]
            going = listing.going(line)
            if going.table and at not in opens:
                known = goals | {goal for a, goal in tails if a == at}
                if not (going.next and known == {line.end}):
                    tables.setdefault(at, set()).update(
                        known - ({line.end} if going.next else set())
                    )
    expected = listing.functions(entries, tables)
    assert set(graph.functions) == set(expected)
    assert tables
    for address in sorted(expected):
        want = expected[address]
        goes, calls, tails, returns = unrolled(graph, table, address)
        name = graph.functions[address].name
        assert dict(goes) == want.successors, name
        # Calls through registers that are resolved are none of the listing's.
        unknown = {at for at in goes if listing.going(listing.lines[at]).calls_unknown}
        assert {(at, goal) for at, goal in calls if at not in unknown} == want.calls, name
        assert tails == want.tails, name
        assert returns == {r for r in want.returns if r not in opens}, name
