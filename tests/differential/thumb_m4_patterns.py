"""Encodings that Armv7E-M has beside Armv7-M: the DSP extension and FPv4-SP-D16.

Transcribed from DDI 0403E, A5.3, A6.4 to A6.7 and A7.7, in the form of ``thumb_patterns``; names of
floating-point instructions have their data types.

Fields: n, m, d, t, u, a, l, h core registers; of floating-point registers d, n, m are the four bits
and D, N, x the fifth.
"""

from __future__ import annotations

from thumb_patterns import Fields, Name, Pattern, Test, always, bad, good

DSP: list[Pattern] = []
FP: list[Pattern] = []


def _pattern(name: Name, bits: str, allowed: Test = always) -> Pattern:
    bits = bits.replace(" ", "")
    assert len(bits) == 32, (name, bits, len(bits))
    return Pattern(name, bits, allowed)


def _dsp(name: Name, bits: str, allowed: Test) -> None:
    DSP.append(_pattern(name, bits, allowed))


def _fp(name: Name, bits: str, allowed: Test = always) -> None:
    FP.append(_pattern(name, bits, allowed))


# Packing, saturating of halfwords, extension with addition.
_dsp(lambda f: "pkh" + ("tb" if f["v"] else "bt"), "111010101100nnnn 0iiiddddiiv0mmmm", good("dnm"))
_dsp("ssat16", "111100110010nnnn 0000dddd0000iiii", good("dn"))
_dsp("usat16", "111100111010nnnn 0000dddd0000iiii", good("dn"))
for _name, _op in (
    ("sxtah", "000"), ("uxtah", "001"), ("sxtab16", "010"), ("uxtab16", "011"),
    ("sxtab", "100"), ("uxtab", "101"),
):  # fmt: skip
    # Without a register to add to it is another instruction: of Armv7-M but for the halves.
    _dsp(
        _name,
        f"111110100{_op}nnnn 1111dddd10iimmmm",
        lambda f: not bad(f["d"], f["m"]) and f["n"] not in (13, 15),
    )
_dsp("sxtb16", "1111101000101111 1111dddd10iimmmm", good("dm"))
_dsp("uxtb16", "1111101000111111 1111dddd10iimmmm", good("dm"))

# Parallel and saturating arithmetic.
for _prefix, _second in (
    ("s", "0000"), ("q", "0001"), ("sh", "0010"), ("u", "0100"), ("uq", "0101"), ("uh", "0110"),
):  # fmt: skip
    for _name, _op in (
        ("add8", "000"), ("add16", "001"), ("asx", "010"), ("sub8", "100"), ("sub16", "101"),
        ("sax", "110"),
    ):  # fmt: skip
        _dsp(_prefix + _name, f"111110101{_op}nnnn 1111dddd{_second}mmmm", good("dnm"))
for _name, _second in (("qadd", "1000"), ("qdadd", "1001"), ("qsub", "1010"), ("qdsub", "1011")):
    _dsp(_name, f"111110101000nnnn 1111dddd{_second}mmmm", good("dnm"))
_dsp("sel", "111110101010nnnn 1111dddd1000mmmm", good("dnm"))


# Multiplication.
def _accumulates(f: Fields) -> bool:
    return not bad(f["d"], f["n"], f["m"]) and f["a"] != 13


def _half(f: Fields) -> str:
    return "bt"[f["p"]] + "bt"[f["q"]]


def _product(accumulating: str, alone: str, suffixes: tuple[str, str]) -> Name:
    return lambda f: (alone if f["a"] == 15 else accumulating) + suffixes[f["q"]]


_dsp(
    lambda f: ("smul" if f["a"] == 15 else "smla") + _half(f),
    "111110110001nnnn aaaadddd00pqmmmm",
    _accumulates,
)
for _op, _name, _alone, _suffixes in (
    ("010", "smlad", "smuad", ("", "x")),
    ("011", "smlaw", "smulw", ("b", "t")),
    ("100", "smlsd", "smusd", ("", "x")),
    ("101", "smmla", "smmul", ("", "r")),
):
    _dsp(_product(_name, _alone, _suffixes), f"111110110{_op}nnnn aaaadddd000qmmmm", _accumulates)
_dsp(lambda f: "smmls" + ("r" if f["q"] else ""), "111110110110nnnn aaaadddd000qmmmm", good("dnma"))
_dsp(
    lambda f: "usad8" if f["a"] == 15 else "usada8",
    "111110110111nnnn aaaadddd0000mmmm",
    _accumulates,
)


def _long(f: Fields) -> bool:
    return not bad(f["l"], f["h"], f["n"], f["m"]) and f["l"] != f["h"]


_dsp(lambda f: "smlal" + _half(f), "111110111100nnnn llllhhhh10pqmmmm", _long)
for _name, _op in (("smlald", "100"), ("smlsld", "101")):
    _dsp(
        lambda f, name=_name: name + ("x" if f["q"] else ""),
        f"111110111{_op}nnnn llllhhhh110qmmmm",
        _long,
    )
_dsp("umaal", "111110111110nnnn llllhhhh0110mmmm", _long)

# msr that writes the GE flags, alone or with the others.
for _sysm in range(4):
    _dsp(
        "msr",
        f"111100111000nnnn 1000gg00{_sysm:08b}",
        lambda f: f["g"] in (1, 3) and not bad(f["n"]),
    )

