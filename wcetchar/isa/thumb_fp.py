"""What the floating-point instructions of Armv7E-M do: FPv4-SP-D16, as the Cortex-M4 has it.

Source: Armv7-M Architecture Reference Manual (DDI 0403E), A2.5 and A7.7, the single-precision
instructions; those that move, load and store doublewords belong to them, arithmetic on them does
not. Timing classes follow the Cortex-M4 Technical Reference Manual (100166), table 7-1.

Rows stand by capstone's whole name, data types included, and there can be several under one name.
Floating-point registers are not followed: a row says what happens to core registers and memory.
Forms are those of ``thumb_effects`` and these letters:

=====  ==============================================================================
``f``  single-precision register; ``F``: doubleword register; ``x``: one half of one
``q``  list of single-precision registers; ``Q``: of doubleword registers
``n``  floating-point constant
``k``  number of fraction bits
``g``  FPSCR; ``G``: the flags of APSR
=====  ==============================================================================
"""

from __future__ import annotations

from typing import Final

from wcetchar.isa.thumb_effects import SP, V7M, Effect, Memory
from wcetchar.model.access import EventKind as K

_READ, _WRITE = Memory(32, reads=True), Memory(32, writes=True)
_READ_LIST = Memory(32, reads=True, count=0, burst=True)
_WRITE_LIST = Memory(32, writes=True, count=0, burst=True)
"""Words: one for each single-precision register, two for each doubleword register."""

_INTEGERS: Final = ("s32", "u32")
_FIXED: Final = ("s16", "u16", "s32", "u32")


def _row(
    name: str, issue: K, *forms: str, memory: Memory | None = None, implied: int | None = None
) -> tuple[str, Effect]:
    mnemonic = name.partition(".")[0]
    return name, Effect(mnemonic, issue, (), forms, memory, armv6m=V7M, implied=implied)


_ROWS: tuple[tuple[str, Effect], ...] = (
    # Arithmetic, comparison, conversion, constants.
    *(_row(f"{name}.f32", K.FLOAT, "fff") for name in ("vadd", "vsub", "vmul", "vnmul")),
    *(_row(f"{name}.f32", K.FLOAT, "ff") for name in ("vabs", "vneg")),
    *(_row(f"{name}.f32", K.FLOAT, "ff", "f#") for name in ("vcmp", "vcmpe")),
    *(
        _row(f"{name}.f32", K.FLOAT_MULTIPLY_ACCUMULATE, "fff")
        for name in ("vmla", "vmls", "vnmla", "vnmls", "vfma", "vfms", "vfnma", "vfnms")
    ),
    _row("vdiv.f32", K.FLOAT_DIVIDE, "fff"),
    _row("vsqrt.f32", K.FLOAT_SQUARE_ROOT, "ff"),
    *(_row(f"vcvtr.{integer}.f32", K.FLOAT, "ff") for integer in _INTEGERS),
    *(
        _row(name, K.FLOAT, "ff", "ffk")
        for integer in _INTEGERS
        for name in (f"vcvt.{integer}.f32", f"vcvt.f32.{integer}")
    ),
    *(
        _row(name, K.FLOAT, "ffk")
        for fixed in _FIXED
        if fixed not in _INTEGERS
        for name in (f"vcvt.{fixed}.f32", f"vcvt.f32.{fixed}")
    ),
    *(
        _row(f"{name}.{types}", K.FLOAT, "ff")
        for name in ("vcvtb", "vcvtt")
        for types in ("f16.f32", "f32.f16")
    ),
    _row("vmov.f32", K.FLOAT, "ff", "fn"),
    # Between core registers and floating-point registers.
    _row("vmov", K.FLOAT_TRANSFER, "fs", "df"),
    _row("vmov", K.FLOAT_TRANSFER_PAIR, "ffss", "ddff", "Fss", "ddF"),
    _row("vmov.32", K.FLOAT_TRANSFER, "xs", "dx"),
    _row("vmrs", K.FLOAT_TRANSFER, "dg", "Gg"),
    _row("vmsr", K.FLOAT_TRANSFER, "gs"),
    # Loads and stores.
    _row("vldr", K.FLOAT_LOAD, "fm", "Fm", memory=_READ),
    _row("vstr", K.FLOAT_STORE, "fm", "Fm", memory=_WRITE),
    *(
        _row(name, K.FLOAT_LOAD_MULTIPLE, "wq", "wQ", memory=_READ_LIST)
        for name in ("vldmia", "vldmdb")
    ),
    *(
        _row(name, K.FLOAT_STORE_MULTIPLE, "wq", "wQ", memory=_WRITE_LIST)
        for name in ("vstmia", "vstmdb")
    ),
    _row("vpop", K.FLOAT_LOAD_MULTIPLE, "q", "Q", memory=_READ_LIST, implied=SP),
    _row("vpush", K.FLOAT_STORE_MULTIPLE, "q", "Q", memory=_WRITE_LIST, implied=SP),
)


def _by_name() -> dict[str, tuple[Effect, ...]]:
    found: dict[str, tuple[Effect, ...]] = {}
    for name, row in _ROWS:
        found[name] = (*found.get(name, ()), row)
    return found


FP_EFFECTS: Final = _by_name()
