"""What is said of a figure that was held against a budget, in all forms."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from wcetchar.errors import one_line
from wcetchar.model.budget import Failure, Figure, Held
from wcetchar.model.characterization import Word
from wcetchar.report.numbers import grouped, rounded_down

US: Final = Fraction(1, 1000)
PASSED: Final = "ok"
_DOES: Final = {
    Figure.TOTAL: "takes",
    Figure.INTERRUPTS: "holds interrupts off for",
    Figure.PREEMPTION: "holds preemption off for",
}
_ARTICLE: Final = {Word.BOUND: "a", Word.HIGH_WATER_MARK: "a", Word.ESTIMATE: "an"}


def verdict(one: Held) -> str:
    """``ok``, or how it fails."""
    return ", ".join(failure.value for failure in one.failures) or PASSED


def at(one: Held) -> str:
    """``N=13, S=4``, or nothing."""
    return one_line(", ".join(f"{name}={value}" for name, value in one.parameters.items()))


def title(one: Held) -> str:
    """``xTaskCreate, total at N=13``."""
    return f"{one_line(one.service)}, {what(one)}"


def what(one: Held) -> str:
    """``total at N=13``."""
    values = at(one)
    return one.figure.value + (f" at {values}" if values else "")


def time_text(ns: Fraction) -> str:
    """In microseconds, rounded up."""
    return f"{grouped(ns * US)} us"


def limit_text(ns: Fraction) -> str:
    """In microseconds, rounded down: a limit shall not look larger than it is."""
    return f"{grouped(rounded_down(ns * US))} us"


def share_text(share: Fraction) -> str:
    """In percent, rounded up."""
    return f"{grouped(100 * share)} %"


def word_text(word: Word) -> str:
    return f"{_ARTICLE[word]} {word.value}"


def reasons(one: Held) -> Iterator[tuple[Failure, str]]:
    """Why it fails, a sentence each, without its subject."""
    for failure in one.failures:
        yield failure, one_line(_SAID[failure](one))


def measure(one: Held) -> str:
    """The figure in a sentence: ``takes 4 us (high-water mark), of 5 us``."""
    if one.time is None:
        return one_line(f"has no figure: {one.problem}")
    at_least = "at least " if one.problem else ""
    text = f"{_DOES[one.figure]} {at_least}{time_text(one.time)}"
    text += f" ({one.word.value})" if one.word is not None else ""
    text += "" if one.limit is None else f", of {limit_text(one.limit)}"
    before = None if one.baseline is None else one.baseline.time
    return text if before is None else f"{text}; {time_text(before)} in the baseline"


def _over(one: Held) -> str:
    assert one.time is not None
    assert one.limit is not None
    at_least = "at least " if one.problem else ""
    beyond = one.time - one.limit
    share = f" ({share_text(beyond / one.limit)})" if one.limit else ""
    return (
        f"{_DOES[one.figure]} {at_least}{time_text(one.time)}, {time_text(beyond)}{share} over its "
        f"budget of {limit_text(one.limit)}"
    )


def _grew(one: Held) -> str:
    base, share = one.baseline, one.may_grow
    assert base is not None
    assert base.time is not None
    assert base.compared is not None
    assert share is not None
    by = "from nothing" if base.change is None else f"by {share_text(base.change)}"
    permitted = grouped(rounded_down(100 * share))
    return (
        f"grew {by}, from {time_text(base.time)} to {time_text(base.compared)}; {permitted} % is "
        "permitted"
    )


def _no_figure(one: Held) -> str:
    if one.time is None:
        return f"has no figure: {one.problem}"
    return f"{_DOES[one.figure]} {time_text(one.time)} at least, and has no bound: {one.problem}"


def _weaker(one: Held) -> str:
    is_now = "has no word" if one.word is None else f"is {word_text(one.word)}"
    return f"{is_now}, and {word_text(one.budget.word)} is asked for"


def _not_compared(one: Held) -> str:
    assert one.baseline is not None
    return f"cannot be compared: {one.baseline.problem}"


_SAID: Final = {
    Failure.OVER: _over,
    Failure.GREW: _grew,
    Failure.NO_FIGURE: _no_figure,
    Failure.WEAKER_WORD: _weaker,
    Failure.NOT_COMPARED: _not_compared,
}
