"""Values of mask registers, followed backwards through assembled instructions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from listing import SCRIPT, Row, batches, i, load, r, w

from wcetchar.analysis.contexts import Context, Piece
from wcetchar.analysis.history import Timeline, steps, steps_before
from wcetchar.analysis.last_writes import LastWrites
from wcetchar.analysis.masks import Access, Step, alone, value_of
from wcetchar.model.bits import Bits
from wcetchar.model.characterization import Blocking
from wcetchar.model.instruction import MaskRegister
from wcetchar.model.masks import MaskState
from wcetchar.model.trace import Event

P, F, B, M = (
    MaskRegister.PRIMASK,
    MaskRegister.FAULTMASK,
    MaskRegister.BASEPRI,
    MaskRegister.BASEPRI_MAX,
)
STACK = 0x20020100

Line = tuple[str, list[Access]]
Follow = Callable[..., "int | None"]


def none(text: str) -> Line:
    return text, []


def load_(text: str, *addresses: int, size: int = 4) -> Line:
    return text, [(a, size, False) for a in addresses]


def store(text: str, *addresses: int, size: int = 4) -> Line:
    return text, [(a, size, True) for a in addresses]


@pytest.fixture
def follow(assemble: Callable[..., Path]) -> Follow:
    def run(register: int, *lines: Line, skip: tuple[int, ...] = (), **options: int) -> int | None:
        """Value of a register after lines that ran in this order, but for those of ``skip``.

        The last line is the one that uses the register. ``mask``: what reads of masks gave.
        """
        source = "\n".join(text for text, _ in lines)
        heading = ".global wcet_mark\n.type wcet_mark,%object\nwcet_mark: .word 0\n.text\n"
        _, table = load(assemble(heading + ".type f,%function\nf:\n" + source + "\n", SCRIPT))
        assert len(table) == len(lines)
        mask = Bits(options["mask"]) if "mask" in options else None
        steps = [
            Step(instruction, accesses, mask, place)
            for place, (instruction, (_, accesses)) in enumerate(
                zip(table.instructions, lines, strict=True)
            )
            if place not in skip
        ]
        return value_of(register, reversed(steps[:-1]), steps[-1].instruction.address)

    return run


USE = none("msr basepri, r3")


def test_constants_and_copies(follow: Follow) -> None:
    assert follow(3, none("movs r5, #7"), none("mov r3, r5"), USE) == 7
    assert follow(3, none("movw r3, #0x1234"), USE) == 0x1234
    assert follow(3, none("mvn r3, #0"), USE) == 0xFFFFFFFF
    assert follow(3, none("movw r3, #0x1234"), none("movt r3, #1"), USE) is None
    assert follow(3, none("movs r3, #1"), none("lsls r3, r3, #4"), USE) is None
    assert follow(3, none("nop"), USE) is None


def test_a_read_mask_is_known_until_it_is_changed(follow: Follow) -> None:
    assert follow(3, none("mrs r3, basepri"), USE, mask=0x40) == 0x40
    assert follow(3, none("mrs r3, basepri"), none("orr r3, r3, #2"), USE, mask=0x40) is None
    assert follow(3, none("mrs r3, basepri"), USE) is None


def test_predicated_assignments_are_not_known(follow: Follow) -> None:
    assert follow(3, none("movs r3, #1"), none("it eq"), none("moveq r3, #2"), USE) is None


def test_a_supervisor_call_may_change_registers(follow: Follow) -> None:
    """Its handler returns results in the stacked r0 to r3."""
    assert follow(3, none("movs r3, #0"), none("svc #1"), USE) is None
    compare = [none("cmp r3, #0"), none("svc #1"), none("bne.n ."), USE]
    assert follow(3, *compare) is None


def test_through_the_stack(follow: Follow) -> None:
    kept = [none("movs r3, #9"), store("str r3, [sp, #4]", STACK)]
    back = [load_("ldr r3, [sp, #4]", STACK), USE]
    assert follow(3, *kept, *back) == 9
    assert follow(3, *kept, store("str r0, [r1]", STACK + 4), *back) == 9
    assert follow(3, *kept, store("str r0, [r1]", STACK - 4), *back) == 9


@pytest.mark.parametrize(
    "between",
    [
        store("strb r0, [r1]", STACK + 3, size=1),
        store("strh r0, [r1]", STACK + 2, size=2),
        store("str r0, [r1]", STACK + 2),
        store("str r0, [r1]", STACK - 3),
        store("str r0, [r1]", STACK - 3, size=0),
        # a pair that the emulator stores as one access of eight bytes
        store("strd r0, r2, [r1]", STACK - 4, size=8),
        # one whose elements are not told apart
        store("strd r0, r2, [r1]", STACK - 4, size=0),
    ],
)
def test_what_is_written_over_is_not_known(follow: Follow, between: Line) -> None:
    kept = [none("movs r3, #9"), store("str r3, [sp, #4]", STACK)]
    assert follow(3, *kept, between, load_("ldr r3, [sp, #4]", STACK), USE) is None


def test_narrow_loads_are_not_followed(follow: Follow) -> None:
    kept = [none("movs r3, #9"), store("str r3, [sp, #4]", STACK)]
    assert follow(3, *kept, load_("ldrb.w r3, [sp, #4]", STACK, size=1), USE) is None
    pair = load_("ldrd r2, r3, [sp]", STACK - 4, size=8)
    assert follow(3, *kept, pair, USE) is None


def test_elements_belong_to_registers_by_address(follow: Follow) -> None:
    """In whatever order the emulator made them."""
    kept = [none("movs r3, #9"), none("movs r4, #5")]
    down = store("push {r3, r4}", STACK + 4, STACK)
    assert follow(3, *kept, down, load_("pop {r3, r4}", STACK, STACK + 4), USE) == 9
    assert follow(3, *kept, down, load_("pop {r3, r4}", STACK + 4, STACK), USE) == 9


def test_others_that_write_the_word(assemble: Callable[..., Path]) -> None:
    lines = [none("movs r3, #9"), store("str r3, [r1]", STACK), load_("ldr r3, [r1]", STACK)]
    source = "\n".join(text for text, _ in lines)
    _, table = load(assemble(f".text\n.type f,%function\nf:\n{source}\n", SCRIPT))
    steps = [
        Step(instruction, accesses, None, 10 * place)
        for place, (instruction, (_, accesses)) in enumerate(
            zip(table.instructions, lines, strict=True)
        )
    ]
    asked: list[tuple[int, int, int]] = []

    def disturbed(word: int, older: int, newer: int) -> bool:
        asked.append((word, older, newer))
        return False

    assert value_of(3, reversed(steps), None, disturbed) is None
    assert asked == [(STACK, 10, 20)]
    assert value_of(3, reversed(steps), None, alone) == 9


SWITCH = """
.global wcet_mark
.type wcet_mark,%object
wcet_mark: .word 0
.text
.type swap,%function
swap:
  movs r0, #0x40
  str r0, [r3, #124]
  bx lr
.type switch,%function
switch:
  ldr r0, [r2, #124]
  movs r3, #0
  str r3, [r2, #124]
  msr basepri, r0
"""
KEPT = 0x20020200  # where the thread's control block has its mask


def a_switch(
    assemble: Callable[..., Path], *between: tuple[str, list[Row]], forget: bool = False
) -> int | None:
    """What the switch restores after a thread stored its mask, with other contexts in between."""
    image, table = load(assemble(SWITCH, SCRIPT))
    at = {s.name: s.address for s in image.symbols}
    timeline, contexts = Timeline(), {name: Context(name) for name in ("a", "b", "handler")}

    def ran(name: str, rows: list[Row]) -> None:
        (batch,) = batches(rows, 64)
        index = np.full(len(batch), -1, dtype=np.int32)
        own = batch.kind == Event.INSTRUCTION
        index[own] = table.index_of(batch.address[own])
        piece = Piece(batch.kind, batch.address, batch.size, index, Blocking())
        contexts[name].instructions += int(own.sum())
        contexts[name].remember(piece)
        timeline.add(contexts[name], piece)

    swap, switch = at["swap"] & ~1, at["switch"] & ~1
    ran("a", [i(swap), i(swap + 2), w(KEPT), i(swap + 4)])
    for name, rows in between:
        ran(name, rows)
    if forget:
        contexts["a"].forget()
    handler = contexts["handler"]
    ran("handler", [i(switch), r(KEPT), i(switch + 2), i(switch + 4), w(KEPT), i(switch + 6)])
    return value_of(
        0,
        islice(steps(handler, table), 1, None),
        switch + 6,
        partial(timeline.undisturbed, handler),
        partial(steps_before, timeline, table),
    )


def test_a_mask_that_a_thread_kept_is_known_when_a_switch_restores_it(
    assemble: Callable[..., Path],
) -> None:
    """The switch itself clears the word afterwards, which is no write before its load."""
    assert a_switch(assemble) == 0x40
    assert a_switch(assemble, ("b", [w(KEPT - 4), w(KEPT + 4)])) == 0x40


@pytest.mark.parametrize("word", [KEPT, KEPT + 3, KEPT - 3])
def test_the_last_writer_counts(assemble: Callable[..., Path], word: int) -> None:
    assert a_switch(assemble, ("b", [w(word)])) is None
    assert a_switch(assemble, ("a", [w(word)])) is None


def test_nothing_is_known_of_a_writer_that_is_forgotten(assemble: Callable[..., Path]) -> None:
    assert a_switch(assemble, forget=True) is None


def test_a_store_whose_accesses_two_batches_share_is_known(assemble: Callable[..., Path]) -> None:
    """The second batch begins with the accesses of the last instruction of the first one."""
    source = ".text\n.type f,%function\nf: movs r4, #5\n push {r3, r4, r5, lr}\n"
    _, table = load(assemble(source, SCRIPT))
    movs, push = (instruction.address for instruction in table.instructions)
    rows = [i(movs), i(push), *(w(KEPT + 4 * number) for number in range(4))]
    for cut in range(1, len(rows) + 1):
        timeline, thread = Timeline(), Context("thread")
        for part in (rows[:cut], rows[cut:], [w(KEPT + 100)]):
            for batch in batches(part, 64):
                index = np.full(len(batch), -1, dtype=np.int32)
                own = batch.kind == Event.INSTRUCTION
                index[own] = table.index_of(batch.address[own])
                piece = Piece(batch.kind, batch.address, batch.size, index, Blocking())
                if part[0] == w(KEPT + 100):  # by somebody else
                    timeline.add(Context("other"), piece)
                    continue
                thread.instructions += int(own.sum())
                thread.remember(piece)
                timeline.add(thread, piece)
        load_ = Step(table.instructions[0], (), None, timeline.next_serial, 0)
        newest, before = steps_before(timeline, table, KEPT + 4, load_)
        assert newest.instruction.address == push
        assert newest.accesses == [(KEPT + 4 * number, 4, True) for number in range(4)], cut
        assert before.instruction.address == movs
        assert not before.accesses


def piece_of(kind: Event, *places: tuple[int, int]) -> Piece:
    """Accesses (address, size)."""
    addresses, sizes = zip(*places, strict=True)
    return Piece(
        np.full(len(places), int(kind), dtype=np.uint8),
        np.array(addresses, dtype=np.uint64),
        np.array(sizes, dtype=np.uint8),
        np.full(len(places), -1, dtype=np.int32),
        Blocking(),
    )


LONG = 1 << 16
"""Events of a piece that the timeline keeps a few of only."""


def long_ago(timeline: Timeline) -> None:
    """So much runs that earlier pieces are kept no longer."""
    other = Context("handler")
    for _ in range(12):
        timeline.add(other, piece_of(Event.READ, *[(KEPT, 4)] * LONG))


@pytest.mark.parametrize(
    ("kind", "address", "size", "known"),
    [
        (Event.WRITE, KEPT + 4, 4, True),
        (Event.WRITE, KEPT - 4, 4, True),
        (Event.READ, KEPT, 4, True),
        (Event.WRITE, KEPT, 1, False),
        (Event.WRITE, KEPT + 3, 1, False),
        (Event.WRITE, KEPT - 2, 4, False),
        (Event.WRITE, KEPT - 6, 8, False),
        (Event.WRITE, KEPT - 7, 0, False),  # of unknown size
        (Event.ACCESS, KEPT, 4, False),  # of unknown direction
    ],
)
def test_what_a_thread_stored_is_known_however_long_it_waited(
    kind: Event, address: int, size: int, known: bool
) -> None:
    """A work queue's thread waits for so long that the pieces since then are kept no longer."""
    timeline, thread, other = Timeline(), Context("thread"), Context("thread")
    stored, loaded = piece_of(Event.WRITE, (KEPT, 4)), piece_of(Event.READ, (KEPT, 4))
    timeline.add(other, piece_of(Event.WRITE, (KEPT, 4)))  # before the thread did
    timeline.add(thread, stored)
    timeline.add(other, piece_of(kind, (address, size)))
    timeline.add(thread, piece_of(Event.WRITE, (KEPT + 8, 4)))
    long_ago(timeline)
    timeline.add(thread, loaded)
    assert timeline.undisturbed(thread, KEPT, stored.serial, loaded.serial) is known
    assert not timeline.undisturbed(other, KEPT, stored.serial - 1, loaded.serial)
    assert timeline.last_write(KEPT, stored.serial + 1, 0) is None, "who did is not known"


def test_who_wrote_long_ago_is_known_while_the_thread_remembers() -> None:
    """A handler restores what a thread had stored before it waited for very long."""
    timeline, thread, other = Timeline(), Context("thread"), Context("thread")
    stored, later = piece_of(Event.WRITE, (KEPT, 4)), piece_of(Event.WRITE, (KEPT + 8, 4))
    timeline.add(other, piece_of(Event.WRITE, (KEPT, 4)))
    for piece in (stored, later):
        thread.remember(piece)
        timeline.add(thread, piece)
    assert timeline.last_write(KEPT, later.serial, 0) == (thread, stored.serial, 0)
    long_ago(timeline)
    found = (thread, stored.serial, 0)
    assert timeline.last_write(KEPT, timeline.next_serial, 0) == found
    assert timeline.last_write(KEPT + 5, timeline.next_serial, 0) == (thread, later.serial, 0)
    assert timeline.last_write(KEPT, stored.serial, 0) is None, "only what was before"
    assert timeline.last_write(KEPT + 64, timeline.next_serial, 0) is None, "nobody did"
    assert timeline.last_write(KEPT - 3, timeline.next_serial, 0) == found
    timeline.add(other, piece_of(Event.WRITE, (KEPT + 2, 1)))
    long_ago(timeline)
    assert timeline.last_write(KEPT, timeline.next_serial, 0) is None, "another one, who forgot"
    timeline.cut()
    assert timeline.last_write(KEPT + 8, timeline.next_serial, 0) is None, "something unseen ran"


def test_nothing_is_known_of_a_thread_that_is_gone() -> None:
    timeline, thread = Timeline(), Context("thread")
    thread.remember(piece := piece_of(Event.WRITE, (KEPT, 4)))
    timeline.add(thread, piece)
    long_ago(timeline)
    assert timeline.last_write(KEPT, timeline.next_serial, 0) is not None
    del thread
    assert timeline.last_write(KEPT, timeline.next_serial, 0) is None


def test_what_was_stored_before_something_unseen_is_not_known() -> None:
    timeline, thread = Timeline(), Context("thread")
    stored = piece_of(Event.WRITE, (KEPT, 4))
    timeline.add(thread, stored)
    timeline.cut()
    long_ago(timeline)
    assert not timeline.undisturbed(thread, KEPT, stored.serial, 100)


def test_last_writes_are_those_of_a_search_through_all() -> None:
    """Against a list of all writes that is searched from the end."""
    random = np.random.default_rng(7)
    last, writes, pieces = LastWrites(), [], []
    for serial in range(400):
        owner, count = int(random.integers(5)), int(random.integers(1, 4))
        places = [
            (KEPT + int(random.integers(40)), int(random.choice([0, 1, 2, 4, 8])))
            for _ in range(count)
        ]
        kind = Event.READ if random.integers(4) == 0 else Event.WRITE
        piece = piece_of(kind, *places)
        piece.serial = serial
        pieces.append((owner, piece))
        if kind is Event.WRITE:
            writes += [(owner, serial, a, a + (size or 8)) for a, size in places]
        if random.integers(10) == 0:
            last.add(pieces)
            pieces = []
    last.add(pieces)
    for word in range(KEPT, KEPT + 48, 4):
        for owner in range(6):
            by_others = [
                serial
                for o, serial, start, end in writes
                if o != owner and start < word + 4 and end > word
            ]
            assert last.by_others(owner, word) == max(by_others, default=-1)
    assert last.by_others(0, KEPT - 100) == -1


def test_nothing_is_known_across_a_gap(assemble: Callable[..., Path]) -> None:
    timeline, piece = Timeline(), Piece(*(np.zeros(1, t) for t in ("u1", "u8", "u1", "i4")), None)  # type: ignore[arg-type]
    piece.kind[:], piece.address[:], piece.size[:] = int(Event.WRITE), KEPT, 4
    timeline.add(Context("a"), piece)
    assert timeline.last_write(KEPT, 1, 0) is not None
    assert timeline.last_write(KEPT, 0, 0) is None, "only what was before"
    timeline.cut()
    assert timeline.last_write(KEPT, 1, 0) is None


@pytest.mark.parametrize(
    ("lines", "skip", "value"),
    [
        # fell through cbnz: zero
        ([none("cbnz r3, 1f"), none("nop"), none("1: msr basepri, r3")], (), 0),
        # took it
        ([none("cbnz r3, 1f"), none("nop"), none("1: msr basepri, r3")], (1,), None),
        ([none("cbz r3, 1f"), none("nop"), none("1: msr basepri, r3")], (1,), 0),
        ([none("cmp r3, #5"), none("bne.n 1f"), none("1: msr basepri, r3")], (), None),
        ([none("cmp r3, #5"), none("bne.n 1f"), none("nop"), none("1: msr basepri, r3")], (), 5),
        # the register changes between the comparison and the branch
        (
            [none("cmp r3, #5"), none("mov r3, r4"), none("bne.n 1f"), none("nop"),
             none("1: msr basepri, r3")], (), None,
        ),
        # and after the branch
        (
            [none("cmp r3, #5"), none("bne.n 1f"), none("add r3, r3, #1"),
             none("1: msr basepri, r3")], (), None,
        ),
        # other flags in between
        (
            [none("cmp r3, #5"), none("tst r0, r1"), none("bne.n 1f"), none("nop"),
             none("1: msr basepri, r3")], (), None,
        ),
        (
            [none("cmp r3, #5"), none("msr apsr_nzcvq, r0"), none("bne.n 1f"), none("nop"),
             none("1: msr basepri, r3")], (), None,
        ),
        # another condition tells nothing of equality
        ([none("cmp r3, #5"), none("bhi.n 1f"), none("nop"), none("1: msr basepri, r3")], (), None),
        # the result of an addition is zero
        ([none("subs r3, #1"), none("bne.n 1f"), none("nop"), none("1: msr basepri, r3")], (), 0),
    ],
)  # fmt: skip
def test_decided_branches(
    follow: Follow, lines: list[Line], skip: tuple[int, ...], value: int | None
) -> None:
    assert follow(3, *lines, skip=skip) == value


# ---- states --------------------------------------------------------------------------------------


def test_basepri_max_only_raises() -> None:
    """B5.2.3: written if the value is not 0 and BASEPRI is 0 or larger."""
    state = MaskState()
    for old in (0, 0x20, 0x80):
        for value in (0, 0x10, 0x40, 0xFF, 0x140):
            before = state.written(B, old)
            bits = value & 0xFF
            expected = bits if bits and (old == 0 or bits < old) else old
            assert before.written(M, value).value(B) == expected, (old, value)


def test_an_unknown_value_counts_as_blocking_and_says_so() -> None:
    state = MaskState().written(P, 1)
    assert state.blocking(False) == Blocking(interrupts=True)
    unknown = state.written(P, None)
    assert unknown.value(P) is None
    assert unknown.blocking(False) == Blocking(unknown=True)
    assert unknown.written(P, 0).blocking(False) == Blocking()
    # one that is known to mask everything leaves nothing open
    assert unknown.written(F, 1).blocking(False) == Blocking(interrupts=True)
    raised = MaskState().written(B, 0x40).written(M, None)
    assert raised.blocking(True) == Blocking(preemption=True, unknown=True)
    assert raised.written(M, 0x20).value(B) is None
