"""What the instructions do that Armv7E-M has beside Armv7-M: the DSP extension.

Source: Armv7-M Architecture Reference Manual (DDI 0403E), table A7-1 and A7.7. Timing classes:
the Cortex-M4 Technical Reference Manual (100166), table 3-1, gives one cycle to each of them, so
that they are told apart as multiplications are; what is no multiplication is of the class alu.

None of them sets the flags that conditions test: they set Q or GE. Forms as in ``thumb_effects``.
"""

from __future__ import annotations

from typing import Final

from wcetchar.isa.thumb_effects import V7M, Effect
from wcetchar.model.access import EventKind as K

_PARALLEL: Final = tuple(
    prefix + operation
    for prefix in ("s", "q", "sh", "u", "uq", "uh")
    for operation in ("add16", "asx", "sax", "sub16", "add8", "sub8")
)

_THREE: Final = (
    *_PARALLEL,
    *("qadd", "qdadd", "qsub", "qdsub"),
    "sel",
    *("pkhbt", "pkhtb"),
    *("sxtab", "sxtah", "sxtab16", "uxtab", "uxtah", "uxtab16"),
)
"""A destination and two sources; of packing and extension the second may be shifted."""

_PRODUCTS: Final = (
    *("smulbb", "smulbt", "smultb", "smultt", "smulwb", "smulwt"),
    *("smuad", "smuadx", "smusd", "smusdx"),
    *("smmul", "smmulr"),
    "usad8",
)

_ACCUMULATED: Final = (
    *("smlabb", "smlabt", "smlatb", "smlatt", "smlawb", "smlawt"),
    *("smlad", "smladx", "smlsd", "smlsdx"),
    *("smmla", "smmlar", "smmls", "smmlsr"),
    "usada8",
)

_LONG: Final = (
    *("smlalbb", "smlalbt", "smlaltb", "smlaltt"),
    *("smlald", "smlaldx", "smlsld", "smlsldx"),
    "umaal",
)
"""Products added to two registers that are read and written."""


def _rows() -> tuple[Effect, ...]:
    def rows(names: tuple[str, ...], issue: K, form: str) -> list[Effect]:
        return [Effect(name, issue, (), (form,), armv6m=V7M) for name in names]

    return (
        *rows(_THREE, K.ALU, "dss"),
        *rows(("sxtb16", "uxtb16"), K.ALU, "ds"),
        *rows(("ssat16", "usat16"), K.ALU, "d#s"),
        *rows(_PRODUCTS, K.MULTIPLY, "dss"),
        *rows(_ACCUMULATED, K.MULTIPLY_ACCUMULATE, "dsss"),
        *rows(_LONG, K.MULTIPLY_LONG, "bbss"),
    )


DSP_EFFECTS: Final = {row.mnemonic: row for row in _rows()}
