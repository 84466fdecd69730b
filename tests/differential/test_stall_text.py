"""What objdump's text says of each instruction of the firmware, against the instruction tables.

The second count of stalls rests on the text alone (``stall_text``). Here both are compared for all
instructions, executed or not: registers, accesses, shifts, transfers of control and their targets.
"""

from __future__ import annotations

from dataclasses import fields

import armv4t_oracle
import chain_listing
import pytest
import riscv_run
import stall_text
from chain_made import BOARDS, Firmware
from stall_count import One
from stall_table import as_one

from wcetchar.image import load_image
from wcetchar.isa import decode_image

pytestmark = pytest.mark.firmware


def from_text(firmware: Firmware) -> stall_text.Program:
    if firmware.board == "virt":
        return stall_text.riscv(riscv_run.listing_of(firmware.elf).lines)
    if firmware.board.startswith("versatilepb"):
        listing = armv4t_oracle.listing_of(firmware.elf)
        return armv4t_oracle.program_of(listing)
    return stall_text.arm(chain_listing.listing_of(firmware.elf).lines)


@pytest.mark.parametrize(
    "firmware",
    [Firmware(board, config) for board in BOARDS for config in ("basic", "full")],
    ids=lambda firmware: firmware.name,
)
def test_the_text_says_what_the_table_says(firmware: Firmware) -> None:
    if not firmware.elf.exists():
        pytest.skip(f"{firmware.name} is not built")
    table = decode_image(load_image(str(firmware.elf)))
    stated = {i.address: as_one(i, table) for i in table.instructions}
    text = from_text(firmware)
    assert stated.keys() == text.keys()
    assert len(text) > 5000
    differing = [
        f"{address:#x} {table.at(address)}: {name}"
        for address, found in text.items()
        for name in (field.name for field in fields(One))
        if getattr(found, name) != getattr(stated[address], name)
    ]
    assert differing == []
