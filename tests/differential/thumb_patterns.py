"""The 32-bit encodings of Armv7-M, transcribed from DDI 0403E, A5.3 and A7.7, field by field.

Independent of the decoder: it works on operand texts, this works on bits. Each entry is (name,
bits, allowed): ``bits`` gives constant bits and one-letter fields, most significant bit first;
``allowed`` says by the fields whether the manual defines the encoding (neither UNDEFINED nor
UNPREDICTABLE). Aliases that A7.7 lists as "SEE ..." are resolved by ``name`` being a function.

Fields: n, m, d, t, u, a, l, h registers; S sets flags; c condition; r register list; P, U, W
indexing; others are immediates. M repeats m.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

Fields = dict[str, int]
Test = Callable[[Fields], bool]
Name = str | Callable[[Fields], str]


@dataclass(frozen=True)
class Pattern:
    name: Name
    bits: str
    allowed: Test

    def name_of(self, fields: Fields) -> str:
        return self.name if isinstance(self.name, str) else self.name(fields)

    def fields_of(self, code: int) -> Fields | None:
        """The fields of an encoding; ``None`` where its constant bits differ, or what should be
        the same register twice is not."""
        if code & self.mask != self.value:
            return None
        fields: Fields = {}
        for position, letter in enumerate(self.bits):
            if letter not in "01":
                fields[letter] = fields.get(letter, 0) << 1 | code >> 31 - position & 1
        return fields if fields.get("M", 0) == fields.get("m", 0) or "M" not in fields else None

    @cached_property
    def mask(self) -> int:
        return int("".join("1" if letter in "01" else "0" for letter in self.bits), 2)

    @cached_property
    def value(self) -> int:
        return int("".join("1" if letter == "1" else "0" for letter in self.bits), 2)

    def fill(self, rng: random.Random) -> tuple[int, Fields]:
        """A random encoding; half of the registers are drawn from those that are often special."""
        fields: Fields = {}
        for letter in dict.fromkeys(self.bits):
            if letter in "01M":
                continue
            width = self.bits.count(letter)
            fields[letter] = rng.getrandbits(width)
            if width == 4 and letter in "nmdtualh" and rng.random() < 0.25:
                fields[letter] = rng.choice((13, 14, 15, 15))
        left = {letter: self.bits.count(letter) for letter in fields}
        code = 0
        left["M"] = 4
        for letter in self.bits:
            if letter in "01":
                code = code << 1 | int(letter)
            else:
                left[letter] -= 1
                code = code << 1 | fields["m" if letter == "M" else letter] >> left[letter] & 1
        return code, fields


def bad(*numbers: int) -> bool:
    """BadReg of the manual: sp or pc."""
    return any(number in (13, 15) for number in numbers)


def good(letters: str) -> Test:
    return lambda f: not bad(*(f[letter] for letter in letters))


def always(_: Fields) -> bool:
    return True


PATTERNS: list[Pattern] = []


def _add(name: Name, bits: str, allowed: Test = always) -> None:
    bits = bits.replace(" ", "").replace("_", "")
    assert len(bits) == 32, (name, bits, len(bits))
    PATTERNS.append(Pattern(name, bits, allowed))


def _s(name: str) -> Name:
    return lambda f: name + ("s" if f["S"] else "")


# Data processing: modified immediate and shifted register.


def _logical(name: str, compare: str | None) -> Name:
    def found(f: Fields) -> str:
        if compare and f["d"] == 15 and f["S"]:
            return compare
        return name + ("s" if f["S"] else "")

    return found


def _move(name: str, alias: str, fields: Fields) -> str:
    return (alias if fields["n"] == 15 else name) + ("s" if fields["S"] else "")


def _immediate_ok(f: Fields) -> bool:
    # ThumbExpandImm: a replicated pattern of a zero byte is UNPREDICTABLE.
    return not (f["i"] >> 8 & 0xF in (1, 2, 3) and f["i"] & 0xFF == 0 and f["i"] >> 11 == 0)


def _and_ok(compares: bool) -> Test:
    def ok(f: Fields) -> bool:
        if compares and f["d"] == 15 and f["S"]:
            return not bad(f["n"], f.get("m", 0))
        return not bad(f["d"], f["n"], f.get("m", 0))

    return ok


def _orr_ok(f: Fields) -> bool:
    if f["n"] != 15:
        return not bad(f["d"], f["n"], f.get("m", 0))
    if "m" in f and f["x"] == 0 and f["y"] == 0:  # mov (register) T3
        if f["S"]:
            return not bad(f["d"], f["m"])
        return f["d"] != 15 and f["m"] != 15 and not (f["d"] == 13 and f["m"] == 13)
    return not bad(f["d"], f.get("m", 0))


def _orn_ok(f: Fields) -> bool:
    return not bad(f["d"], f.get("m", 0)) and f["n"] != 13


def _add_ok(compare_sp: bool) -> Test:
    def ok(f: Fields) -> bool:
        m = f.get("m", 0)
        if f["d"] == 15 and f["S"]:  # cmn, cmp
            return f["n"] != 15 and not bad(m)
        if f["d"] == 15 or f["n"] == 15 or bad(m):
            return False
        if f["d"] == 13:
            if f["n"] != 13:
                return False
            if "m" in f:
                shift = f["x"]
                return f["y"] == 0 and shift <= 3
        return True

    return ok


def _shifted_name(f: Fields) -> str:
    if f["n"] != 15:
        return "orr" + ("s" if f["S"] else "")
    name = ("lsl", "lsr", "asr", "ror")[f["y"]]
    if f["x"] == 0:
        name = {"lsl": "mov", "ror": "rrx"}.get(name, name)
    return name + ("s" if f["S"] else "")


for _name, _op, _compare, _ok in (
    ("and", "0000", "tst", _and_ok(True)),
    ("bic", "0001", None, _and_ok(False)),
    ("eor", "0100", "teq", _and_ok(True)),
    ("add", "1000", "cmn", _add_ok(True)),
    ("adc", "1010", None, _and_ok(False)),
    ("sbc", "1011", None, _and_ok(False)),
    ("sub", "1101", "cmp", _add_ok(True)),
    ("rsb", "1110", None, _and_ok(False)),
):
    _add(
        _logical(_name, _compare),
        f"11110i0{_op}Snnnn 0iiiddddiiiiiiii",
        lambda f, ok=_ok: ok(f) and _immediate_ok(f),
    )
    _add(_logical(_name, _compare), f"1110101{_op}Snnnn 0xxxddddxxyymmmm", _ok)
_add(
    lambda f: _move("orr", "mov", f),
    "11110i00010Snnnn 0iiiddddiiiiiiii",
    lambda f: _orr_ok(f) and _immediate_ok(f),
)
_add(
    lambda f: _move("orn", "mvn", f),
    "11110i00011Snnnn 0iiiddddiiiiiiii",
    lambda f: _orn_ok(f) and _immediate_ok(f),
)
_add(_shifted_name, "11101010010Snnnn 0xxxddddxxyymmmm", _orr_ok)
_add(_s("rrx"), "11101010010S1111 0000dddd0011mmmm", good("dm"))
_add(lambda f: _move("orn", "mvn", f), "11101010011Snnnn 0xxxddddxxyymmmm", _orn_ok)


# Data processing: plain binary immediate.
def _wide_add_ok(f: Fields) -> bool:
    if f["n"] == 15:  # adr
        return not bad(f["d"])
    return f["d"] != 15 and (f["d"] != 13 or f["n"] == 13)


_add("addw", "11110i100000nnnn 0iiiddddiiiiiiii", _wide_add_ok)
_add("subw", "11110i101010nnnn 0iiiddddiiiiiiii", _wide_add_ok)
_add("movw", "11110i100100kkkk 0iiiddddiiiiiiii", good("d"))
_add("movt", "11110i101100kkkk 0iiiddddiiiiiiii", good("d"))


def _saturate_ok(f: Fields) -> bool:
    # A shift of "asr #0" is ssat16 or usat16, of the DSP extension.
    return not bad(f["d"], f["n"]) and not (f["s"] == 1 and f["x"] == 0)


def _saturate_name(name: str) -> Name:
    return lambda f: name + ("16" if f["s"] == 1 and f["x"] == 0 else "")


_add(_saturate_name("ssat"), "1111001100s0nnnn 0xxxddddxx0iiiii", _saturate_ok)
_add(_saturate_name("usat"), "1111001110s0nnnn 0xxxddddxx0iiiii", _saturate_ok)


def _extract_ok(f: Fields) -> bool:
    return not bad(f["d"], f["n"]) and f["x"] + f["w"] <= 31


_add("sbfx", "111100110100nnnn 0xxxddddxx0wwwww", _extract_ok)
_add("ubfx", "111100111100nnnn 0xxxddddxx0wwwww", _extract_ok)
_add(
    lambda f: "bfc" if f["n"] == 15 else "bfi",
    "111100110110nnnn 0xxxddddxx0wwwww",
    lambda f: not bad(f["d"]) and f["n"] != 13 and f["w"] >= f["x"],
)

# Data processing: register.
for _name, _op in (("lsl", "00"), ("lsr", "01"), ("asr", "10"), ("ror", "11")):
    _add(_s(_name), f"11111010 0{_op}Snnnn 1111dddd0000mmmm", good("dnm"))
for _name, _op in (("sxth", "000"), ("uxth", "001"), ("sxtb", "100"), ("uxtb", "101")):
    _add(_name, f"111110100{_op}1111 1111dddd10iimmmm", good("dm"))
for _name, _op, _second in (
    ("rev", "1001", "1000"),
    ("rev16", "1001", "1001"),
    ("rbit", "1001", "1010"),
    ("revsh", "1001", "1011"),
    ("clz", "1011", "1000"),
):
    _add(_name, f"11111010{_op}mmmm 1111dddd{_second}MMMM", good("dm"))


# Multiplication and division.
def _mla_ok(f: Fields) -> bool:
    return not bad(f["d"], f["n"], f["m"]) and f["a"] != 13


_add(lambda f: "mul" if f["a"] == 15 else "mla", "111110110000nnnn aaaadddd0000mmmm", _mla_ok)
_add("mls", "111110110000nnnn aaaadddd0001mmmm", good("dnma"))
for _name, _op in (("smull", "000"), ("umull", "010"), ("smlal", "100"), ("umlal", "110")):
    _add(
        _name,
        f"111110111{_op}nnnn llllhhhh0000mmmm",
        lambda f: not bad(f["l"], f["h"], f["n"], f["m"]) and f["l"] != f["h"],
    )
_add("sdiv", "111110111001nnnn 1111dddd1111mmmm", good("dnm"))
_add("udiv", "111110111011nnnn 1111dddd1111mmmm", good("dnm"))


# Loads and stores of one register. Rt = 15 of the narrow widths are hints.
def _load_name(name: str, kind: str) -> Name:
    hint = {"ldrb": "pld", "ldrsb": "pli"}.get(name)

    def found(f: Fields) -> str:
        n = f.get("n", 15)
        unprivileged = n != 15 and (f.get("P"), f.get("U"), f.get("W")) == (1, 1, 0)
        if hint and f["t"] == 15 and not unprivileged and (n == 15 or f.get("W", 0) == 0):
            return hint
        return name + ("t" if unprivileged else "")

    return found


def _load_ok(name: str, kind: str) -> Test:
    def ok(f: Fields) -> bool:
        n, t = f.get("n", 15), f["t"]
        if n == 15:  # literal: every other field is part of the offset
            return name in ("ldr", "ldrb", "ldrsb") if t == 15 else name == "ldr" or t != 13
        if kind == "register" and bad(f["m"]):
            return False
        if kind in ("register", "imm12"):
            return name in ("ldr", "ldrb", "ldrsb") if t == 15 else name == "ldr" or t != 13
        if f["P"] == 0 and f["W"] == 0:
            return False
        if f["P"] == 1 and f["U"] == 1 and f["W"] == 0:
            return not bad(t)
        if f["W"] and n == t:
            return False
        if t == 15 and f["W"] == 0:
            return name in ("ldr", "ldrb", "ldrsb")
        return name == "ldr" or not bad(t)

    return ok


def _store_ok(name: str, kind: str) -> Test:
    def ok(f: Fields) -> bool:
        n, t = f.get("n", 15), f["t"]
        if n == 15 or t == 15 or (t == 13 and name != "str"):
            return False
        if kind == "register":
            return not bad(f["m"])
        if kind == "imm8":
            if f["P"] == 0 and f["W"] == 0:
                return False
            if f["P"] == 1 and f["U"] == 1 and f["W"] == 0:
                return not bad(t)
            return not (f["W"] and n == t)
        return True

    return ok


_ENCODINGS_OF_WIDTHS = (
    ("strb", "0", "00", 0),
    ("strh", "0", "01", 0),
    ("str", "0", "10", 0),
    ("ldrb", "0", "00", 1),
    ("ldrh", "0", "01", 1),
    ("ldr", "0", "10", 1),
    ("ldrsb", "1", "00", 1),
    ("ldrsh", "1", "01", 1),
)
for _name, _sign, _size, _load in _ENCODINGS_OF_WIDTHS:
    for _kind, _bits in (
        ("literal", f"1111100{_sign}U{_size}{_load}1111 ttttiiiiiiiiiiii"),
        ("imm12", f"1111100{_sign}1{_size}{_load}nnnn ttttiiiiiiiiiiii"),
        ("imm8", f"1111100{_sign}0{_size}{_load}nnnn tttt1PUWiiiiiiii"),
        ("register", f"1111100{_sign}0{_size}{_load}nnnn tttt000000iimmmm"),
    ):
        if _kind == "literal" and not _load:
            continue
        if _load:
            _add(_load_name(_name, _kind), _bits, _load_ok(_name, _kind))
        else:
            _add(
                lambda f, name=_name: (
                    name + ("t" if f.get("P") == 1 and f.get("U") == 1 and f.get("W") == 0 else "")
                ),
                _bits,
                _store_ok(_name, _kind),
            )


# Loads and stores of two and more registers, exclusives, table branches.
def _ldrd_ok(f: Fields) -> bool:
    if bad(f["t"], f["u"]) or f["t"] == f["u"]:
        return False
    return not f["W"] if f["n"] == 15 else not (f["W"] and f["n"] in (f["t"], f["u"]))


def _strd_ok(f: Fields) -> bool:
    return not bad(f["t"], f["u"]) and f["n"] != 15 and not (f["W"] and f["n"] in (f["t"], f["u"]))


for _index in ("1U1", "0U1"):
    # P = 0 and W = 0 are the exclusives.
    _tail = "W" if _index[0] == "1" else "1"
    _add(
        "ldrd",
        f"1110100{_index}{_tail}1nnnn ttttuuuuiiiiiiii",
        lambda f: _ldrd_ok({"W": 1, **f}),
    )
    _add(
        "strd",
        f"1110100{_index}{_tail}0nnnn ttttuuuuiiiiiiii",
        lambda f: _strd_ok({"W": 1, **f}),
    )


def _count(r: int) -> int:
    return r.bit_count()


def _ldm_ok(f: Fields) -> bool:
    r = f["r"]
    return not (
        f["n"] == 15 or _count(r) < 2 or r >> 13 & 1 or r >> 14 == 3 or (f["W"] and r >> f["n"] & 1)
    )


def _stm_ok(f: Fields) -> bool:
    r = f["r"]
    return not (
        f["n"] == 15 or _count(r) < 2 or r >> 13 & 1 or r >> 15 or (f["W"] and r >> f["n"] & 1)
    )


def _list_name(name: str, alias: str | None) -> Name:
    return lambda f: alias if alias and f["n"] == 13 and f["W"] else name


_add(_list_name("ldm", "pop"), "1110100010W1nnnn rrrrrrrrrrrrrrrr", _ldm_ok)
_add(_list_name("ldmdb", None), "1110100100W1nnnn rrrrrrrrrrrrrrrr", _ldm_ok)
_add(_list_name("stm", None), "1110100010W0nnnn rrrrrrrrrrrrrrrr", _stm_ok)
_add(_list_name("stmdb", "push"), "1110100100W0nnnn rrrrrrrrrrrrrrrr", _stm_ok)
# The same with the stack pointer, which a random base seldom is.
_add("pop", "1110100010111101 rr0rrrrrrrrrrrrr", lambda f: _sp_list_ok(f, 2))
_add("push", "1110100100101101 0r0rrrrrrrrrrrrr", lambda f: _sp_list_ok(f, 1))


def _sp_list_ok(f: Fields, top: int) -> bool:
    return _count(f["r"]) >= 2 and (top == 1 or f["r"] >> 13 != 3)


_add("ldrex", "111010000101nnnn tttt1111iiiiiiii", lambda f: not bad(f["t"]) and f["n"] != 15)
for _name, _op in (("ldrexb", "0100"), ("ldrexh", "0101")):
    _add(_name, f"111010001101nnnn tttt1111{_op}1111", lambda f: not bad(f["t"]) and f["n"] != 15)


def _strex_ok(f: Fields) -> bool:
    return not bad(f["d"], f["t"]) and f["n"] != 15 and f["d"] not in (f["n"], f["t"])


_add(
    # Rt = 15 is where Armv8-M puts tt.
    lambda f: "strex",
    "111010000100nnnn ttttddddiiiiiiii",
    _strex_ok,
)
for _name, _op in (("strexb", "0100"), ("strexh", "0101")):
    _add(_name, f"111010001100nnnn tttt1111{_op}dddd", _strex_ok)
for _name, _op in (("tbb", "0000"), ("tbh", "0001")):
    _add(
        _name,
        f"111010001101nnnn 11110000{_op}mmmm",
        lambda f: f["n"] != 13 and not bad(f["m"]),
    )

# Branches and system instructions.
CONDITION_NAMES = (
    "eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le",
)  # fmt: skip
for _number, _condition in enumerate(CONDITION_NAMES):
    _add("b" + _condition, f"11110j{_number:04b}iiiiii 10j0jiiiiiiiiiii")
_add("b", "11110jiiiiiiiiii 10j1jiiiiiiiiiii")
_add("bl", "11110jiiiiiiiiii 11j1jiiiiiiiiiii")
_add("udf", "111101111111iiii 1010iiiiiiiiiiii")

SPECIAL = (0, 1, 2, 3, 5, 6, 7, 8, 9, 16, 17, 18, 19, 20)
for _sysm in SPECIAL:
    _add("mrs", f"1111001111101111 1000dddd{_sysm:08b}", good("d"))
    # Mask 10 writes the flags; the other masks need the DSP extension or mean nothing.
    _add("msr", f"111100111000nnnn 10001000{_sysm:08b}", good("n"))
    _add("msr", f"111100111000nnnn 1000gg00{_sysm:08b}", lambda f: f["g"] == 2 and not bad(f["n"]))
for _number, _name in enumerate(("nop", "yield", "wfe", "wfi", "sev")):
    _add(_name, f"1111001110101111 10000000{_number:08b}")
# Hints without a meaning execute as nop; capstone names two of Armv8.
HINTS = {0x10: "esb", 0x14: "csdb"}
for _number in range(5, 0xF0):
    _add(HINTS.get(_number, "hint"), f"1111001110101111 10000000{_number:08b}")
_add("dbg", "1111001110101111 100000001111iiii")
_add("clrex", "1111001110111111 1000111100101111")
_add("dsb", "1111001110111111 100011110100iiii")
_add("dmb", "1111001110111111 100011110101iiii")
_add("isb", "1111001110111111 100011110110iiii")
