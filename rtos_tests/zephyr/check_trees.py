"""Whether the trees of src/tree_shapes.h are the dearest for what a compiler made of the kernel.

    python rtos_tests/zephyr/check_trees.py build/zephyr/zephyr.elf [SUMMARY.json]

The ELF file is that of the application with overlay-sched-scalable.conf, for Cortex-M or 32-bit
RISC-V. Its own rb_insert, rb_remove and z_rb_get_minmax are executed (by unicorn) on *every*
red/black tree, with everything that `choose_trees.py` tries: each step has to give the tree that
the model says, and no instruction, and no way from one to the next in its function, may be executed
more often than with one of the trees of that kind that the driver builds.

The summary is what `wcetchar characterize --json` printed for the trace of that image. The figures
of the services rb_insert, rb_remove and rb_get_min have to be at least what the driver's trees make
here; they are more where an instruction is fetched in several ways, each of which counts.
"""

from __future__ import annotations

import json
import struct
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import unicorn
from choose_trees import KINDS, QUEUE_MOST, Case, cases, done, read_shapes
from elftools.elf.elffile import ELFFile
from red_black import Same, Tree, size
from unicorn import arm_const, riscv_const

from wcetchar.formula import evaluate, parse

Step = tuple[str, str, int, int, int]
"""What is done (insert, remove, best), the tree, its depth as the kernel keeps it, the place, and
which nodes have the same priority."""

Counts = Counter[tuple[Any, ...]]

_PRIORITY, _KEY = 10, 1000
_NODE_BYTES = 64

COLUMNS = 4096
"""More than there are instructions and ways."""


class Recording(Tree):
    """The model, and the steps by which it came to where it is."""

    def __init__(self, shape: str) -> None:
        super().__init__(shape)
        self.steps: list[tuple[Step, str]] = []
        """Each with the tree after it."""

    def _noted(self, what: str, place: int, same: Same) -> Step:
        before = str(self)
        bits = sum(1 << i for i in range(size(before)) if i != place and same(i))
        return what, before, self.max_depth, place, bits

    def insert(self, place: int, same: Same) -> Any:
        before = str(self)
        bits = sum(1 << i for i in range(place) if same(i))
        step = "insert", before, self.max_depth, place, bits
        new = super().insert(place, same)
        self.steps.append((step, str(self)))
        return new

    def remove(self, place: int, same: Same) -> None:
        step = self._noted("remove", place, same)
        super().remove(place, same)
        self.steps.append((step, str(self)))

    def best(self) -> None:
        super().best()
        self.steps.append((("best", str(self), 0, 0, 0), str(self)))


