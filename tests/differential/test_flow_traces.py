"""Every step that a run of FreeRTOS shows is one of its graph: in functions, into them and back.

What is open in the graph is given: the targets that the run itself shows.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from chain_fixtures import made_of, shared  # noqa: F401
from chain_made import Firmware, Shared
from flow_steps import allowed
from flow_steps import shown as steps_of
from test_flow_listing import functions_of

from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.pipeline import capture
from wcetchar.readers import open_trace
from wcetchar.static.flow.graph import program_graph

pytestmark = pytest.mark.firmware

NOT_CALLED = {"xPortStartFirstTask", "vPortISRStartFirstTask"}
"""Functions that go to a task that nobody has called."""
BEHIND_STOPS = {"board_print", "board_print_number", "semihosting", "driver_task"}
"""Where the run ends, behind semihosting calls: breakpoints, which the graph counts as the end."""


@pytest.mark.parametrize("board", ["mps2-an385", "virt", "versatilepb", "versatilepb-thumb"])
def test_steps(board: str, shared: Shared) -> None:  # noqa: F811
    firmware = Firmware(board)
    if not firmware.elf.exists():
        pytest.skip(f"{firmware.name} is not built (make -C rtos_tests/freertos BOARD={board})")
    path = Path(shared.folder) / f"flow-{board}.trace"
    if not path.exists():
        capture.run(capture.Request(str(firmware.elf), str(path), firmware.machine))
    image = load_image(str(firmware.elf))
    table = decode_image(image)
    trace = open_trace(str(path), image=image)
    steps = steps_of(trace.batches())
    assert len(steps) > 4000
    entries = functions_of(image, table)
    unknown = allowed(program_graph(image, table, entries), table)[1]
    targets: dict[int, set[int]] = defaultdict(set)
    for at, goal in steps:
        if at in unknown:
            targets[at].add(goal)
    given = {at: tuple(sorted(goals)) for at, goals in targets.items()}
    graph = program_graph(image, table, entries, targets=given)
    possible, still_unknown = allowed(graph, table)
    assert not still_unknown & set(targets)
    wrong = set()
    for at, goal in sorted(steps - possible):
        function = image.label_at(at)
        name = "" if function is None else function.name
        if name not in NOT_CALLED | BEHIND_STOPS:
            wrong.add((hex(at), name, hex(goal)))
    assert not wrong
