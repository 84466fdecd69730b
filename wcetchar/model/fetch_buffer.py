"""How far cores fetch ahead: of instruction tables, of what is published, and of profiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FETCHED_BEHIND: Final = 3
"""So many instructions behind one that accesses memory are fetched while it does, at most (as
``counting/fetch_ahead.py`` has it, for transfers that take effect late)."""


@dataclass(frozen=True)
class FetchBuffer:
    """How far a core fetches ahead whose fetch unit fills a buffer, at most.

    Attributes:
        behind: bytes behind the instruction that executes.
        speculative: bytes at the target of a direct branch that is decoded and may not be taken;
            0: it fetches from there only once the branch is executed.
    """

    behind: int
    speculative: int


M_PROFILE_BUFFER: Final = FetchBuffer(behind=22, speculative=12)
"""Cortex-M3 TRM (ARM DDI 0337G), 1.4 "Prefetch Unit": three stages (1.1), so that one instruction
is decoded behind the one that executes; a buffer of three words; direct branches send the fetch
unit to their target when they are decoded, conditional ones on trial, after which the buffer is
flushed or kept. Behind: an instruction of 4 bytes in decode, three words in the buffer, one more on
the bus (the manual does not say whether a fetch waits for a free place), and half a word that was
left of the word before. Speculative: what the buffer holds, though the manual speaks of one slot on
the bus. Cortex-M4 is taken to have the same unit, and Cortex-M0 and M0+ to fetch no further. A
Cortex-M7 does: a profile says how far its core goes, and one that goes further is refused."""

ARMV4T_BUFFER: Final = FetchBuffer(behind=12, speculative=0)
"""ARM7TDMI TRM (ARM DDI 0210), 1.1 and chapter 6: three stages, so that two instructions behind a
branch are fetched when it executes; a load of pc puts out the address of a third."""
