"""Register values: the same run in every format that carries them, against its own registers."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from canonical_run import RUN
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trace_writers import Run, Step, execlog, image_of, qemu_log, renode_binary, renode_text, stream

from wcetchar.errors import InputError
from wcetchar.model.trace import Event, Knowledge, Trace
from wcetchar.readers import open_trace
from wcetchar.readers.encoding import CodeMap
from wcetchar.readers.registers import register_number, register_numbers

NAMES = ("r0", "r1", "r2", "r3", "r12", "sp", "pc")
NUMBERS = {"r0": 0, "r1": 1, "r2": 2, "r3": 3, "r12": 12, "sp": 13, "pc": 15}
RENODE = {"sp": "SP / R13", "pc": "PC / R15"}

State = dict[str, int]
Write = Callable[[Run, list[State]], bytes]


def states(run: Run, seed: int) -> list[State]:
    """What registers hold at the beginning of each step; most change seldom."""
    dice = random.Random(seed)
    state = dict.fromkeys(NAMES, 0)
    found = []
    for step in run:
        for name in NAMES:
            if dice.random() < 0.3:
                state[name] = dice.choice([0, 1, 0xFFFFFFFF, dice.getrandbits(32)])
        state["pc"] = step.pc
        found.append(dict(state))
    return found


def execlog_with(run: Run, known: list[State], garbage: str = "") -> bytes:
    """Changes between the beginning of a step and that of the next stand behind the step.
    ``garbage``: what QEMU 9.0 prints in front of a value."""
    lines = execlog(run).decode().splitlines()
    out = []
    for n, line in enumerate(lines):
        after = known[n + 1] if n + 1 < len(known) else known[n]
        changed = "".join(
            f", {name} -> 0x{garbage}{value:08x}"
            for name, value in after.items()
            if value != known[n][name]
        )
        out.append(f"{line}{changed}\n")
    return "".join(out).encode()


def text_with(form: str) -> Write:
    def write(run: Run, known: list[State]) -> bytes:
        one = renode_text(form)
        out = b""
        for step, state in zip(run, known, strict=True):
            values = " | ".join(f"{RENODE.get(n, n.upper())}: 0x{v:X}" for n, v in state.items())
            head, _, rest = one([step]).partition(b"\n")
            junk = " | ".join(f"{n.upper()}: 0xDEAD" for n in state)
            out += head + b"\n" + f" Pre: {values}\n".encode() + rest + f"Post: {junk}\n".encode()
        return out

    return write


def binary_with(version: int) -> Write:
    def item(before: int, state: State) -> bytes:
        out = bytes([4, before, len(state)])
        for name, number in state.items():
            shown = RENODE.get(name, name.upper()).encode()
            out += bytes([len(shown)]) + shown + b"\x04" + number.to_bytes(4, "little")
        return out

    def write(run: Run, known: list[State]) -> bytes:
        one = renode_binary(version)
        header = one([])
        out = header
        for step, state in zip(run, known, strict=True):
            record = one([step])[len(header) :]
            junk = dict.fromkeys(state, 0xDEAD)
            out += record[:-1] + item(1, state) + item(0, junk) + b"\x00"
        return out

    return write


FORMATS: dict[str, tuple[Write, str | None]] = {
    "execlog": (execlog_with, "execlog-8.2"),
    "execlog of QEMU 9.0": (lambda run, known: execlog_with(run, known, "a7"), "execlog-8.2"),
    "Renode PCAndOpcode": (text_with("PCAndOpcode"), None),
    "Renode Disassembly": (text_with("Disassembly"), None),
    "Renode PC": (text_with("PC"), "renode-pc"),
    "Renode binary 4": (binary_with(4), None),
    "Renode binary 5": (binary_with(5), None),
}
each = pytest.mark.parametrize("name", FORMATS)


def opened(name: str, run: Run, known: list[State], path: Path) -> Trace:
    write, form = FORMATS[name]
    path.write_bytes(write(run, known))
    return open_trace(str(path), image=image_of(run), format=form)


def rows(trace: Trace, registers: bool) -> list[tuple[int, int, int]]:
    return [
        row
        for batch in trace.batches(registers=registers)
        for row in zip(
            batch.kind.tolist(), batch.address.tolist(), batch.size.tolist(), strict=True
        )
    ]


def check(trace: Trace, run: Run, known: list[State]) -> None:
    """Before each instruction stand right values; where a format shows all of them, all."""
    assert trace.info.knows(Knowledge.REGISTERS)
    found: dict[int, int] = {}
    step = -1
    for kind, address, number in rows(trace, registers=True):
        if kind == Event.REGISTER:
            found[number] = address
        elif kind == Event.INSTRUCTION:
            step += 1
            assert address == run[step].pc
            truth = {NUMBERS[name]: value for name, value in known[step].items()}
            if not trace.info.registers_persist:
                assert found == truth
                found = {}
            else:
                assert found.items() <= truth.items()
                changed = {
                    NUMBERS[name]
                    for before, after in pairwise(known[: step + 1])
                    for name in NAMES
                    if before[name] != after[name] and name != "pc"  # execlog's is out of date
                }
                assert found.keys() == changed
    assert step == len(run) - 1
    plain = [row for row in rows(trace, registers=True) if row[0] != Event.REGISTER]
    assert rows(trace, registers=False) == plain
    assert dict(trace.totals.unread)["register values"] > 0


@each
def test_registers_of_the_canonical_run(name: str, tmp_path: Path) -> None:
    known = states(RUN, 1)
    check(opened(name, RUN, known, tmp_path / "trace"), RUN, known)


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32), size=st.integers(2, 30))
def test_registers_of_any_part(tmp_path: Path, seed: int, size: int) -> None:
    start = random.Random(seed).randrange(len(RUN) - 2)
    run = RUN[start : start + size]
    known = states(run, seed)
    known[-1]["r0"] ^= 1  # at least one change
    for name in FORMATS:
        check(opened(name, run, known, tmp_path / "trace"), run, known)


@each
def test_registers_across_pieces(name: str, tmp_path: Path) -> None:
    """A trace of many pieces: instructions and their registers lie across their bounds."""
    run = [Step(0x100 + 2 * (n % 7), b"\x00\xbf") for n in range(6000)]
    known = states(run, 3)
    trace = opened(name, run, known, tmp_path / "trace")
    assert (tmp_path / "trace").stat().st_size > 1 << 19 or name.startswith("execlog")
    held: dict[int, int] = {}
    step = 0
    for kind, address, number in rows(trace, registers=True):
        if kind == Event.REGISTER:
            held[number] = address
        else:
            assert all(held[NUMBERS[n]] == known[step][n] for n in NAMES if NUMBERS[n] in held)
            assert trace.info.registers_persist or len(held) == len(NAMES)
            held = held if trace.info.registers_persist else {}
            step += 1
    assert step == len(run)


@pytest.mark.parametrize(
    ("write", "form"),
    [(stream, None), (qemu_log, None), (execlog, "execlog-8.2"), (renode_text("PC"), "renode-pc")],
)
def test_a_trace_without_registers_says_so(
    write: Callable[[Run], bytes], form: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "trace"
    path.write_bytes(write(RUN))
    trace = open_trace(str(path), image=image_of(RUN), format=form)
    assert not trace.info.knows(Knowledge.REGISTERS)
    assert rows(trace, registers=True) == rows(trace, registers=False)


def test_without_an_instruction_set_there_are_no_names(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(execlog_with(RUN, states(RUN, 1)))
    trace = open_trace(str(path), format="execlog-8.2")
    assert not trace.info.knows(Knowledge.REGISTERS)


@pytest.mark.parametrize("digits", ["5", "0000000000000005", "123456789"])
def test_a_value_of_another_width_is_refused(digits: str, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_text(f'0, 0x40, 0x481b, "ldr r0, [pc]", load, 0xb0, RAM, r0 -> 0x{digits}\n')
    trace = open_trace(str(path), image=image_of(RUN), format="execlog-8.2")
    with pytest.raises(InputError, match=f"the value of r0 has {len(digits)} digits"):
        list(trace.batches(registers=True))
    assert len(rows(trace, registers=False)) == 2


def test_a_register_is_no_device(tmp_path: Path) -> None:
    """User-mode logs name no device behind an address."""
    path = tmp_path / "trace"
    path.write_text('0, 0x40, 0x481b, "ldr r0, [pc]", load, 0xb0, r0 -> 0x00000007\n')
    trace = open_trace(str(path), image=image_of(RUN), format="execlog-8.2")
    batch = next(trace.batches(registers=True))
    assert (batch.kind[-1], batch.address[-1], batch.size[-1]) == (Event.REGISTER, 7, 0)


def test_a_damaged_register_line(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_text("0x40: 0x481B\n Pre: R0: 0x1\n Pre: 7 : R1 0x2: 0x3\n")
    trace = open_trace(str(path), image=image_of(RUN))
    with pytest.raises(InputError, match="does not fit"):
        list(trace.batches(registers=True))


def test_names_of_riscv_registers() -> None:
    image = replace(image_of(RUN), machine="riscv")
    numbers = register_numbers(CodeMap(image))
    assert numbers is not None
    named = {"zero": 0, "ra": 1, "sp": 2, "fp": 8, "s0": 8, "a0": 10, "a7": 17, "t6": 31, "x31": 31}
    assert named.items() <= numbers.items()
    assert register_number(numbers, "X10 / A0") == 10
    assert register_number(numbers, "MSTATUS") is None
