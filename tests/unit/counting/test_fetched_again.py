"""Which loads find all instructions still there that are fetched with them once more: programs of a
few instructions by hand, and random ones against a fetch unit and a cache that are followed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from wcetchar.counting.fetched_again import AHEAD, NEAR, near
from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.model.access import EventKind
from wcetchar.model.cache import LINE_BYTES
from wcetchar.model.instruction import Flow, InstructionTable

SCRIPT = "SECTIONS { .text 0x80000000 : { *(.text*) } }"
HEAD = ".option norvc\n.text\n.p2align 2\n.global code\n.type code,%function\ncode:\n"
TAIL = "\n.size code, .-code\n"
FAR = f".rept {NEAR // 4}\nnop\n.endr\n"
ROOM = "nop\n" * 6

Built = Callable[[str, str], Path]

CASES = {
    "nothing but what lies behind": (f"lw a0, 0(sp)\n{ROOM}", True),
    "a branch close by": (f"lw a0, 0(sp)\nbeq a0, a1, 1f\n{ROOM}1:\n{ROOM}", True),
    "a loop": (f"1: lw a0, 0(sp)\nnop\nbeq a0, a1, 1b\n{ROOM}", True),
    "a branch far away": (f"lw a0, 0(sp)\nbeq a0, a1, 1f\n{ROOM}{FAR}1:\n{ROOM}", False),
    "a call far away, the third behind": (
        f"lw a0, 0(sp)\nnop\nnop\njal ra, 1f\n{ROOM}{FAR}1:\n{ROOM}",
        False,
    ),
    "a call far away that is not decoded yet": (
        f"lw a0, 0(sp)\nnop\nnop\nnop\njal ra, 1f\n{ROOM}{FAR}1:\n{ROOM}",
        True,
    ),
    "through a register, right behind": (f"lw a0, 0(sp)\njr a1\n{ROOM}", False),
    "through a register, the second behind": (f"lw a0, 0(sp)\nnop\njr a1\n{ROOM}", True),
    "a trap": (f"lw a0, 0(sp)\nnop\nnop\necall\n{ROOM}", False),
    "the code ends": ("lw a0, 0(sp)\nnop\nnop\n", False),
    "what is touched last is known": ("lw a0, 0(sp)\nnop\nnop\nnop\nnop\n", True),
    "no load": (f"sw a0, 0(sp)\n{ROOM}", False),
}


def table_of(assemble_riscv: Built, source: str) -> InstructionTable:
    return decode_image(load_image(str(assemble_riscv(HEAD + source + TAIL, SCRIPT))))


def one_section(table: InstructionTable) -> npt.NDArray[np.int64]:
    return np.zeros(len(table.instructions), dtype=np.int64)


@pytest.mark.parametrize("name", CASES)
def test_near(name: str, assemble_riscv: Built) -> None:
    source, expected = CASES[name]
    table = table_of(assemble_riscv, source)
    assert near(table, one_section(table)).tolist()[0] is expected


def test_what_is_fetched_from_another_section_may_lie_anywhere(assemble_riscv: Built) -> None:
    table = table_of(assemble_riscv, f"lw a0, 0(sp)\n{ROOM}")
    for number in range(len(table.instructions)):
        section = one_section(table)
        section[number] = 1
        assert near(table, section).tolist()[0] is (number > AHEAD + 1)


class _Cache:
    """Of one way, direct mapped, of ``APART`` bytes or more."""

    def __init__(self, line: int, size: int, rng: random.Random) -> None:
        self._line, self._sets = line, size // line
        self._held = [rng.randrange(1 << 20) for _ in range(self._sets)]
        self.loaded: list[int] = []

    def fetch(self, start: int, end: int) -> None:
        for line in range(start // self._line, (end - 1) // self._line + 1):
            if self._held[line % self._sets] != line:
                self._held[line % self._sets] = line
                self.loaded.append(line)


def _walk(table: InstructionTable, index: int, rng: random.Random) -> list[tuple[int, int]] | None:
    """What one fetch unit touches from an instruction on until ``AHEAD`` behind it are decoded,
    that predicts as it likes; ``None``: it is led out of the code."""
    at = {one.address: one for one in table.instructions}
    one, touched = table.instructions[index], []
    for _ in range(AHEAD + 1):
        touched.append((one.address, one.end))
        touched.append((one.end, one.end + 4))  # behind it, while it is decoded
        to = one.end
        if one.target is not None and (not one.conditional or rng.random() < 0.5):
            to = one.target
        if to not in at:
            return None
        one = at[to]
    return [*touched, (one.address, one.end)]


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_loaded_the_second_time(seed: int, assemble_riscv: Built) -> None:
    rng = random.Random(seed)
    count = 700
    rows = []
    for number in range(count):
        to = min(count - 1, max(0, number + rng.choice((-300, -20, -3, 3, 5, 30, 240, 290))))
        word = rng.choice(("lw a0, 0(sp)",) * 3 + ("nop",) * 3 + ("beq a0, a1", "j", "jr a1"))
        word = {"beq a0, a1": f"beq a0, a1, i{to}", "j": f"j i{to}"}.get(word, word)
        rows.append(f"i{number}: {word}")
    table = table_of(assemble_riscv, "\n".join([*rows, ROOM]))
    found = near(table, one_section(table))
    loads = [n for n, one in enumerate(table.instructions) if one.issue is EventKind.LOAD]
    assert 0.2 < sum(found[n] for n in loads) / len(loads) < 0.9
    for index in loads:
        if not found[index]:
            continue
        for line in LINE_BYTES:
            for size in (1024, 4096):
                first = _walk(table, index, rng)
                if first is None:
                    continue
                assert table.instructions[index].flow is Flow.NEXT
                # The core begins anew somewhere, and need not have come so far the second time.
                cache = _Cache(line, size, rng)
                for one in first:
                    cache.fetch(*one)
                before = len(cache.loaded)
                for one in first[: rng.randrange(1, len(first) + 1)]:
                    cache.fetch(*one)
                assert len(cache.loaded) == before
