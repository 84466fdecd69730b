"""Tries to prove published figures too low: random calls in random states against the figures of
the suite, which drives each service in the state that was reasoned to be the worst.

    python tests/differential/random_check.py --seeds 1..8 --calls 2000 [--board mps2-an385]

For each call the driver (``rtos_tests/freertos/random``) says what the kernel's state was;
``random_classes`` tells by that which published service it belongs to, at which values. The price
of what the call executed, and of each of its blocking stretches, may nowhere exceed what is
published.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import random_corners
from random_classes import AGAIN, MASKED, Call, Gap, Known, classify
from random_windows import Invocation, Prices, Taken, Vector, invocations

from wcetchar import store
from wcetchar.analysis.cases import Cases
from wcetchar.engine import Following, PriceVector, price_vector
from wcetchar.engine.chains import continuation
from wcetchar.engine.totals import Totals
from wcetchar.model.characterization import (
    Characterization,
    Counts,
    ServiceCharacterization,
    StretchKind,
)
from wcetchar.model.service import Part

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "rtos_tests" / "freertos"
_ARM7 = tuple(
    (f"arm7tdmi/{name}", f"arm7tdmi/map-{name}") for name in ("zero-wait-sram", "external-16bit")
)
PROFILES: dict[str, tuple[tuple[str, str], ...]] = {
    "mps2-an385": tuple(
        (f"cortex-m3/{name}", f"cortex-m3/map-{name}")
        for name in ("flash-3ws", "external-16bit", "zero-wait-sram")
    ),
    "virt": (("rv32/two-stage", "rv32/map-two-stage"),),
    "mps2-an386": tuple(
        (f"cortex-m4/{name}", f"cortex-m4/map-{name}") for name in ("flash-3ws", "zero-wait-sram")
    ),
    "versatilepb": _ARM7,
    "versatilepb-thumb": _ARM7,
}
MACHINES = {name: name.removesuffix("-thumb") for name in PROFILES}


# ---- what is published ---------------------------------------------------------------------------


class Figures:
    """Published figures at some prices: total, and both kinds of blocking, at parameter values.
    ``of_run``: the same prices for what a run counts.

    Where a switch is made inside of a critical section, another activity goes on with it, and what
    is published of the service is the longest stretch up to there, and the longest chain. A call
    that switches is held against the first, one that does not against the second.
    """

    def __init__(
        self,
        published: Characterization,
        profile: str,
        prices: PriceVector,
        of_run: Callable[[Vector], Fraction],
    ) -> None:
        self.profile = profile
        self._prices = prices
        self.of_run = of_run
        self._services = {s.name: s for s in published.services}
        self._following = Following(published, prices)
        self._totals: dict[tuple[str, str], list[Totals]] = {}
        self._cache: dict[tuple[str, str, tuple[int, ...]], Fraction] = {}

    @classmethod
    def on(cls, published: Characterization, profile: str, section_map: str) -> Figures:
        loaded, placed = store.load_profile(profile), store.load_map(section_map)
        prices = price_vector(published, loaded, placed)
        return cls(published, profile, prices, Prices(published, loaded, placed))

    @classmethod
    def in_corner(cls, published: Characterization, corner: str) -> Figures:
        prices, of_run = random_corners.prices(published, corner), random_corners.of_run(corner)
        return cls(published, corner, prices, of_run)

    def at(self, name: str, what: str, values: tuple[int, ...]) -> Fraction:
        """``what``: ``total``, a kind of stretch, or that with what goes on after it."""
        key = (name, what, values)
        if key not in self._cache:
            if (name, what) not in self._totals:
                service = self._services[name]
                names = tuple(p.name for p in service.parameters)
                self._totals[name, what] = [
                    Totals(counts, names, self._prices, name, rest)
                    for counts, rest in self._counts(service, what)
                ]
            self._cache[key] = max(
                (
                    total(everything)
                    for everything in in_each_case(self._services[name], values)
                    for total in self._totals[name, what]
                ),
                default=Fraction(0),
            )
        return self._cache[key]

    def _counts(
        self, service: ServiceCharacterization, what: str
    ) -> Iterator[tuple[Counts, Fraction]]:
        if what == "total":
            yield service.counts, Fraction(0)
            return
        kind = StretchKind(what.removesuffix(WHOLE))
        for stretch in service.stretches:
            if stretch.kind not in (StretchKind.INTERRUPTS, kind):
                continue  # who masks interrupts holds off switches
            rest = continuation(self._following if what.endswith(WHOLE) else None, kind, stretch)
            yield stretch.counts, rest.time.high


def in_each_case(
    service: ServiceCharacterization, values: tuple[int, ...]
) -> list[tuple[int, ...]]:
    """``values`` of the other parameters, with each value of those that are cases."""
    cases = Cases(service.parameters)
    return [cases.joined(case, values) for case in cases.all]


WHOLE = " with what follows"


OPEN: dict[str, str] = {}
"""Findings that are known and not mended yet: in the report, but no failure."""
SMALL = Fraction(5, 100)
"""Up to here what is too low at prices that no profile has is in the report, but no failure."""

WHAT = ("total", *(kind.value + after for kind in StretchKind for after in ("", WHOLE)))


def _vectors(piece: Taken, what: str) -> list[Vector]:
    if what == "total":
        return [piece.total]
    held = piece.stretches.get(StretchKind(what.removesuffix(WHOLE)), [])
    return [stretch.counts for stretch in held if stretch.goes_on != what.endswith(WHOLE)]


# ---- what was run --------------------------------------------------------------------------------


def read_console(
    text: str,
) -> tuple[dict[int, tuple[str, dict[int, int] | dict[str, int]]], dict[int, int]]:
    """Calls by number (name, facts), and results by number. A wait that was aborted is a fact."""
    calls: dict[int, tuple[str, dict[str, int]]] = {}
    results: dict[int, int] = {}
    lines = text.splitlines()
    assert lines[-1:] == ["done"], "\n".join(lines[-3:])
    for line in lines[:-1]:
        kind, number, *words = line.split()
        if kind == "R":
            results[int(number)] = int(words[0])
            if words[1:] == ["aborted"]:
                calls[int(number)][1]["aborted"] = 1
            else:
                assert len(words) == 1, line
        else:
            assert kind == "C", line
            pairs = (word.split("=") for word in words[1:])
            calls[int(number)] = (words[0], {name: int(value) for name, value in pairs})
    return calls, results


def called(console: str, found: Iterable[Invocation]) -> Iterator[tuple[Invocation, Call]]:
    """What the trace shows, with what the driver says of it; without ticks behind the last call."""
    calls, results = read_console(console)
    seen = set()
    ticks = iter(sorted(number for number, (name, _) in calls.items() if name == "tick"))
    for invocation in found:
        if invocation.service == "tick":  # in order
            invocation.number = next(ticks, None)
            if invocation.number is None:
                continue
        number = invocation.number
        if number is None:
            yield invocation, Call(invocation.service, invocation.facts, None, 1)
            continue
        seen.add(number)
        name, facts = calls[number]
        after = [piece.functions for piece in invocation.pieces[1:]]
        if any(StretchKind.INTERRUPTS in p.stretches for p in invocation.pieces[1:]):
            after.append(frozenset([MASKED]))
        again = len(rounds(name, invocation))
        parts = len(invocation.pieces) - again
        executed = frozenset().union(*after)
        yield invocation, Call(name, facts, results.get(number), parts, executed, again)
    assert seen == set(calls), f"not in the trace: {sorted(set(calls) - seen)[:5]}"


@dataclass(frozen=True)
class Finding:
    seed: int
    number: int | None
    service: str
    values: Mapping[str, int]
    what: str
    profile: str
    taken: Fraction
    published: Fraction
    call: Call

    @property
    def excess(self) -> Fraction:
        return (self.taken - self.published) / self.taken

    def __str__(self) -> str:
        at = ", ".join(f"{k}={v}" for k, v in self.values.items())
        facts = " ".join(f"{k}={v}" for k, v in self.call.facts.items())
        return (
            f"{self.service}({at}) {self.what} on {self.profile}: {float(self.taken):,.1f} ns, "
            f"published {float(self.published):,.1f} (seed {self.seed}, call {self.number}: "
            f"{self.call.name} {facts} -> {self.call.result}, {self.call.parts} parts)"
        )


@dataclass
class Outcome:
    """Of any number of runs."""

    calls: int = 0
    compared: int = 0
    services: Counter[str] = field(default_factory=Counter)
    gaps: Counter[str] = field(default_factory=Counter)
    beyond: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    margins: dict[str, Fraction] = field(default_factory=dict)
    """Service -> smallest (published - taken) / published of its total, on any profile."""

    @property
    def unknown(self) -> list[Finding]:
        """Findings that are not in ``OPEN``, nor in corners and small."""
        return [
            f
            for f in self.findings
            if f.service.partition("/")[0] not in OPEN
            and not (f.profile in random_corners.CORNERS and f.excess <= SMALL)
        ]

    def add(self, other: Outcome) -> None:
        self.calls += other.calls
        self.compared += other.compared
        self.services += other.services
        self.gaps += other.gaps
        self.beyond += other.beyond
        self.findings += other.findings
        for name, margin in other.margins.items():
            self.margins[name] = min(margin, self.margins.get(name, margin))


class Checker:
    def __init__(self, published: Characterization, board: str) -> None:
        self.figures = [Figures.on(published, *pair) for pair in PROFILES[board]]
        self.figures += [Figures.in_corner(published, corner) for corner in random_corners.CORNERS]
        self.services = {service.name: service for service in published.services}

    def check(self, seed: int, console: str, found: Iterable[Invocation]) -> Outcome:
        outcome = Outcome()
        for invocation, call in called(console, found):
            outcome.calls += 1
            self._one(outcome, seed, call, invocation)
        return outcome

    def _one(self, outcome: Outcome, seed: int, call: Call, invocation: Invocation) -> None:
        known = classify(call)
        if isinstance(known, Gap):
            outcome.gaps[known.state] += 1
            return
        again = rounds(call.name, invocation)
        compared = list(self._pairs(known, invocation, again))
        if not compared:
            outcome.gaps[f"no service {known.service}"] += 1
            return
        if self._compare(outcome, seed, call, invocation.number, known, compared):
            outcome.compared += 1
            outcome.services[known.service] += 1
        for piece in again:
            round_of = Known(AGAIN[call.name], _passed_as_values(piece.passed))
            name = Part.BETWEEN_SWITCHES.of(round_of.service)
            outcome.services[round_of.service] += 1
            self._compare(outcome, seed, call, invocation.number, round_of, [((name,), piece)])

    def _compare(
        self,
        outcome: Outcome,
        seed: int,
        call: Call,
        number: int | None,
        known: Known,
        compared: list[tuple[tuple[str, ...], Taken]],
    ) -> bool:
        service = self.services[compared[0][0][0]]
        values = []
        asked = Cases(service.parameters).free
        for parameter in asked:
            if parameter.name not in known.values:
                outcome.gaps[f"no value of {parameter.name} for {known.service}"] += 1
                return False
            value = max(known.values[parameter.name], parameter.minimum)
            if value > parameter.maximum:
                outcome.beyond[f"{known.service}: {parameter.name} > {parameter.maximum}"] += 1
                return False
            values.append(value)
        point = tuple(values)
        for figures in self.figures:
            for names, piece in compared:
                for what in WHAT:
                    published = [figures.at(name, what, point) for name in names]
                    allowed = sum(published) if what == "total" else max(published)
                    taken = max(
                        (figures.of_run(vector) for vector in _vectors(piece, what)),
                        default=Fraction(0),
                    )
                    if taken > allowed:
                        outcome.findings.append(
                            Finding(
                                seed,
                                number,
                                "+".join(names),
                                dict(zip((p.name for p in asked), point, strict=True)),
                                what,
                                figures.profile,
                                taken,
                                Fraction(allowed),
                                call,
                            )
                        )
                    if what == "total" and figures.profile not in random_corners.CORNERS:
                        margin = (allowed - taken) / allowed
                        name = "+".join(names)
                        outcome.margins[name] = min(margin, outcome.margins.get(name, margin))
        return True

    def _pairs(
        self, known: Known, invocation: Invocation, again: list[Taken]
    ) -> Iterator[tuple[tuple[str, ...], Taken]]:
        """Published names, and the piece that may take no longer than they together. The further
        rounds ``again`` are left out."""
        whole = invocation.merged or invocation.pieces[0]
        if known.service in self.services:
            yield (known.service,), whole
            return
        parts = {
            part: name
            for part in (Part.UNTIL_SWITCH, Part.BETWEEN_SWITCHES, Part.UNTIL_RETURN)
            if (name := part.of(known.service)) in self.services
        }
        if not parts:
            return
        pieces = [piece for piece in invocation.pieces if all(piece is not x for x in again)]
        if [piece.part for piece in pieces] == list(parts):
            for piece in pieces:
                yield (parts[piece.part],), piece
        elif [piece.part for piece in pieces] == [Part.UNTIL_SWITCH, Part.UNTIL_RETURN]:
            # it was not switched away again where the suite's call was: one piece for two
            yield (parts[Part.UNTIL_SWITCH],), pieces[0]
            rest = tuple(name for part, name in parts.items() if part is not Part.UNTIL_SWITCH)
            yield rest, pieces[1]
        if not again:
            yield tuple(parts.values()), whole


def rounds(name: str, invocation: Invocation) -> list[Taken]:
    """Pieces in which the call was woken in vain and went to wait again."""
    return [
        piece
        for piece in invocation.pieces
        if name in AGAIN
        and piece.part is Part.BETWEEN_SWITCHES
        and "vListInsert" in piece.functions
    ]


def _passed_as_values(passed: int) -> dict[str, int]:
    """What the driver cannot say in the middle of a call, the trace does: how many items the call
    passed in both lists together. Both cost the same; W is given what is left by D."""
    delayed = min(passed, 12)
    return {"D": delayed, "W": passed - delayed}


# ---- building and running ------------------------------------------------------------------------


def kernel_source() -> Path | None:
    """The kernel as a user gives it, or as `make` has fetched it."""
    usual = ROOT / "build" / "firmware" / "freertos" / "FreeRTOS-Kernel"
    source = Path(os.environ.get("FREERTOS_KERNEL", usual))
    return source if source.exists() else None


def make(board: str, build: Path, *words: str) -> str:
    kernel = str(kernel_source() or "")
    command = ["make", "-s", "-C", str(SUITE), f"BOARD={board}", "CONFIG=full", f"BUILD={build}"]
    done = subprocess.run(
        [*command, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "FREERTOS_KERNEL": kernel},
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout + done.stderr


def services_files(board: str, build: Path, *words: str) -> list[Path]:
    return [ROOT / name for name in make(board, build, *words, "services").split()]


def wcetchar(*words: str | Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wcetchar", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-3000:]


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Nobody else builds in the folder meanwhile."""
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _hash(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def publish(board: str, folder: Path) -> Characterization:
    """The suite's figures, made now, unless nothing has changed since."""
    with alone(folder):
        return _publish(board, folder)


def _publish(board: str, folder: Path) -> Characterization:
    build, trace, result = folder / "suite", folder / "suite.trace", folder / "suite.json"
    make(board, build)
    elf, stamp = build / "freertos.elf", folder / "suite.sha256"
    files = services_files(board, build)
    made_from = _hash([elf, *files, *sorted((ROOT / "wcetchar").rglob("*.py"))])
    if not (result.exists() and stamp.exists() and stamp.read_text() == made_from):
        wcetchar("capture", elf, "--machine", MACHINES[board], "-o", trace)
        words = [word for name in files for word in ("--services", name)]
        wcetchar("characterize", elf, trace, *words, "-o", result)
        trace.unlink()
        stamp.write_text(made_from)
    return store.load_characterization(str(result))


def run(
    board: str, folder: Path, seed: int, calls: int, keep: Collection[int | None] = ()
) -> tuple[str, Iterator[Invocation]]:
    """What the driver says, and what the trace shows. ``keep``: see ``invocations``."""
    build = folder / "random"
    elf, trace = (folder / f"random-{seed}-{os.getpid()}.{kind}" for kind in ("elf", "trace"))
    words = ("DRIVER=random", f"SEED={seed}", f"CALLS={calls}")
    with alone(folder):
        make(board, build, *words)
        console = make(board, build, *words, "run")
        shutil.copy(build / "freertos.elf", elf)
    wcetchar("capture", elf, "--machine", MACHINES[board], "-o", trace)
    files = services_files(board, build)

    def found() -> Iterator[Invocation]:
        yield from invocations(elf, trace, files, keep)
        elf.unlink()
        trace.unlink()

    return console[console.index("C 0 ") :], found()


def seeds_of(text: str) -> range:
    first, _, last = text.partition("..")
    return range(int(first), int(last or first) + 1)


def report(outcome: Outcome) -> Iterator[str]:
    yield (
        f"calls {outcome.calls:,}, compared {outcome.compared:,}, services "
        f"{len(outcome.services)}, findings {len(outcome.findings):,}"
    )
    yield "\ntightest margins of totals:"
    for name, margin in sorted(outcome.margins.items(), key=lambda item: item[1]):
        yield f"  {100 * float(margin):8.2f} %  {name}"
    yield "\ncalls without a figure:"
    for gap, count in outcome.gaps.most_common():
        yield f"  {count:6} {gap}"
    yield "\nparameters beyond the published range:"
    for gap, count in outcome.beyond.most_common():
        yield f"  {count:6} {gap}"
    worst: dict[tuple[str, str, str], Finding] = {}
    number: Counter[tuple[str, str, str]] = Counter()
    for finding in outcome.findings:
        key = (finding.service, finding.what, finding.profile)
        number[key] += 1
        if key not in worst or finding.excess > worst[key].excess:
            worst[key] = finding
    yield "\nfindings (the worst of each service at each profile or corner):"
    for key, finding in sorted(worst.items()):
        yield f"  {number[key]:5} x {100 * float(finding.excess):5.2f} % {finding}"


def parser_of_board(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--board", default="mps2-an385", choices=PROFILES)
    parser.add_argument("--folder", default=ROOT / "build" / "random", type=Path)
    return parser


def runs_of_command(description: str | None) -> tuple[str, Path, range, int]:
    """Board, its folder, seeds, and calls of each."""
    parser = parser_of_board(description)
    parser.add_argument("--seeds", default="1..3", type=seeds_of)
    parser.add_argument("--calls", default=1500, type=int)
    options = parser.parse_args()
    folder = options.folder / options.board
    folder.mkdir(parents=True, exist_ok=True)
    return options.board, folder, options.seeds, options.calls


def main() -> None:
    board, folder, seeds, calls = runs_of_command(__doc__)
    checker = Checker(publish(board, folder), board)
    outcome = Outcome()
    for seed in seeds:
        outcome.add(checker.check(seed, *run(board, folder, seed, calls)))
        print(f"seed {seed}: {outcome.calls:,} calls", file=sys.stderr)
    print("\n".join(report(outcome)))
    sys.exit(1 if outcome.unknown else 0)


if __name__ == "__main__":
    main()