# Floating-point arithmetic: three registers.
for _name, _first, _bit in (
    ("vmla", "0D00", 0), ("vmls", "0D00", 1), ("vnmls", "0D01", 0), ("vnmla", "0D01", 1),
    ("vmul", "0D10", 0), ("vnmul", "0D10", 1), ("vadd", "0D11", 0), ("vsub", "0D11", 1),
    ("vdiv", "1D00", 0), ("vfnms", "1D01", 0), ("vfnma", "1D01", 1), ("vfma", "1D10", 0),
    ("vfms", "1D10", 1),
):  # fmt: skip
    _fp(f"{_name}.f32", f"11101110{_first}nnnn dddd1010N{_bit}x0mmmm")
# Two registers, a constant, zero.
for _name, _second, _bits in (
    ("vmov.f32", "0000", "01"), ("vabs.f32", "0000", "11"), ("vneg.f32", "0001", "01"),
    ("vsqrt.f32", "0001", "11"), ("vcvtb.f32.f16", "0010", "01"), ("vcvtt.f32.f16", "0010", "11"),
    ("vcvtb.f16.f32", "0011", "01"), ("vcvtt.f16.f32", "0011", "11"), ("vcmp.f32", "0100", "01"),
    ("vcmpe.f32", "0100", "11"), ("vcvt.f32.u32", "1000", "01"), ("vcvt.f32.s32", "1000", "11"),
    ("vcvtr.u32.f32", "1100", "01"), ("vcvt.u32.f32", "1100", "11"),
    ("vcvtr.s32.f32", "1101", "01"), ("vcvt.s32.f32", "1101", "11"),
):  # fmt: skip
    _fp(_name, f"111011101D11{_second} dddd1010{_bits}x0mmmm")
_fp("vcmp.f32", "111011101D110101 dddd101001000000")
_fp("vcmpe.f32", "111011101D110101 dddd101011000000")
_fp("vmov.f32", "111011101D11iiii dddd10100000iiii")
for _to, _unsigned, _wide in ((0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1),
                              (1, 0, 0), (1, 0, 1), (1, 1, 0), (1, 1, 1)):  # fmt: skip
    _type = "su"[_unsigned] + ("32" if _wide else "16")
    _fp(
        f"vcvt.{_type}.f32" if _to else f"vcvt.f32.{_type}",
        f"111011101D111{_to}1{_unsigned} dddd1010{_wide}1i0jjjj",
        # The constant is jjjj:i, and leaves no fewer than zero bits for the fraction.
        lambda f, size=32 if _wide else 16: 2 * f["j"] + f["i"] <= size,
    )
# Between core registers and others.
_fp("vmov", "111011100000nnnn tttt1010N0010000", good("t"))
_fp("vmov", "111011100001nnnn tttt1010N0010000", good("t"))
_fp("vmov", "111011000100uuuu tttt101000x1mmmm", lambda f: not bad(f["t"], f["u"]) and not _last(f))
_fp(
    "vmov",
    "111011000101uuuu tttt101000x1mmmm",
    lambda f: not bad(f["t"], f["u"]) and not _last(f) and f["t"] != f["u"],
)
_fp("vmov", "111011000100uuuu tttt10110001mmmm", good("tu"))
_fp("vmov", "111011000101uuuu tttt10110001mmmm", lambda f: good("tu")(f) and f["t"] != f["u"])
_fp("vmov.32", "1110111000h0nnnn tttt101100010000", good("t"))
_fp("vmov.32", "1110111000h1nnnn tttt101100010000", good("t"))
_fp("vmrs", "1110111011110001 tttt101000010000", lambda f: f["t"] != 13)
_fp("vmsr", "1110111011100001 tttt101000010000", good("t"))


def _last(f: Fields) -> bool:
    """s31 has no register behind it."""
    return f["m"] == 15 and f["x"] == 1


# Loads and stores.
_fp("vldr", "11101101UD01nnnn dddd1010iiiiiiii")
_fp("vldr", "11101101U001nnnn dddd1011iiiiiiii")
_fp("vstr", "11101101UD00nnnn dddd1010iiiiiiii", lambda f: f["n"] != 15)
_fp("vstr", "11101101U000nnnn dddd1011iiiiiiii", lambda f: f["n"] != 15)


def _singles(f: Fields) -> bool:
    return f["n"] != 15 and 0 < f["r"] <= 32 - 2 * f["d"] - f["D"]


def _doubles(f: Fields) -> bool:
    return f["n"] != 15 and 0 < f["r"] <= 16 - f["d"]


for _name, _load in (("vstm", 0), ("vldm", 1)):
    _alias = ("vpush", "vpop")[_load]

    def _after(f: Fields, name: str = _name, load: int = _load) -> str:
        return "vpop" if load and f["n"] == 13 and f["W"] else name + "ia"

    def _before(f: Fields, name: str = _name, load: int = _load) -> str:
        return "vpush" if not load and f["n"] == 13 else name + "db"

    # Counts of a register list below 16 (32 words) as well, for random bits are seldom that few.
    for _few in ("rrrr", "000r"):
        _fp(_after, f"111011001DW{_load}nnnn dddd1010{_few}rrrr", _singles)
        _fp(_after, f"1110110010W{_load}nnnn dddd1011{_few}rrr0", _doubles)
        _fp(_before, f"111011010D1{_load}nnnn dddd1010{_few}rrrr", _singles)
        _fp(_before, f"11101101001{_load}nnnn dddd1011{_few}rrr0", _doubles)
