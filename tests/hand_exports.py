"""Priced invocations for tests of exports: by hand, and random ones from a number."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from wcetchar.model.characterization import (
    Counts,
    ServiceCharacterization,
    StretchKind,
    Word,
)
from wcetchar.model.invocation import (
    CallFrame,
    Exported,
    Function,
    HeldOff,
    Interruption,
    Invocation,
    PricedInvocation,
    Segment,
)
from wcetchar.model.service import Parameter, ParameterKind, ServiceKind

HOSTILE = (
    "line\nbreak",
    "return\rand\ttab",
    "fn=(1) other",
    "(2)",
    "<script>alert(1)</script>",
    "\"quoted\" & 'more' \\ %s {} #",
    "\x1b[31mred\x07\x00",
    "Привет, 世界 \u202e\u2028",
    "\udcff\udc80 no text",
    "calls=1 0x10 2",
    "  ",
    "",
    " padded ",
    "0x10 5 7 7 7",
    "x" * 100_000,
    "x" * 99_999 + "y",
    "totals: 1 2 3",
    "events: none",
    "a" * 399 + "é",
    ")(*&^%$#@!~`",
)
"""Names that a file of a stranger could have."""


def invocation(
    frames: Sequence[CallFrame],
    address: Sequence[int],
    ps: Sequence[int],
    *,
    service: str = "service",
    values: dict[str, int] | None = None,
    columns: Sequence[str] = ("core",),
    column_ps: Sequence[Sequence[int]] | None = None,
    held: Sequence[HeldOff] = (),
    segments: Sequence[Segment] = (Segment(0, 0),),
    run: int = 0,
    thread: int = 0,
    in_handler: bool = False,
) -> PricedInvocation:
    """``ps``: of each instruction, and of what caches load."""
    values = values or {}
    counted = ServiceCharacterization(
        name=service,
        kind=ServiceKind.CALL,
        word=Word.HIGH_WATER_MARK,
        parameters=tuple(
            Parameter(name, ParameterKind.STATE, 0, 1 << 20, "any") for name in values
        ),
        counts=Counts(),
    )
    nothing = np.zeros(0, dtype=np.int64)
    traced = Invocation(
        service,
        tuple(values.values()),
        counted,
        np.array(address, dtype=np.int64),
        (),
        nothing,
        nothing,
        tuple(frames),
        tuple(held),
        tuple(segments),
        run,
        thread,
        in_handler,
    )
    every = [ps] if column_ps is None else column_ps
    return PricedInvocation(
        traced,
        Fraction(sum(ps), 1000),
        Word.HIGH_WATER_MARK,
        tuple(columns),
        np.array(ps, dtype=np.int64),
        tuple(np.array(one, dtype=np.int64) for one in every),
    )


def _frames(
    rng: random.Random, functions: Sequence[Function], length: int, deepest: int
) -> list[CallFrame]:
    """Random frames that nest, of ``length`` instructions."""
    made = [CallFrame(rng.choice(functions), 0, length - 1)]

    def inside(number: int, first: int, behind: int, depth: int) -> None:
        at = first + 1
        while depth < deepest and at < behind and rng.random() < 0.7:
            begin = rng.randrange(at, behind)
            end = rng.randrange(begin, behind)
            made.append(CallFrame(rng.choice(functions), begin, end, number, begin - 1))
            inside(len(made) - 1, begin, end + 1, depth + 1)
            at = end + 2

    inside(0, 0, length, 1)
    return made


def random_export(number: int, names: Sequence[str] = HOSTILE, deepest: int = 6) -> Exported:
    """Some invocations, whose names are those, on threads and in handlers."""
    rng = random.Random(number)
    files = [rng.choice(names) for _ in range(3)]
    functions = [
        Function(0x100 + 64 * n, rng.choice(names), rng.choice((*files, "")), rng.randrange(99))
        for n in range(6)
    ]
    regions = [*dict.fromkeys(rng.choice(names) for _ in range(4))]
    lines = {
        address: (rng.choice(files), rng.randrange(1, 90))
        for address in range(0x100, 0x300, 2)
        if rng.random() < 0.8
    }
    made = []
    for one in range(rng.randint(1, 4)):
        length = rng.randint(1, 40)
        columns = rng.sample(regions, rng.randint(1, len(regions)))
        column_ps = [
            [rng.choice((0, rng.randrange(9), rng.randrange(10**6))) for _ in range(length + 1)]
            for _ in columns
        ]
        ps = np.sum(column_ps, axis=0).tolist()
        firsts = sorted({0, *(rng.randrange(length) for _ in range(rng.randint(0, 3)))})
        made.append(
            invocation(
                _frames(rng, functions, length, deepest),
                [rng.randrange(0x100, 0x300, 2) for _ in range(length)],
                ps,
                service=rng.choice(names),
                values={rng.choice(names): rng.randrange(100)} if rng.random() < 0.5 else {},
                columns=columns,
                column_ps=column_ps,
                held=[HeldOff(kind, 0, length - 1) for kind in StretchKind if rng.random() < 0.5],
                segments=[
                    Segment(first, 10 * n + one, rng.choice(list(Interruption)) if n else None)
                    for n, first in enumerate(firsts)
                ],
                thread=one,
                in_handler=rng.random() < 0.3,
            )
        )
    return Exported(
        rng.choice(names), rng.choice(names), rng.choice(names), tuple(made), lines, tuple(names)
    )
