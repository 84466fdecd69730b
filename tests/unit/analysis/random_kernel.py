"""Random kernels for ``tiny_machine``: functions of critical sections, calls, loops, IT blocks."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from listing import MARK
from tiny_machine import (
    DATA,
    SHARED,
    STACKS,
    THREAD_STACK,
    Function,
    Machine,
    Op,
    Program,
    Step,
    add,
    call,
    call_register,
    compare,
    compare_jump,
    constant,
    copy,
    from_stack,
    jump,
    leave,
    mark,
    masks,
    memory,
    move_stack,
    multiple,
    pair,
    plain,
    pop,
    predicated,
    push,
    read_mask,
    switch_handler,
    tail_call,
    tail_call_register,
    to_stack,
    write_mask,
)

SAVED = [4, 5, 6, 8, 9, 14]
SLOTS = 24
"""Bytes of local variables."""


class Author:
    """Writes random functions; each may call those before it."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.functions: list[Function] = []
        self._labels = 0

    def label(self) -> str:
        self._labels += 1
        return f"label_{self._labels}"

    def program(self) -> Program:
        rng = self.rng
        for name in ("lock", "unlock"):
            body = self.block(1) if rng.random() < 0.5 else [plain("nop")]
            self.functions.append(Function(name, self.framed(body), rng.random() < 0.5))
        for number in range(rng.randint(1, 3)):
            body = self.block(2)
            self.functions.append(
                Function(f"helper_{number}", self.framed(body), rng.random() < 0.5)
            )
        body = self.block(3)
        if rng.random() < 0.3:
            # It calls itself while r6, which counts, is not zero.
            end = self.label()
            body += [
                memory(6, DATA + 0x700, 4, write=False),
                compare_jump(6, end, if_zero=True),
                add(6, -1),
                memory(6, DATA + 0x700, 4, write=True),
                call("service"),
                self.named(plain("nop"), end),
            ]
        self.functions.append(Function("service", self.framed(body)))
        self.functions.append(
            Function("tick", self.framed(self.block(1), [4, 5, 6, 8, 9, 10, 11, 14]))
        )
        self.functions.append(Function("other", self.handler()))
        self.functions.append(Function("switch", switch_handler()))
        self.functions.append(Function("start", self.thread()))
        return Program(self.functions, {1: "start", 14: "switch", 15: "tick", 16: "other"})

    def named(self, op: Op, label: str) -> Op:
        op.label = label
        return op

    def thread(self) -> list[Op]:
        set_count = memory(0, DATA + 0x700, 4, write=True)
        ops = [
            self.named(constant(0, self.rng.randint(0, 2)), "thread_loop"),
            set_count,
            mark(2, lambda m: 1 + m.owner % 16),
            mark(0, lambda m: 7),
            call("service"),
            mark(1, lambda m: 7),
        ]
        if self.rng.random() < 0.5:
            ops += [call("service")]  # one that is not marked
        if self.rng.random() < 0.5:
            ops += [call("lock"), plain("nop"), call("unlock")]
        return [*ops, jump("thread_loop")]

    def handler(self) -> list[Op]:
        """It masks too, and keeps the mask in the same word as threads do."""
        return [
            push([4, 14]),
            read_mask(3, "basepri"),
            memory(3, SHARED, 4, write=True),
            constant(2, 0x20),
            write_mask("basepri", 2),
            multiple([0, 1, 2, 3], DATA + 16, write=False),
            multiple([0, 1, 2], DATA + 64, write=True),
            memory(3, SHARED, 4, write=False),
            write_mask("basepri", 3),
            Op("pop {r4, pc}", self._pop_return),
        ]

    @staticmethod
    def _pop_return(m: Machine) -> int:
        m.r[4] = m.load(m.sp, 4)
        back = m.load(m.sp + 4, 4)
        m.sp += 8
        return back

    def framed(self, body: list[Op], saved: list[int] = SAVED) -> list[Op]:
        rng = self.rng
        ops = [push(saved), move_stack(-SLOTS), *body, move_stack(SLOTS)]
        rest = [r for r in saved if r != 14]
        way = rng.randrange(3)
        known = [f.name for f in self.functions if f.name.startswith(("helper", "unlock"))]
        if way == 0 and saved == SAVED and known:
            name = rng.choice(known)
            if name == "unlock":
                ops.insert(-1, call("lock"))
            return [*ops, self._pop_with_lr(saved), *self._tail(name)]
        if way == 1:
            return [*ops, self._pop_with_lr(saved), leave()]
        if saved != SAVED:
            return [*ops, self._pop_with_lr(saved), leave()]
        return [*ops, pop([*rest, 15])]

    def _tail(self, name: str) -> list[Op]:
        if self.rng.random() < 0.5:
            return [tail_call(name)]
        return tail_call_register(name, 3)

    @staticmethod
    def _pop_with_lr(saved: list[int]) -> Op:
        op = pop(saved)
        op.text = op.text.replace("pop ", "ldmia.w sp!, ")
        return op

    # --- bodies -------------------------------------------------------------------------------

    def block(self, depth: int) -> list[Op]:
        ops: list[Op] = []
        for _ in range(self.rng.randint(1, 3)):
            ops += self.rng.choice(self.makers(depth))(depth - 1)
        return ops

    def makers(self, depth: int) -> list[Callable[[int], list[Op]]]:
        simple = [self.simple, self.simple, self.predicated, self.accesses]
        if depth <= 0:
            return simple
        nested = [
            self.loop, self.branch, self.all_masked, self.all_masked_saved, self.up_to_priority,
            self.decided,
        ]  # fmt: skip
        names = {f.name for f in self.functions}
        if "helper_0" in names:
            nested += [self.calls, self.calls]
        if "unlock" in names:
            nested += [self.locked, self.locked]
        return simple + nested

    def simple(self, depth: int) -> list[Op]:
        rng = self.rng
        return [
            rng.choice([
                plain("nop"), plain("nop.w"), plain("dsb"), add(1, 1), add(0, 3),
                constant(1, rng.randint(0, 3)), plain("mul r0, r0, r1"), copy(10, 1),
            ])
            for _ in range(rng.randint(1, 4))
        ]  # fmt: skip

    def accesses(self, depth: int) -> list[Op]:
        rng = self.rng
        at = DATA + rng.randrange(0, 64)
        return rng.choice([
            [memory(0, at, 4, rng.random() < 0.5)],
            [memory(0, at, 1, rng.random() < 0.5)],
            [memory(0, at, 2, rng.random() < 0.5)],
            [pair(0, 1, 8, rng.random() < 0.5)],
            [multiple([0, 1, 2], at & ~3, rng.random() < 0.5)],
            [to_stack(0, rng.choice([8, 9, 12]), 1)],
            [from_stack(0, 12)],
        ])  # fmt: skip

    def predicated(self, depth: int) -> list[Op]:
        rng = self.rng
        op = rng.choice([
            memory(0, DATA + 4, 4, rng.random() < 0.5), add(1, 1), constant(0, 2),
            pair(0, 1, 8, rng.random() < 0.5),
        ])  # fmt: skip
        return [compare(rng.randint(0, 1), rng.randint(0, 2)), *predicated(op, rng.random() < 0.5)]

    def loop(self, depth: int) -> list[Op]:
        again = self.label()
        body = self.block(depth)
        body[0:0] = [self.named(to_stack(8, 4), again)]
        return [
            constant(2, self.rng.randint(1, 4)),
            copy(8, 2),
            *body,
            from_stack(2, 4),
            add(2, -1),
            copy(8, 2),
            jump(again, if_zero=False),
        ]

    def branch(self, depth: int) -> list[Op]:
        end = self.label()
        rng = self.rng
        register = rng.randint(0, 1)
        test = rng.choice([
            [compare(register, rng.randint(0, 2)), jump(end, rng.random() < 0.5)],
            [add(register, -1), jump(end, rng.random() < 0.5)],
        ])  # fmt: skip
        return [*test, *self.block(depth), self.named(plain("nop"), end)]

    def calls(self, depth: int) -> list[Op]:
        rng = self.rng
        name = rng.choice([f.name for f in self.functions if f.name.startswith("helper")])
        way = rng.randrange(3)
        if way == 0:
            return [call(name)]
        if way == 1:
            return call_register(name, 3)
        zero = rng.random() < 0.5
        return [
            compare(0, rng.randint(0, 2)),
            plain("it eq" if zero else "it ne"),
            call(name, zero),
        ]

    def locked(self, depth: int) -> list[Op]:
        return [call("lock"), *self.block(depth), call("unlock")]

    # --- masks --------------------------------------------------------------------------------

    def all_masked(self, depth: int) -> list[Op]:
        # Only where nothing inside writes PRIMASK, so that it is off afterwards.
        return [masks(True), *self.simple(depth), *self.accesses(depth), masks(False)]

    def kept(self, depth: int, name: str, raise_: list[Op]) -> list[Op]:
        """Reads the mask, raises it, restores it; the old value waits in one of several places."""
        rng = self.rng
        body = self.block(depth)
        way = rng.randrange(6)
        read, write = read_mask(3, name), write_mask(name, 3)
        if way == 0:
            return [read, *raise_, *self.simple(depth), write]
        if way == 1:
            # r5 is preserved by calls; loops and blocks inside use other registers, or save it.
            return [
                read, copy(9, 3), *raise_, push([9, 10]), *body,
                pop([9, 10]), copy(3, 9), write,
            ]  # fmt: skip
        if way == 2:
            return [read, to_stack(3, 16), *raise_, *self.simple(depth), from_stack(3, 16), write]
        if way == 3:
            return [
                read, memory(3, SHARED, 4, True), *raise_, *self.simple(depth),
                memory(3, SHARED, 4, False), write,
            ]  # fmt: skip
        if way == 4:
            # Something else is written into the word that is restored later.
            return [
                read, to_stack(3, 20), *raise_, constant(1, 0),
                to_stack(1, rng.choice([20, 21]), 1), from_stack(3, 20), write,
            ]  # fmt: skip
        return [
            read, pair(3, 1, 16, True), *raise_, constant(1, 0), *self.simple(depth),
            pair(1, 3, 12, True) if rng.random() < 0.5 else plain("nop"),
            from_stack(3, 16), write,
        ]  # fmt: skip

    def all_masked_saved(self, depth: int) -> list[Op]:
        return self.kept(depth, "primask", [masks(True)])

    def up_to_priority(self, depth: int) -> list[Op]:
        register = self.rng.choice(["basepri", "basepri_max"])
        value = self.rng.choice([0x20, 0x40, 0x80])
        return self.kept(depth, "basepri", [constant(2, value), write_mask(register, 2)])

    def decided(self, depth: int) -> list[Op]:
        """As FreeRTOS leaves a critical section: a zero that a branch decided is written."""
        end = self.label()
        rng = self.rng
        between = [constant(0, 0x40)] if rng.random() < 0.5 else [plain("nop")]
        store = [] if rng.random() < 0.5 else [copy(0, 1)]
        return [
            constant(2, 0x40),
            write_mask("basepri", 2),
            constant(0, rng.randint(0, 1)),
            memory(0, DATA + 0x704, 4, True),
            memory(0, DATA + 0x704, 4, False),
            compare(0, 0),
            *store,
            jump(end, if_zero=False),
            *([] if rng.random() < 0.5 else between),
            write_mask("basepri", 0),
            self.named(constant(0, 0), end),
            write_mask("basepri", 0),
        ]


