"""Encodings that the manual calls UNPREDICTABLE and that decoders accept nevertheless.

The manual prints bits that should be zero or one in parentheses: (0), (1). What a core does when
they are not is UNPREDICTABLE (DDI 0403E, A5.1.2), so no effect can be promised. Rules that name
registers stand in the forms of ``thumb_effects``; these are about bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ShouldBe:
    """Encodings with ``code & mask == value`` must have ``code & bits == required``.

    16-bit encodings are compared as they are; 32-bit ones with the first halfword on top.
    """

    name: str
    mask: int
    value: int
    bits: int
    required: int


NARROW: Final = (
    ShouldBe("bx, blx", 0xFF00, 0x4700, 0x0007, 0x0000),
    ShouldBe("cps", 0xFFE0, 0xB660, 0x000C, 0x0000),
    ShouldBe("it of condition 15", 0xFFF0, 0xBFF0, 0x000F, 0x0000),
    # The encoding for high registers, with two low ones.
    ShouldBe("cmp (register) T2", 0xFFC0, 0x4500, 0xFFFF, 0x0000),
)

WIDE: Final = (
    ShouldBe("data processing (shifted register)", 0xFE000000, 0xEA000000, 0x00008000, 0),
    ShouldBe("bfi, bfc, sbfx, ubfx, ssat, usat", 0xFB008000, 0xF3000000, 0x04000020, 0),
    ShouldBe("msr", 0xFFE0D000, 0xF3808000, 0x00102300, 0x00000000),
    ShouldBe("mrs", 0xFFE0D000, 0xF3E08000, 0x001F2000, 0x000F0000),
    ShouldBe("hints", 0xFFF0D000, 0xF3A08000, 0x000F2800, 0x000F0000),
    ShouldBe("clrex, dsb, dmb, isb", 0xFFF0D000, 0xF3B08000, 0x000F2F00, 0x000F0F00),
    ShouldBe("extension", 0xFF80F080, 0xFA00F080, 0x00000040, 0),
    ShouldBe("sdiv, udiv", 0xFFD000F0, 0xFB9000F0, 0x0000F000, 0x0000F000),
    ShouldBe("ldrex", 0xFFF00000, 0xE8500000, 0x00000F00, 0x00000F00),
    ShouldBe("ldrexb, ldrexh", 0xFFF000E0, 0xE8D00040, 0x00000F0F, 0x00000F0F),
    ShouldBe("strexb, strexh", 0xFFF000E0, 0xE8C00040, 0x00000F00, 0x00000F00),
    ShouldBe("tbb, tbh", 0xFFF000E0, 0xE8D00000, 0x0000FF00, 0x0000F000),
    ShouldBe("ldm", 0xFE500000, 0xE8100000, 0x00002000, 0),
    ShouldBe("stm", 0xFE500000, 0xE8000000, 0x0000A000, 0),
    ShouldBe("pld (literal)", 0xFF5FF000, 0xF81FF000, 0x00200000, 0),
)


DSP: Final = (
    ShouldBe("sxtab, sxtab16, sxtah, uxtab, uxtab16, uxtah", 0xFF80F080, 0xFA00F080, 0x40, 0),
    ShouldBe("ssat16, usat16", 0xFF70F0C0, 0xF3200000, 0x00000030, 0),
)

FLOATING_POINT: Final = (
    ShouldBe("vmov (core register to single)", 0xFFE00F10, 0xEE000A10, 0x0000006F, 0),
    ShouldBe("vmov (core register to half of a double)", 0xFF900F70, 0xEE000B10, 0x0000000F, 0),
    ShouldBe("vmov (half of a double to core register)", 0xFF900F70, 0xEE100B10, 0x0000000F, 0),
    ShouldBe("vmrs, vmsr", 0xFFE00F10, 0xEEE00A10, 0x000000EF, 0),
    ShouldBe("vcmp with zero", 0xFFBF0F50, 0xEEB50A40, 0x0000002F, 0),
    ShouldBe("vmov (immediate)", 0xFFB00F50, 0xEEB00A00, 0x000000A0, 0),
)


def violated(code: int, length: int, *, dsp: bool = False) -> str | None:
    """Name of the rule that an encoding breaks, ``None`` where it breaks none.

    Args:
        code: the halfword, or both with the first one on top.
        length: in bytes.
        dsp: the core has the DSP extension, so that msr can write the GE flags by themselves.
    """
    for rule in NARROW if length == 2 else (*WIDE, *DSP, *FLOATING_POINT):
        if code & rule.mask == rule.value and code & rule.bits != rule.required:
            return rule.name
    if length == 2:
        # "it al" with an else would need the condition "never".
        if code & 0xFFF0 == 0xBFE0 and (code & 0xF).bit_count() > 1:
            return "it al with an else"
        return None
    if code & 0xFE000E00 == 0xEC000A00 and _ends_behind_the_registers(code):
        return "vldm, vstm: the list ends behind the registers"
    if code & 0xFFE0D000 == 0xF3808000:
        # Which part of a program status register (SYSm 0 to 3) is written: bit 10 the GE flags.
        parts = code >> 10 & 3
        if parts != 2 and not (dsp and parts and code & 0xFF <= 3):
            return "msr"
    if code & 0xFFC0F0C0 == 0xFA80F080 and code >> 20 & 1 and (code >> 16 ^ code) & 0xF:
        # Rm stands in both halfwords.
        return "rev, rev16, rbit, revsh, clz"
    if code & 0xFE00C000 == 0xF0000000 and code & 0x3000 and not code & 0xFF:
        return "modified immediate: a replicated zero"
    first, last = code >> 10 & 0x1C | code >> 6 & 0x3, code & 0x1F
    if code & 0xFFF08000 == 0xF3600000 and last < first:
        return "bfi, bfc: the field ends before it begins"
    if code & 0xFF708000 == 0xF3400000 and first + last > 31:
        return "sbfx, ubfx: the field ends after the register"
    return None


def _ends_behind_the_registers(code: int) -> bool:
    """Of vldm, vstm, vpush and vpop: no register, or more than there are from the first one on.
    Decoders cut such lists off (DDI 0403E, A7.7, "if regs == 0 || (d+regs) > 32")."""
    before, up, back = code >> 24 & 1, code >> 23 & 1, code >> 21 & 1
    if before == up and (before or not back):
        return False  # a load of one register, or a transfer of two core registers
    if before and not back:
        return False
    first, fifth, words = code >> 12 & 15, code >> 22 & 1, code & 0xFF
    if code >> 8 & 1:
        return not words // 2 or (fifth << 4 | first) + words // 2 > 16
    return not words or (first << 1 | fifth) + words > 32
