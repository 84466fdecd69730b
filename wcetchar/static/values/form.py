"""Values as sums of values that stay the same: what one register has to do with another.

A *tag* names a value at a point of the program: what a register held at entry, what an instruction
gave a register when it was executed last, what a place held when a block with several predecessors
was entered last. A *form* is a sum of tags, modulo 2^32:

    constant + sum of coefficient * tag

Two places with the same form hold the same number, so that what a condition tells about one of them
is known of the other, and what a loop adds to a place each time round is the difference of two
forms. Source of the idea: global value numbering (B. Alpern, M. N. Wegman and F. K. Zadeck, POPL
1988), with the sums of M. Karr, "Affine relationships among variables of a program", Acta
Informatica 6, 1976, restricted to one equation for each place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from wcetchar.static.values.interval import MODULUS, Interval

Place = tuple[str, int]
"""``("r", number of a register)``; ``("s", offset from sp at entry)``; ``("m", address)``."""


class Tag(NamedTuple):
    """``kind`` and ``site``:

    ``entry``: the register ``place`` when the function was entered; ``site`` is 0.
    ``set``: what the instruction of table index ``site`` gave ``place`` when it was executed last.
    ``old``: what ``place`` held just before that.
    ``either``: what it held behind the predicated instruction ``site``.
    ``met``: what ``place`` held when block ``site`` was entered last.
    ``low``, ``ext``: the low ``site`` bits of a form, extended by zeros or by their sign; ``place``
    is ``("of", constant, tags)``.
    """

    kind: str
    site: int
    place: Any

    @property
    def made_of(self) -> Form | None:
        """The form whose low bits it is."""
        if self.kind not in ("low", "ext"):
            return None
        return Form(self.place[1], self.place[2])

    def basic(self) -> Iterable[Tag]:
        """Tags that it depends on, itself where that is none of others."""
        form = self.made_of
        if form is None:
            yield self
        else:
            for tag in form.names():
                yield from tag.basic()

    @property
    def depth(self) -> int:
        form = self.made_of
        return 0 if form is None else 1 + max((tag.depth for tag in form.names()), default=0)


MOST_DEPTH: Final = 2
MOST_TAGS: Final = 4


@dataclass(frozen=True, slots=True)
class Form:
    """``tags`` in order, each once, with coefficients 1 to 2^32 - 1."""

    constant: int
    tags: tuple[tuple[Tag, int], ...] = ()

    @property
    def tag(self) -> Tag | None:
        """The one tag that it is, plus a constant."""
        return self.tags[0][0] if len(self.tags) == 1 and self.tags[0][1] == 1 else None

    def names(self) -> Iterable[Tag]:
        return (tag for tag, _ in self.tags)

    def plus(self, constant: int) -> Form:
        return Form((self.constant + constant) % MODULUS, self.tags)


def of_tag(tag: Tag) -> Form:
    return Form(0, ((tag, 1),))


def low_bits(form: Form, width: int, signed: bool) -> Form | None:
    """The low bits of a form, extended; ``None``: it is too deep."""
    tag = Tag("ext" if signed else "low", width, ("of", form.constant, form.tags))
    return of_tag(tag) if tag.depth <= MOST_DEPTH else None


def combined(parts: Iterable[tuple[Form, int]]) -> Form | None:
    """Sum of forms times constants; ``None``: it has too many tags."""
    constant = 0
    found: dict[Tag, int] = {}
    for form, factor in parts:
        constant += form.constant * factor
        for tag, coefficient in form.tags:
            found[tag] = (found.get(tag, 0) + coefficient * factor) % MODULUS
    tags = tuple(sorted((tag, factor) for tag, factor in found.items() if factor))
    return Form(constant % MODULUS, tags) if len(tags) <= MOST_TAGS else None


def congruent(form: Form, width: int) -> Form | None:
    """A form with the same low bits, without tags that are only those of others."""
    parts: list[tuple[Form, int]] = [(Form(form.constant), 1)]
    changed = False
    for tag, factor in form.tags:
        inner = tag.made_of
        if inner is not None and tag.site >= width:
            parts.append((congruent(inner, width) or inner, factor))
            changed = True
        else:
            parts.append((of_tag(tag), factor))
    return combined(parts) if changed else None


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers, or what is added to what the stack pointer held at entry (``stack``)."""

    interval: Interval
    stack: bool = False


@dataclass(frozen=True, slots=True)
class Value:
    """What a place holds. ``own``: what is known beside the form; of a form that is one tag, only
    the tag's range counts."""

    form: Form
    own: Range | None = None
