"""The instructions of an image as the graph looks at them: by number, with what follows in memory.

Numbers are indices of the instruction table. Nothing here is about functions yet.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

from wcetchar.model.image import Image
from wcetchar.model.instruction import Flow, Instruction, InstructionTable

CONDITIONS: Final = (
    *("eq", "ne", "hs", "lo", "mi", "pl", "vs"),
    *("vc", "hi", "ls", "ge", "lt", "gt", "le"),
)
"""Each but the last of a pair is the inverse of the one behind it (DDI 0403E, A7.3)."""
NUMBER_OF: Final = {name: number for number, name in enumerate(CONDITIONS)}


class Code:
    """An image's instructions.

    Attributes:
        rows: the instructions.
        at: number by address.
        after: number of the instruction that begins where one ends; -1: none does.
        riscv: they are of RISC-V; else of Arm.
        interworks: Arm and Thumb state are both there (Armv4T).
    """

    def __init__(self, image: Image, table: InstructionTable) -> None:
        self.image = image
        self.table = table
        self.rows: tuple[Instruction, ...] = table.instructions
        self.at: dict[int, int] = {row.address: n for n, row in enumerate(self.rows)}
        find = self.at.get
        self.after: list[int] = [find(row.end, -1) for row in self.rows]
        self.riscv = image.machine == "riscv"
        self.interworks = any(row.fetch is not None for row in self.rows[:1])
        self.undecodable = {found.address: found for found in table.undecodable}
        self.links = table.registers.links
        self.stack_pointer = table.registers.stack_pointer

    @cached_property
    def in_it(self) -> frozenset[int]:
        """Instructions inside IT blocks (DDI 0403E, A7.7.38): the mask's lowest one says how many
        there are."""
        found = set[int]()
        if self.riscv or self.interworks:
            return frozenset()
        for number, row in enumerate(self.rows):
            if row.length == 2 and row.code[1] == 0xBF and row.code[0] & 0xF:
                mask = row.code[0] & 0xF
                count = 4 - ((mask & -mask).bit_length() - 1)
                # Inside of an IT block there is no other one.
                if number not in found:
                    found.update(range(number + 1, min(number + 1 + count, len(self.rows))))
        return frozenset(found)

    def is_arm(self, number: int) -> bool:
        """It is in Arm state."""
        fetch = self.rows[number].fetch
        return fetch is not None and fetch.granule == 4

    @cached_property
    def predicated(self) -> frozenset[int]:
        """Instructions that may have no effect: in an IT block, or in Arm state with a condition.
        Conditional branches outside of them always have one, taken or not."""
        return frozenset(
            number
            for number, row in enumerate(self.rows)
            if row.conditional
            and row.condition in NUMBER_OF
            and (number in self.in_it or self.is_arm(number))
        )

    def changes_flags(self, number: int) -> bool:
        """The 16-bit encodings of data processing set no flags in an IT block (DDI 0403E, A7.3.2),
        though their names say so; comparisons, which write no register, do."""
        row = self.rows[number]
        if not row.sets_flags:
            return False
        return not (row.length == 2 and row.defs and number in self.in_it)

    def link_of(self, number: int) -> int:
        """The register that a call leaves its return address in."""
        row = self.rows[number]
        if not self.riscv:
            return self.links[0]
        if row.length == 2:
            return self.links[0]
        return int.from_bytes(row.code, "little") >> 7 & 31

    def why_not(self, address: int) -> str:
        """Why no instruction begins at an address."""
        found = self.undecodable.get(address)
        if found is not None:
            return f"what stands there is not decoded: {found.reason}"
        section = self.image.section_at(address)
        if section is None:
            return "nothing of the image stands there"
        if not section.executable:
            return f"it is in {section.name}, which holds no code"
        inside = any(r.start <= address < r.end for r in self.image.code)
        return "no instruction begins there" if inside else "data stand there"


def leaves(row: Instruction) -> bool:
    """It may send control elsewhere, or ends a block for another reason."""
    return row.flow is not Flow.NEXT
