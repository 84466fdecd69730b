"""What unicorn's machines have in common: memory that appears where it is touched, code in places
of its own, and what single instructions did. Each core's own file says how registers are set."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import unicorn as u

PAGE = 0x1000
CODE = 0x1000_0000
SLOT = 64

State = TypeVar("State")


@dataclass(frozen=True)
class Access:
    write: bool
    address: int
    size: int
    value: int


@dataclass
class Outcome(Generic[State]):
    state: State
    pc: int
    accesses: list[Access]
    error: str | None


class Memory:
    """Filled with random bytes, of which ``fill`` makes what the core can use. Each placed code has
    an address of its own, since unicorn keeps what it translated; all around it are nops.

    Attributes:
        code_at: where the next code is put.
        pages: what each page held before any instruction.
    """

    def __init__(
        self, uc: Any, seed: int, *, size: int, nop: bytes, fill: Callable[[int], int]
    ) -> None:
        self.uc, self.seed = uc, seed
        self.code_at, self.code_end, self._nop = CODE, CODE + size, nop
        self.pages: dict[int, bytes] = {}
        self._fill = bytes(fill(byte) for byte in range(256))
        uc.mem_map(CODE, size)
        uc.mem_write(CODE, nop * (size // len(nop)))
        uc.hook_add(u.UC_HOOK_MEM_READ_UNMAPPED | u.UC_HOOK_MEM_WRITE_UNMAPPED, self._unmapped)

    def page(self, address: int) -> bytes | None:
        """What a page holds before any instruction; ``None``: code."""
        if CODE <= address < self.code_end:
            return None
        page = address & -PAGE
        if page not in self.pages:
            return random.Random(self.seed ^ page).randbytes(PAGE).translate(self._fill)
        return self.pages[page]

    def _unmapped(self, uc, access, address, size, value, _):  # type: ignore[no-untyped-def]
        address &= 0xFFFFFFFF
        for page in {address & -PAGE, (address + size - 1) & 0xFFFFFFFF & -PAGE}:
            data = self.page(page)
            if page not in self.pages and data is not None:
                self.pages[page] = data
                uc.mem_map(page, PAGE)
                uc.mem_write(page, data)
        return True

    def before(self, address: int, size: int) -> int:
        """Contents before the instruction, or of its code."""
        data = b""
        for byte in range(address, address + size):
            page = self.page(byte)
            data += page[byte % PAGE : byte % PAGE + 1] if page else self.uc.mem_read(byte, 1)
        return int.from_bytes(data, "little")

    def place(self, code: bytes) -> int:
        """Puts code at an address of its own and returns it."""
        address = self.code_at
        self.uc.mem_write(address, code + self._nop * 4)
        # Something may have jumped here before, and have had the old bytes translated.
        self.uc.ctl_flush_tb()
        self.code_at += SLOT
        if self.code_at + 64 > self.code_end:
            raise RuntimeError("the code area is full; make it larger")
        return address

    def restore(self, accesses: list[Access]) -> None:
        """Takes back what was written."""
        for access in accesses:
            if access.write:
                for page in {access.address & -PAGE, (access.address + access.size - 1) & -PAGE}:
                    if page in self.pages:
                        self.uc.mem_write(page, self.pages[page])