class Machine:
    """Executes the compiled functions, and counts."""

    def __init__(self, elf: Path) -> None:
        with elf.open("rb") as file:
            image = ELFFile(file)
            self._arm = image["e_machine"] == "EM_ARM"
            table = image.get_section_by_name(".symtab")
            self._symbols = {s.name: s["st_value"] for s in table.iter_symbols()}
            self._functions = sorted(
                {
                    s["st_value"] & ~1
                    for s in table.iter_symbols()
                    if s["st_info"]["type"] == "STT_FUNC"
                }
            )
            loaded = [
                (segment["p_paddr"], segment.data())
                for segment in image.iter_segments()
                if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]
            ]
        if self._arm:
            mode = unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS
            self._uc = unicorn.Uc(unicorn.UC_ARCH_ARM, mode)
            code, self._data = 0, 0x20080000
        else:
            self._uc = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
            code, self._data = 0x80000000, 0x90000000
        self._stack, self._back = self._data + 0x20000, self._data + 0x30000
        self._tree = self._data + 0x10000
        self._uc.mem_map(code, 1 << 20)
        self._uc.mem_map(self._data, 1 << 18)
        for address, data in loaded:
            if code <= address < code + (1 << 20):
                self._uc.mem_write(address, data)
        self._blocks: list[tuple[int, int]] = []
        self._uc.hook_add(unicorn.UC_HOOK_BLOCK, self._on_block)
        self._inside: dict[tuple[int, int], list[int]] = {}

    def _on_block(self, uc: Any, address: int, length: int, data: Any) -> None:
        # A hook on every instruction or access would make unicorn 2.1 lose which are predicated.
        self._blocks.append((address, length))

    def _instructions(self, block: tuple[int, int]) -> list[int]:
        """Addresses."""
        if block not in self._inside:
            at, length = block
            code = bytes(self._uc.mem_read(at, length))
            found, offset = [], 0
            while offset < length:
                found.append(at + offset)
                low = int.from_bytes(code[offset : offset + 2], "little")
                wide = low >> 11 in (0b11101, 0b11110, 0b11111) if self._arm else low & 3 == 3
                offset += 4 if wide else 2
            self._inside[block] = found
        return self._inside[block]

    def _function(self, address: int) -> int:
        return bisect_right(self._functions, address)

    def _plant(self, shape: str, max_depth: int) -> int:
        """The number of nodes."""
        letters, numbers = iter(shape), iter(range(len(shape)))

        def grow() -> int:
            letter = next(letters)
            if letter == ".":
                return 0
            left = grow()
            at = self._data + _NODE_BYTES * next(numbers)
            right = grow()
            self._uc.mem_write(at, struct.pack("<II", left | (letter == "B"), right))
            return at

        root = grow()
        less = self._symbols["z_priq_rb_lessthan"]
        self._uc.mem_write(self._tree, struct.pack("<III", root, less | self._arm, max_depth))
        return size(shape)

    def _written(self) -> str:
        def written(at: int) -> str:
            if at == 0:
                return "."
            left, right = struct.unpack("<II", self._uc.mem_read(at, 8))
            return "RB"[left & 1] + written(left & ~1) + written(right)

        return written(struct.unpack("<I", self._uc.mem_read(self._tree, 4))[0])

    def _thread(self, number: int, priority: int, key: int) -> None:
        # struct _thread_base without deadlines: the node, ..., prio at 16, order_key at 20
        at = self._data + _NODE_BYTES * number
        self._uc.mem_write(at + 16, struct.pack("<b3xI", priority, key))

    def _call(self, function: str, argument: int) -> None:
        if self._arm:
            c: Any = arm_const
            registers = {
                c.UC_ARM_REG_R0: self._tree,
                c.UC_ARM_REG_R1: argument,
                c.UC_ARM_REG_SP: self._stack,
                c.UC_ARM_REG_LR: self._back | 1,
            }
        else:
            c = riscv_const
            registers = {
                c.UC_RISCV_REG_A0: self._tree,
                c.UC_RISCV_REG_A1: argument,
                c.UC_RISCV_REG_SP: self._stack,
                c.UC_RISCV_REG_RA: self._back,
            }
        for register, value in registers.items():
            self._uc.reg_write(register, value)
        if self._arm:
            # What it has translated for one state of the flags, unicorn 2.1 takes for another.
            self._uc.ctl_flush_tb()
        self._uc.emu_start(self._symbols[function] | self._arm, self._back)

    def execute(self, step: Step) -> tuple[str, Counts]:
        """The tree after a step, and how often each thing occurred."""
        what, shape, max_depth, place, bits = step
        count = self._plant(shape, max_depth)
        for i in range(count):
            other = -1 if i < place else 1
            self._thread(i, _PRIORITY + (0 if i == place or bits >> i & 1 else other), i)
        moved = place
        if what == "insert":
            if place < count:
                self._thread(place, _PRIORITY + 1, place)
            moved = count
            self._thread(moved, _PRIORITY, _KEY)
            self._uc.mem_write(self._data + _NODE_BYTES * moved, bytes(8))
        self._blocks.clear()
        if what == "best":
            self._call("z_rb_get_minmax", 0)
        else:
            self._call(f"rb_{what}", self._data + _NODE_BYTES * moved)
        counts: Counts = Counter()
        last: int | None = None
        for block in self._blocks:
            inside = self._instructions(block)
            # Calls go one way only, and where a function returns from makes no difference.
            if last is not None and self._function(last) == self._function(inside[0]):
                counts["way", last, inside[0]] += 1
            counts.update(("instruction", at) for at in inside)
            counts.update(("way", *two) for two in pairwise(inside))
            last = inside[-1]
        return self._written(), counts


