"""Random runs with nested handlers and thread switches, against the core's own state.

``Core`` is CONTROL.FPCA and FPCCR.LSPACT of the manual's pseudocode (DDI 0403E, B1.5.6 to B1.5.8),
carried along while the run is written; the code under test has to find the same from the trace.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from listing import (
    BEGIN,
    END,
    FUNCTION,
    SCRIPT,
    SERVICES,
    STACK,
    Row,
    batches,
    i,
    load,
    mark,
    r,
    sections,
    w,
)

from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.model.service import Service, ServiceKind
from wcetchar.model.trace import Event

SOURCE = (
    """
.cpu cortex-m4
.fpu fpv4-sp-d16
.section .vectors,"a"
  .word 0x20021000, start+1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, switch+1, quiet+1
  .word float+1, maybe+1
"""
    + sections()
    + FUNCTION
    + """
function start
  strb r0, [r4]
start_2: b.n start
start_3: b.n plain
.size start, .-start
function plain
  nop
plain_2: beq.n plain_4
plain_3: b.n plain
plain_4: vmul.f32 s0, s0, s0
plain_5: b.n plain
plain_6: b.n start
.size plain, .-plain
function quiet
  nop
quiet_2: bx lr
.size quiet, .-quiet
function float
  nop
float_2: vadd.f32 s0, s0, s0
float_3: vadd.f32 s0, s0, s0
float_4: bx lr
.size float, .-float
function maybe
  it eq
maybe_2: vldmiaeq r0, {s16-s17}
maybe_3: nop
maybe_4: bx lr
.size maybe, .-maybe
function switch
  it eq
