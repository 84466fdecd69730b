"""Errors that a user sees: what is wrong, where, what was expected and what to do next.

Every error of the toolchain descends from :class:`WcetcharError` and carries the exit code that
the command line ends with:

====  ==========================================================
code  meaning
====  ==========================================================
1     a budget or a check failed
2     usage (click's own code for wrong options)
3     bad input; the message names file, line and column
4     no sound bound can be given
====  ==========================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


def one_line(text: str) -> str:
    """``text`` with everything that is not a printable character written as an escape.

    Names come from files of strangers: a terminal must not act on them, and a line break in one
    must not make a line of its own in a message.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


@dataclass(frozen=True, order=True)
class Location:
    """A place in an input file. Lines and columns count from 1; ``None`` means unknown."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [self.file]
        if self.line is not None:
            parts.append(str(self.line))
            if self.column is not None:
                parts.append(str(self.column))
        return ":".join(parts)


class WcetcharError(Exception):
    """Root of all errors. ``str()`` gives the whole message, one fact a line, safe to print.

    ``details`` are lines that belong to the message, such as a compiler's own words. ``advice`` is
    what to do next where there is no ``hint``: it holds for every mistake of a file.
    """

    exit_code = 3
    advice: str | None = None

    def __init__(
        self,
        message: str,
        *,
        where: Location | None = None,
        expected: str | None = None,
        hint: str | None = None,
        details: tuple[str, ...] = (),
    ) -> None:
        self.message = message
        self.where = where
        self.expected = expected
        self.hint = hint
        self.details = details
        super().__init__(message)

    def __str__(self) -> str:
        return self.told(self.advice)

    def told(self, advice: str | None) -> str:
        """The message, with this advice where it has no hint of its own."""
        lines = [f"{self.where}: {self.message}" if self.where else self.message]
        lines += [f"  {detail}" for detail in self.details]
        if self.expected:
            lines.append(f"  expected: {self.expected}")
        if self.hint or advice:
            lines.append(f"  next: {self.hint or advice}")
        return "\n".join(one_line(line) for line in lines)


class CheckFailed(WcetcharError):
    """A budget or a check that the user asked for does not hold."""

    exit_code = 1


class UsageError(WcetcharError):
    """The command line asks for something that makes no sense."""

    exit_code = 2


class InputError(WcetcharError):
    """A file, a trace or a value that cannot be used."""

    exit_code = 3

    @property
    def each(self) -> tuple[InputError, ...]:
        """The mistakes one by one, of which there may be several."""
        return (self,)


class InputErrors(InputError):
    """Several mistakes of one file, reported at once, in the order of the file."""

    def __init__(self, errors: list[InputError]) -> None:
        self.errors = tuple(
            sorted(errors, key=lambda e: (e.where is None, e.where or Location(""), e.message))
            if all(e.where is None or e.where.line is not None for e in errors)
            else errors
        )
        super().__init__(f"{len(self.errors)} mistakes")

    @property
    def each(self) -> tuple[InputError, ...]:
        return self.errors

    def told(self, advice: str | None) -> str:
        """Each; advice that holds for several once, at the last of them."""
        advised = [None if one.hint else one.advice or advice for one in self.errors]
        last = {said: number for number, said in enumerate(advised)}
        return "\n".join(
            one.told(said if last[said] == number else None)
            for number, (one, said) in enumerate(zip(self.errors, advised, strict=True))
        )


def few(names: Sequence[str], most: int = 3) -> str:
    """The first ones by name, and how many more."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def did_you_mean(name: object, known: Iterable[str]) -> str | None:
    """Hint with the nearest known name, where one is near."""
    import difflib  # of errors alone

    close = difflib.get_close_matches(str(name)[:100], list(known), 1)
    return f"did you mean `{close[0]}`?" if close else None


def several(problems: Sequence[InputError]) -> InputError:
    """One error as it is, more of them as one."""
    return problems[0] if len(problems) == 1 else InputErrors(list(problems))


class ToolMissing(InputError):
    """A program or package that this step needs is not installed; the hint says how to get it."""


class NoSoundBound(WcetcharError):
    """The question has no answer that could be called safe."""

    exit_code = 4