def run(seed: int, elf: Path, program: Program, steps: int, interrupts: float) -> Machine:
    """Runs threads, interrupts and switches until all have ended their marked calls."""
    rng = random.Random(seed)
    machine = Machine(program, elf)
    machine.pc = machine.labels["start"]
    born = 1

    def new_thread() -> None:
        nonlocal born
        stack = STACKS + THREAD_STACK * (1 + born % 8)
        frame = stack + THREAD_STACK - 64
        if frame in machine.suspended or born >= 5:
            return
        machine.suspended[frame] = (
            born, [0] * 16, machine.labels["start"], stack + THREAD_STACK, False,
        )  # fmt: skip
        born += 1

    machine.schedule = lambda m: rng.choice(sorted(m.suspended))
    while len(machine.steps) < steps:
        if len(machine.nested) < 2 and rng.random() < interrupts and not machine.primask:
            _interrupt(machine, rng, new_thread)
        machine.step()
    return machine


def _interrupt(machine: Machine, rng: random.Random, new_thread: Callable[[], None]) -> None:
    being_handled = machine.exceptions_open
    wanted = rng.choice([14, 14, 14, 15, 16])
    masked = machine.basepri and wanted != 16
    if masked or wanted in being_handled or 16 in being_handled:
        return
    if wanted == 14:
        if being_handled or machine.lock:
            return
        if rng.random() < 0.5:
            new_thread()
    machine.exception(wanted)


def windows(machine: Machine) -> list[list[Step]]:
    """Own steps of each marked call, by stack pointer and return address, in order of their end."""
    entry = machine.labels["service"]
    found: list[list[Step]] = []
    armed: dict[int, bool] = {}
    inside: dict[int, list[Step]] = {}
    for step in machine.steps:
        window = inside.get(step.owner)
        if window is not None:
            if (step.pc, step.sp) == (window[0].back, window[0].sp):
                found.append(inside.pop(step.owner))
            else:
                window.append(step)
        elif armed.get(step.owner) and step.pc == entry:
            inside[step.owner] = [step]
        for _, address, _ in step.accesses:
            if MARK <= address < MARK + 512:
                armed[step.owner] = address < MARK + 256
    return found