switch_2: vstmdbeq r0!, {s16-s17}
switch_3: stmdb r0!, {r4-r11}
switch_4: ldmia.w r1!, {r4-r11}
switch_5: it eq
switch_6: vldmiaeq r1!, {s16-s17}
switch_7: bx lr
.size switch, .-switch
"""
)

NAMES = ("quiet", "float", "maybe", "switch")
THREADS = 3


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Callable[..., Path]], Resolved]:
    kept: list[Resolved] = []

    def make(assemble: Callable[..., Path]) -> Resolved:
        if not kept:
            image, table = load(assemble(SOURCE, SCRIPT, "cortex-m4"))
            handlers = [
                Service(name, number, ServiceKind.HANDLER, (name,))
                for number, name in enumerate(NAMES, 8)
            ]
            services = replace(SERVICES, services=tuple(handlers), scheduler_lock=None)
            kept.append(resolve(services, image, table))
        return kept[0]

    return make


@dataclass(eq=False)
class Frame:
    """What an exception put on the stack: ``extended`` by room for floating-point registers."""

    extended: bool
    main: bool


@dataclass
class Core:
    """The run so far and the state of the core at its end."""

    at: dict[str, int]
    rng: random.Random
    rows: list[Row] = field(default_factory=list)
    found: list[tuple[str, list[tuple[int, bool, bool]]]] = field(default_factory=list)
    fpca: bool = False
    lspact: Frame | None = None
    depth: int = 0
    thread: int = 0
    saved: dict[int, Frame] = field(default_factory=dict)
    """Frames of the threads that do not run; one that never ran has none."""

    def floats(self, window: list[tuple[int, bool, bool]] | None, position: int) -> None:
        """ExecuteFPCheck."""
        if self.lspact is not None:
            assert window is not None, "the port saves before it switches"
            window.append((position, True, self.lspact.main))
            self.lspact = None
        self.fpca = True

    def handler(self) -> None:
        """An exception, from its entry to its return."""
        name = self.rng.choice(NAMES if self.depth == 0 else NAMES[:3])
        number = 15 + NAMES.index(name)
        frame = Frame(self.fpca, self.depth > 0)
        if self.fpca:
            assert self.lspact is None
            self.lspact = frame
        self.fpca = False
        self.depth += 1
        self.rows.append((Event.EXCEPTION, number, 0))
        window: list[tuple[int, bool, bool]] = []
        self.nested()
        last = getattr(self, name)(window, frame)
        self.depth -= 1
        if name == "switch":
            frame = last[1]
            last = last[0]
        if frame.extended:
            if self.lspact is frame:
                self.lspact = None
            else:
                window.append((last, False, frame.main))
        self.fpca = frame.extended
        self.rows.append((Event.EXCEPTION_EXIT, number, 0))
        self.found.append((name, window))

    def nested(self) -> None:
        while self.depth < 4 and self.rng.random() < 0.25:
            self.handler()

    def run(self, *labels: str) -> None:
        for label in labels:
            self.rows.append(i(self.at[label]))
            self.nested()

    def quiet(self, window: list[tuple[int, bool, bool]], frame: Frame) -> int:
        self.run("quiet", "quiet_2")
        return 1

    def float(self, window: list[tuple[int, bool, bool]], frame: Frame) -> int:
        self.run("float")
        self.floats(window, 1)
        self.run("float_2")
        self.floats(window, 2)
        self.run("float_3", "float_4")
        return 3

    def maybe(self, window: list[tuple[int, bool, bool]], frame: Frame) -> int:
        self.run("maybe")
        self.rows.append(i(self.at["maybe_2"]))
        if self.rng.random() < 0.5:
            self.floats(window, 1)
            self.rows += [r(STACK - 32), r(STACK - 28)]
        self.nested()
        self.run("maybe_3", "maybe_4")
        return 3

    def switch(self, window: list[tuple[int, bool, bool]], frame: Frame) -> tuple[int, Frame]:
        saved, self.saved[self.thread] = self.place(), frame
        self.run("switch")
        self.transfer("switch_2", frame.extended, window, 1)
        self.rows += [i(self.at["switch_3"]), *(w(saved + 4 * k) for k in range(8))]
        self.nested()
        self.thread = self.rng.randrange(THREADS)
        other = self.saved.pop(self.thread, Frame(False, False))
        self.rows += [i(self.at["switch_4"]), *(r(self.place() + 4 * k) for k in range(8))]
        self.nested()
        self.run("switch_5")
        self.transfer("switch_6", other.extended, window, 5)
        self.run("switch_7")
        return 6, other

    def transfer(
        self, label: str, takes_effect: bool, window: list[tuple[int, bool, bool]], position: int
    ) -> None:
        self.rows.append(i(self.at[label]))
        if takes_effect:
            self.floats(window, position)
            row = w if label == "switch_2" else r
            self.rows += [row(STACK - 40), row(STACK - 36)]
        self.nested()

    def place(self) -> int:
        return STACK - 512 - 64 * self.thread


def random_run(at: dict[str, int], seed: int) -> Core:
    rng = random.Random(seed)
    core = Core(at, rng)
    core.rows += [i(at["start"]), *(mark(BEGIN, n) for n in range(8, 12)), i(at["start_3"])]
    steps = dict.fromkeys(range(THREADS), "plain")
    following = {
        "plain": ("plain_2",),
        "plain_2": ("plain_3", "plain_4"),
        "plain_3": ("plain",),
        "plain_4": ("plain_5",),
        "plain_5": ("plain",),
    }
    for _ in range(60):
        label = steps[core.thread]
        steps[core.thread] = rng.choice(following[label])
        if label == "plain_4":
            core.floats(None, 0)
        core.rows.append(i(at[label]))
        core.nested()
    core.rows += [i(at["start"]), *(mark(END, n) for n in range(8, 12))]
    return core


@pytest.mark.parametrize("seed", range(60))
def test_the_cores_own_state(
    assemble: Callable[..., Path],
    made: Callable[[Callable[..., Path]], Resolved],
    seed: int,
) -> None:
    resolved = made(assemble)
    core = random_run({s.name: s.address for s in resolved.image.symbols}, seed)
    size = random.Random(seed).choice((1, 2, 5, 1000))
    assert windows(resolved, core.rows, size) == core.found


@pytest.mark.parametrize("seed", range(20))
def test_never_fewer_where_less_is_known(
    assemble: Callable[..., Path],
    made: Callable[[Callable[..., Path]], Resolved],
    seed: int,
) -> None:
    """A filter left something out at first; addresses are missing; the firmware wrote FPCCR."""
    resolved = made(assemble)
    core = random_run({s.name: s.address for s in resolved.image.symbols}, seed)
    unknown = [core.rows[0], (Event.GAP, 3, 0), *core.rows[1:]]
    chosen = [*core.rows[:5], w(0xE000EF34), *core.rows[5:]]
    for rows in (unknown, chosen):
        less = windows(resolved, rows, 1000)
        assert len(less) == len(core.found)
        for (name, held), (expected, wanted) in zip(less, core.found, strict=True):
            assert name == expected
            assert Counter(map(kind, wanted)) <= Counter(map(kind, held))


def kind(frame: tuple[int, bool, bool]) -> tuple[bool, bool]:
    return frame[1:]


def windows(
    resolved: Resolved, rows: list[Row], size: int
) -> list[tuple[str, list[tuple[int, bool, bool]]]]:
    finder = WindowFinder(resolved, "random")
    return [
        (
            window.service.name,
            [(f.position, f.write, f.on_main_stack) for f in window.float_frames],
        )
        for window in find_windows(batches(rows, size), finder)
    ]


def test_the_runs_have_everything(
    assemble: Callable[..., Path], made: Callable[[Callable[..., Path]], Resolved]
) -> None:
    resolved = made(assemble)
    assert resolved.services.float_context is None
    seen: Counter[tuple[str, bool, bool]] = Counter()
    for seed in range(60):
        core = random_run({s.name: s.address for s in resolved.image.symbols}, seed)
        for name, held in core.found:
            seen.update((name, write, main) for _, write, main in held)
    # Every kind of transfer in every handler that can have it: a switch interrupts threads only.
    wanted = {(name, write, main) for name in NAMES for write in (True, False) for main in (0, 1)}
    wanted -= {("quiet", True, True), ("quiet", True, False)}
    wanted -= {("switch", write, True) for write in (True, False)}
    assert wanted <= set(seen)