class Counted:
    """What the image does in each step; every step is executed once."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._known: dict[Step, dict[int, int]] = {}
        self.columns: dict[tuple[Any, ...], int] = {}

    def _step(self, step: Step, after: str) -> dict[int, int]:
        if step not in self._known:
            found, counts = self._machine.execute(step)
            assert found == after, f"{step}: the model says {after}, the image {found}"
            self._known[step] = {
                self.columns.setdefault(key, len(self.columns)): n for key, n in counts.items()
            }
        return self._known[step]

    def counts(self, kind: str, case: Case) -> np.ndarray:
        """How often each thing occurs, by column."""
        tree = done(kind, case, Recording)
        assert isinstance(tree, Recording)
        row = np.zeros(COLUMNS, dtype=np.int32)
        for step, after in tree.steps:
            for column, n in self._step(step, after).items():
                row[column] += n
        return row

    def greatest(self, kind: str, cases: Iterable[Case]) -> np.ndarray:
        found = np.zeros(COLUMNS, dtype=np.int32)
        for case in cases:
            np.maximum(found, self.counts(kind, case), out=found)
        return found


def every(kind: str, most: int) -> Iterator[Case]:
    for nodes in range(1, most + 1):
        yield from cases(kind, nodes)


def dearer(
    counted: Counted, kind: str, most: int, shapes: dict[str, dict[int, list[Case]]]
) -> list[str]:
    """What occurs more often with another tree than with those that are driven."""
    driven = shapes[kind][most]
    if kind == "CROWD_WAIT":
        # Each tree of the run queue with one of the wait queue.
        needed = counted.greatest(kind, every(kind, most))
        needed += counted.greatest("waiting", every("waiting", QUEUE_MOST))
        best = np.zeros(COLUMNS, dtype=np.int32)
        for case, queue in zip(driven, shapes["queue"][most], strict=True):
            both = counted.counts(kind, case) + counted.counts("waiting", queue)
            np.maximum(best, both, out=best)
    else:
        best = counted.greatest(kind, driven)
        needed = counted.greatest(kind, every(kind, most))
    names = {column: key for key, column in counted.columns.items()}
    return [
        " ".join(hex(x) if isinstance(x, int) else str(x) for x in names[int(column)])
        + f": {needed[column]}, driven {best[column]}"
        for column in np.flatnonzero(needed > best)
    ]


TREE_SERVICES = {"rb_insert": "waiting", "rb_remove": "removing", "rb_get_min": "CROWD_BEST"}


def published(
    counted: Counted, summary: dict[str, Any], shapes: dict[str, dict[int, list[Case]]]
) -> list[str]:
    """Where the instructions of a service of the tree itself are fewer than those executed here."""
    wrong = []
    services = {service["service"]: service for service in summary["services"]}
    for name, kind in TREE_SERVICES.items():
        for nodes in range(1, 12):
            most = next(top for top in KINDS[kind] if top >= nodes)
            # Of CROWD_BEST nothing is executed but the step that looks for the first.
            greatest = counted.greatest(kind, shapes[kind][most])
            executed = sum(
                int(greatest[column])
                for key, column in counted.columns.items()
                if key[0] == "instruction"
            )
            figure = sum(
                evaluate(parse(repetition), {"N": nodes}) * count
                for repetition, _, count in services[name]["sections"]
            )
            if figure < executed:
                wrong.append(f"{name} at {nodes}: published {figure}, executed {executed}")
    return wrong


def main(elf: Path, summary: Path | None = None) -> int:
    counted = Counted(Machine(elf))
    wrong = 0
    shapes = read_shapes()
    for kind, tops in KINDS.items():
        for most in tops:
            found = dearer(counted, kind, most, shapes)
            driven = len(shapes[kind][most])
            print(f"{kind}, at most {most}: {driven} trees, {len(found)} dearer", flush=True)
            for line in found:
                print("   ", line)
            wrong += len(found)
    if summary is not None:
        loaded = json.loads(summary.read_text(encoding="utf-8"))
        differing = published(counted, loaded, shapes)
        print(f"services of the tree: {len(differing)} figures are too low")
        for line in differing:
            print("   ", line)
        wrong += len(differing)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(*map(Path, sys.argv[1:])))
