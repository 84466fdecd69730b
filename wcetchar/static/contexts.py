"""Call contexts: a function apart for each string of calls that leads to it.

A call string names the calls that have not returned, the outermost first (M. Sharir and A. Pnueli,
"Two approaches to interprocedural data flow analysis", 1981). All of it is kept, unless a ``depth``
is given: then its last calls alone tell contexts apart, so that one may have several callers, and
constraints have to say that control returns as often behind a call as it was made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from wcetchar.errors import NoSoundBound

ROOT: Final = 0
MOST_CONTEXTS: Final = 50_000

Site = tuple[int, int]
"""Number of a context, and of the block of its function that calls."""


@dataclass(frozen=True)
class Context:
    """A function in a context.

    Attributes:
        function: its address.
        stack: addresses of the functions of the call string, its own the last; those that ended in
            a jump to another function among them. Functions of calls that are left out of the
            string, because it has a limited length, are left out here.
        string: the calls that tell it apart: function and block of each.
        active: the same as ``stack``, without those that ended in a jump.
    """

    function: int
    stack: tuple[int, ...]
    string: tuple[tuple[int, int], ...] = ()
    active: tuple[int, ...] = ()


class Contexts:
    """Numbers contexts as they appear."""

    def __init__(
        self, entry: int, limits: Mapping[int, int] | None = None, depth: int | None = None
    ) -> None:
        """``limits``: of functions that can call themselves: how many calls of each are active at
        once, at most. ``depth``: calls of a string that tell contexts apart."""
        self._limits = {} if limits is None else limits
        self.depth = depth
        self.all: list[Context] = [Context(entry, (entry,), (), (entry,))]
        self._known: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {(entry, ()): ROOT}
        self.callers: dict[int, dict[Site, bool]] = defaultdict(dict)
        """Of each context, what called it; true: a jump, so that it returns for its caller."""
        self._jumped_to: dict[int, set[int]] = defaultdict(set)

    def __getitem__(self, number: int) -> Context:
        return self.all[number]

    def __len__(self) -> int:
        return len(self.all)

    def called(self, site: Site, function: int, tail: bool) -> tuple[int, bool] | None:
        """The context of a function that is called, or jumped to, and whether that had not called
        it yet; ``None``: a limit says that it does not happen.

        Raises:
            NoSoundBound: there are too many contexts.
        """
        caller, block = site
        context = self.all[caller]
        limit = self._limits.get(function)
        active = (*(context.active[:-1] if tail else context.active), function)
        # Contexts that several callers share do not know how many calls are active.
        if limit is not None and self.depth is None and active.count(function) > limit:
            return None
        string = (*context.string, (context.function, block))
        if self.depth is not None:
            string = string[len(string) - self.depth :]
        number = self._known.get((function, string))
        if number is None:
            if len(self.all) >= MOST_CONTEXTS:
                raise NoSoundBound(
                    f"there are more than {MOST_CONTEXTS} contexts of calls",
                    expected="a service that calls functions in fewer ways",
                    hint="give a depth of call strings, or leave calls out by `never`",
                )
            number = self._known[function, string] = len(self.all)
            # What the calls that are left out of the string were is not the same for all.
            stack = (*(caller for caller, _ in string), function)
            self.all.append(Context(function, stack, string, active))
        if tail:
            self._jumped_to[caller].add(number)
        new = site not in self.callers[number]
        self.callers[number].setdefault(site, tail)
        return number, new

    def returns_to(self, number: int) -> Iterator[Site | None]:
        """The calls behind which control goes on when a context returns, each once; ``None``: out
        of the service."""
        seen: set[int] = set()
        found: dict[Site | None, None] = {}
        left = [number]
        while left:
            one = left.pop()
            if one in seen:
                continue
            seen.add(one)
            if one == ROOT:
                found[None] = None
            for site, tail in self.callers[one].items():
                if tail:
                    left.append(site[0])
                else:
                    found[site] = None
        yield from found

    def returning_for(self, number: int) -> set[int]:
        """Contexts whose return is one of this context's: itself, and what it jumps to."""
        found, left = set[int](), [number]
        while left:
            one = left.pop()
            if one not in found:
                found.add(one)
                left += self._jumped_to[one]
        return found


def has_stack(stack: Sequence[int], called: Sequence[int]) -> bool:
    """``called`` are among the functions of a call string, in this order."""
    left = iter(stack)
    return all(any(one == function for function in left) for one in called)
