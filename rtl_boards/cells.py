"""Cores on boards in states of their caches: what `validate.py` measures, and which prices hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

EMPTY = "--empty-data"
EMPTY_MASKED = "--empty-masked"
"""What is empty where a service begins is so where the program masks interrupts, too, for one may
have run right before: what is masked is measured so."""
WARM = "--warm-data"
"""With the lines there that a service loads from, where they fit."""


@dataclass(frozen=True)
class Cell:
    """A core on a board in a state of its caches, and what prices it.

    ``beside``: of what the board can do beside, what it does; options of the bench. ``counted``:
    options of the characterization. ``prices``: which ones, where the state has several.
    ``placed``: the map says of all sections that they lie where they were characterized.
    """

    core: str
    board: str
    caches: str
    profile: str
    section_map: str
    beside: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    prices: str = ""
    placed: bool = False

    @property
    def makes_a_map(self) -> bool:
        """What the shipped map does not say is added to it."""
        return self.placed or self.caches == "warm"

    @property
    def name(self) -> str:
        words = [one.removeprefix("--").replace("-", " ") for one in self.beside]
        state = ", ".join(
            [f"{self.core}, board {self.board.upper()}, caches {self.caches}", *words]
        )
        return f"{state}; {self.prices}" if self.prices else state

    @property
    def empties(self) -> bool:
        """A cache is empty where a service begins."""
        return self.caches == "cold" or EMPTY in self.beside

    @property
    def warm(self) -> bool:
        """A cache holds what a service needs where it begins."""
        return self.caches == "warm" or WARM in self.beside

    @property
    def varies(self) -> bool:
        """Runs differ, by what the board does beside."""
        return bool(set(self.beside) - {EMPTY, WARM})

    @property
    def folder(self) -> str:
        return "".join([f"{self.core}-{self.board}-{self.caches}", *self.beside])


BUSY = ("--second-master", "--busiest")
DISTURBANCES: dict[str, dict[tuple[str, ...], str]] = {
    "a": {(): "", BUSY[:1]: "-shared", BUSY: "-shared"},
    "b": {(): "", ("--jitter", *BUSY[:1]): "-shared", ("--jitter", *BUSY): "-shared"},
    "c": {
        (): "",
        ("--jitter",): "-jitter",
        ("--refresh",): "-refresh",
        ("--refresh", *BUSY[:1]): "-shared",
        ("--refresh", *BUSY): "-shared",
    },
}
DISTURBANCES["d"] = DISTURBANCES["b"]
"""What each board can do beside, and what its profile is called then."""
IDEAL = {"a": "zero-wait", "b": "board-b", "c": "board-c"}
CACHED = {"a": "cached", "b": "board-b-cached", "c": "board-c-cached"}
"""Profiles and maps of `imc`, where each line of instructions is there, and with those it loads."""


def _imc(caches: str) -> Iterator[Cell]:
    """In all that the boards can do beside, with caches of instructions that are ideal, so that
    what is left are waits of data accesses; empty where a service begins; or hold what it needs."""
    for board, kind in (IDEAL if caches == "ideal" else CACHED).items():
        for beside, profile in DISTURBANCES[board].items():
            names = (f"vexriscv/imc-{kind}{profile}", f"vexriscv/map-imc-{kind}")
            yield Cell("imc", board, caches, *names, beside)


def _board_d(
    prices: str, *beside: str, profile: str = "", placed: bool = False, caches: str = "ideal"
) -> Cell:
    """With a data cache, as the program leaves it, or empty where a service begins; with ``cold``
    caches both are, with ``warm`` ones and ``WARM`` both hold what it needs."""
    cached = "" if caches == "ideal" else "-cached"
    names = (f"vexriscv/imac-board-d{cached}{profile}", f"vexriscv/map-imac-board-d{cached}")
    counted = () if profile == "-always-miss" else ("--data-lines", "32")
    return Cell("imac-cached", "d", caches, *names, beside, counted, prices, placed)


def _uncached() -> Iterator[Cell]:
    """With a data cache that all accesses go past, and instructions as of `imc`."""
    for caches in ("ideal", "cold", "warm"):
        kind, lines = ("uncached", "") if caches == "ideal" else ("instruction-cached", "-cached")
        for beside, profile in DISTURBANCES["d"].items():
            names = (f"vexriscv/imac-board-d-{kind}{profile}", f"vexriscv/map-imac-board-d{lines}")
            yield Cell("imac", "d", caches, *names, beside)


def _cynthion() -> Iterator[Cell]:
    """As `imac`, with half of the cache of instructions."""
    for caches in ("cold", "warm"):
        names = ("vexriscv/cynthion-board-d", "vexriscv/map-cynthion-board-d")
        yield Cell("cynthion", "d", caches, *names)


def _placed() -> Iterator[Cell]:
    """With data that lie where they were characterized, and caches whose contents are known.

    Not with warm data where another master asks: the core goes on so fast then that an interrupt
    that the program raises, by a store behind two others, comes behind where the suite's driver
    expects it.
    """
    for caches, known in (("ideal", EMPTY), ("cold", "")):
        for disturbed, profile in DISTURBANCES["d"].items():
            beside = (known, *disturbed) if known else disturbed
            yield _board_d(PLACED, *beside, profile=profile, placed=True, caches=caches)
    for caches in ("ideal", "warm"):
        yield _board_d(PLACED, WARM, placed=True, caches=caches)


LINES, PLACED = "by lines", "by lines that are placed"
REFERENCE = Cell("imc", "a", "ideal", "vexriscv/imc-zero-wait", "vexriscv/map-imc-zero-wait")
CELLS = (
    *_imc("ideal"),
    *_imc("cold"),
    *_imc("warm"),
    *_uncached(),
    *_cynthion(),
    _board_d("as if no load hit", profile="-always-miss"),
    _board_d(LINES),
    _board_d(PLACED, placed=True),
    _board_d(LINES, EMPTY),
    _board_d(LINES, caches="cold"),
    *_placed(),
)

PHASES = {"basic": 12, "full": 2}
"""In how many runs a service meets what memories and other masters do by themselves, refresh at
another time and jitter by another seed in each: what is measured is the longest."""
BUSIEST = ("any", "waited", *map(str, range(10)))
"""Which accesses of the core a second master gets in the way of, run by run: a service begins some
accesses behind a mark."""
STEP = 131
"""Cycles from one phase to the next: prime, so that they spread over what repeats itself."""


def cells_of(configuration: str, only: Sequence[str], everything: bool) -> list[Cell]:
    """The states that a configuration is run in. A whole name is that state alone, no other whose
    name goes on behind it."""
    names = {cell.name for cell in CELLS}
    chosen = [
        cell
        for cell in CELLS
        if any(text == cell.name if text in names else text in cell.name for text in only)
    ]
    quiet = configuration == "full" and not everything
    return [cell for cell in chosen if not (quiet and cell.varies)]
