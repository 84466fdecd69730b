"""What must hold of path models of programs that were run with every input."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

from path_firmware import Ran
from path_models import NANOSECOND, prices_of
from path_programs import Kind, Program

from wcetchar import formula
from wcetchar.engine.network import Arc, Limit, dearest_flow
from wcetchar.engine.path_blocking import longest_blocking
from wcetchar.errors import CheckFailed, InputError, InputErrors
from wcetchar.model.access import (
    LINE_ENTRIES,
    UNKNOWN_SECTION,
    AccessClass,
    AccessVector,
    CoreEvent,
    Key,
)
from wcetchar.model.characterization import StretchKind
from wcetchar.model.flow_fact import Fact
from wcetchar.model.instruction import Instruction
from wcetchar.model.observed import Observed, ObservedPath
from wcetchar.model.path_model import OUTSIDE, PathModel
from wcetchar.pipeline.paths import Built, PathModels, Request
from wcetchar.static.facts import parse_facts
from wcetchar.static.facts.places import INDIRECT
from wcetchar.static.loop_constraints import passes, turned_on, turns
from wcetchar.static.replay import Astray, Replay

Weight = Callable[[Key], int]


def issues(key: Key) -> int:
    """One for each instruction."""
    return int(isinstance(key, CoreEvent) and key.kind.is_issue)


def random_issues(seed: int) -> Weight:
    """Instructions, by their kind, and data accesses: what they count hangs on nothing before."""

    def weight(key: Key) -> int:
        if isinstance(key, AccessClass):
            return 0 if key.operation.value == "fetch" else _drawn(seed, str(key))
        return _drawn(seed, str(key)) if issues(key) else 0

    return weight


def random_keys(seed: int) -> Weight:
    def weight(key: Key) -> int:
        if key.section == UNKNOWN_SECTION:
            return 40
        return 0 if _is_line(key) else _drawn(seed, str(key))

    return weight


def random_lines(seed: int) -> Weight:
    """With entries of lines, of which there can be fewer elsewhere than a model counts."""

    def weight(key: Key) -> int:
        return 40 if key.section == UNKNOWN_SECTION else _drawn(seed, str(key))

    return weight


def _is_line(key: Key) -> bool:
    return isinstance(key, CoreEvent) and key.kind.is_line_entry


def random_sections(seed: int) -> Weight:
    def weight(key: Key) -> int:
        if _is_line(key):
            return 0
        return 40 if key.section == UNKNOWN_SECTION else _drawn(seed, str(key.section))

    return weight


def _drawn(seed: int, text: str) -> int:
    return zlib.crc32(f"{seed} {text}".encode()) % 40


def cost(vector: AccessVector, weight: Weight) -> int:
    return sum(weight(key) * count for key, count in vector.items())


def bound(
    model: PathModel, weight: Weight, values: Mapping[str, int], more: Sequence[Limited] = ()
) -> int:
    """The dearest flow; ``more``: further constraints over edges."""
    assert not model.gaps, model.gaps
    costs = [cost(vector, weight) for vector in model.vectors]
    columns: list[dict[int, int]] = [{} for _ in model.edges]
    limits = []
    for number, one in enumerate(model.constraints):
        for edge, coefficient in one.coefficients.items():
            columns[edge][number] = formula.evaluate(coefficient, values)
        limits.append(Limit(one.label, formula.evaluate(one.limit, values)))
    for extra in more:
        for edge, number in extra.coefficients.items():
            columns[edge][len(limits)] = columns[edge].get(len(limits), 0) + number
        limits.append(Limit("more", extra.limit))
    arcs = [
        Arc(
            edge.source,
            edge.target,
            0 if edge.target == OUTSIDE else costs[model.nodes[edge.target].vector],
            column,
        )
        for edge, column in zip(model.edges, columns, strict=True)
    ]
    found = dearest_flow(arcs, limits)
    assert found.counts is not None
    assert found.cost <= found.bound
    return found.bound


@dataclass(frozen=True)
class Limited:
    coefficients: Mapping[int, int]
    limit: int


def seen_turns(built: Built) -> list[Limited]:
    """No loop goes round more often, each time, than traces showed it to in its context."""
    loops = turns(built.found)
    passed = passes(loops)
    most: Counter[tuple[int, int]] = Counter()
    for _, trail in built.trails:
        for key, one in turned_on(trail, passed).items():
            most[key] = max(most[key], one.each)
    found = []
    for key, links in loops.items():
        coefficients = Counter(dict.fromkeys(links.back, 1))
        for link in links.entries:
            coefficients[link] -= most[key]
        found.append(Limited(coefficients, 0))
    return found


def facts_of(programs: Sequence[Program], known: set[str] | None = None) -> list[Fact]:
    """Of each program, for its own service; ``known``: the texts that are left."""
    found: list[Fact] = []
    for program in programs:
        texts = [*(fact.text for fact in program.facts), *program.others]
        for text in texts:
            if known is None or text in known:
                found += parsed(program, text)
    return found


def parsed(program: Program, text: str) -> tuple[Fact, ...]:
    return parse_facts(f"service {program.entry} {{\n{text}\n}}\n", text).facts


@dataclass
class Made:
    """Path models, and the facts that they were made with."""

    models: PathModels
    built: list[Built]
    facts: list[Fact]


def made(
    ran: Ran,
    facts: Sequence[Fact],
    *,
    observed: bool = False,
    seen: Observed | None = None,
    depth: int | None = None,
) -> Made:
    """Without facts that name no loop, because the compiler unrolled it, or took it out; and with
    facts for loops that none names, as a vendor fills in a template."""
    left = [*facts]
    seen = ran.observed if seen is None else seen
    while True:
        request = Request(tuple(left), observed=observed, depth=depth)
        try:
            models = PathModels(ran.resolved, seen, request)
            built = [*models.all()]
        except CheckFailed as error:
            wrong = {id(f) for f in _elsewhere(left, error)}
            if wrong:
                left = [fact for fact in left if id(fact) not in wrong]
                continue
            shown = [p.shown() for p in ran.programs if f"{p.entry}:" in str(error)]
            raise AssertionError("\n".join([*shown, str(error)])) from error
        except InputErrors as several:
            wrong = {id(f) for error in several.errors for f in _of(left, error)}
        except InputError as error:
            wrong = {id(f) for f in _of(left, error)}
        else:
            more = [*_missing(ran, built)]
            if not more:
                return Made(models, built, left)
            left += more
            continue
        assert wrong
        left = [fact for fact in left if id(fact) not in wrong]


def _elsewhere(facts: Sequence[Fact], error: CheckFailed) -> list[Fact]:
    """Facts that a trace contradicts because they name another line's loop: the compiler took their
    own out, and left of its line what steers the other one."""
    found = re.search(r"round the loop at (\S+)", str(error))
    said = re.search(r"by loop at (\S+?): ", str(error))
    if found is None or said is None or found[1] == said[1]:
        return []
    text = str(error.expected).split(", by ", 1)[1].rsplit(":", 2)[0]
    return [fact for fact in facts if fact.where.file == text]


def _of(facts: Sequence[Fact], error: InputError) -> list[Fact]:
    assert error.where is not None
    gone = (
        "no variable",
        "names no loop",
        "has no code",
        "steers",
        "no function",
        "no indirect call",
    )
    assert any(word in str(error) for word in gone), error
    return [fact for fact in facts if fact.where.file == error.where.file]


def _missing(ran: Ran, built: Sequence[Built]) -> Iterator[Fact]:
    """Bounds for loops that have none: as often as any input went round; for loops of the
    compiler's runtime that none did, the bits that a number has."""
    by_entry = {program.entry: program for program in ran.programs}
    for one in built:
        for gap in one.model.gaps:
            if gap.fact.startswith("loop at "):
                runtime = gap.place.function.startswith("__")
                most = max((count for _, count in gap.observed), default=64 * runtime)
                yield from parsed(by_entry[one.model.service], f"{gap.fact}: at most {most}")


def violated(model: PathModel, trail: Sequence[int], values: Mapping[str, int]) -> str | None:
    """A constraint that a path does not keep to: in total, or each time."""
    for one in model.constraints:
        coefficients = {e: formula.evaluate(c, values) for e, c in one.coefficients.items()}
        if sum(coefficients.get(link, 0) for link in trail) > formula.evaluate(one.limit, values):
            return one.label
        left = 0
        for link in trail if one.each else ():
            coefficient = coefficients.get(link, 0)
            left = -coefficient if coefficient < 0 else left - coefficient
            if left < 0:
                return f"{one.label}, each time"
    return None


def counted(model: PathModel, trail: Sequence[int]) -> AccessVector:
    targets = (model.edges[link].target for link in trail)
    passed = Counter(model.nodes[target].vector for target in targets if target != OUTSIDE)
    total: Counter[Key] = Counter()
    for vector, number in passed.items():
        for key, count in model.vectors[vector].items():
            total[key] += count * number
    return AccessVector(total)


def counts_alike(model: PathModel, trail: Sequence[int], path: ObservedPath) -> bool:
    """The model counts what the trace did: entries of lines only if it says so, and of those that
    there can be at another address at least as many."""
    elsewhere = {kinds[1] for kinds in LINE_ENTRIES.values()}

    def left(vector: AccessVector) -> dict[Key, int]:
        return {
            key: number
            for key, number in vector.items()
            if not (
                isinstance(key, CoreEvent)
                and key.kind.is_line_entry
                and (not model.lines or key.kind in elsewhere)
            )
        }

    found = counted(model, trail)
    more = (
        found.get(key, 0) >= number
        for key, number in path.vector.items()
        if model.lines and isinstance(key, CoreEvent) and key.kind in elsewhere
    )
    return left(found) == left(path.vector) and all(more)


def values_of(program: Program, path: ObservedPath) -> dict[str, int]:
    return {"X": path.values[0]} if program.parameter else {}


@dataclass
class Ratio:
    """Of one program: the largest bound and the dearest path, in instructions."""

    program: Program
    bound: int
    seen: int


def checked(ran: Ran, *, observed: bool) -> tuple[Made, list[Ratio]]:
    """Models that every input's path is one of, and that no path costs more than; of exact programs
    one costs as much."""
    models = made(ran, facts_of(ran.programs), observed=observed)
    by_entry = {program.entry: program for program in ran.programs}
    assert [one.model.service for one in models.built] == [p.entry for p in _placed(ran)]
    ratios = []
    for built in models.built:
        program = by_entry[built.model.service]
        assert not built.model.gaps, f"{program.shown()}\n{built.model.gaps}"
        ratios.append(_checked(program, built, ran.target.name))
    return models, ratios


def _placed(ran: Ran) -> list[Program]:
    image = ran.resolved.image
    return sorted(ran.programs, key=lambda program: image.find(program.entry)[0].address)


def _checked(program: Program, built: Built, target: str) -> Ratio:
    # Calls through a register share a routine of the compiler's in Thumb of Armv4T, which the model
    # has go wherever any caller of it does.
    shared = target == "thumb-armv4t" and any(one.startswith("call at") for one in program.others)
    points: dict[tuple[int, ...], list[ObservedPath]] = {}
    for path, trail in built.trails:
        points.setdefault(path.values, []).append(path)
        found = violated(built.model, trail, values_of(program, path))
        assert found is None, f"{program.shown()}\na path does not keep to: {found}"
        assert counts_alike(built.model, trail, path), program.shown()
    tight = seen_turns(built) if program.kind is Kind.EXACT else []
    ratio = Ratio(program, 0, 0)
    seed = program.seed
    weights = [
        (issues, True),
        (random_issues(seed), True),
        (random_keys(seed), program.uniform),
        (random_keys(seed + 1), program.uniform),
        (random_sections(seed), program.uniform),
        *([(random_lines(seed), False)] if built.model.lines else []),
    ]
    for weight, is_exact in weights:
        # Bounds are the same for all values unless there are formulas of them.
        for paths in _some(points, seed) if program.parameter else [[p for p, _ in built.trails]]:
            values = values_of(program, paths[0])
            most = max(cost(path.vector, weight) for path in paths)
            dearest = bound(built.model, weight, values)
            assert dearest >= most, f"{program.shown()}\n{dearest} < {most} at {values}"
            if weight is issues and most > ratio.seen:
                ratio.bound, ratio.seen = dearest, most
            if weight is issues:
                _check_stretches(program, built, values, paths)
            if program.kind is Kind.EXACT and is_exact and not shared:
                dearest = bound(built.model, weight, values, tight)
                assert dearest == most, f"{program.shown()}\n{dearest} and not {most}"
    return ratio


def _check_stretches(
    program: Program, built: Built, values: Mapping[str, int], paths: Sequence[ObservedPath]
) -> None:
    """No masked stretch of a trace has more instructions than the longest of all paths."""
    unnoticed = built.found.program.table.exceptions.unnoticed
    most = 0
    for path in paths:
        length = gap = 0
        for masked in (path.forms[n].masks for n in path.blocking.tolist()):
            gap += not masked
            if masked:
                # Where so few are let in, a core may take no interrupt.
                length = length + gap + 1 if length and gap <= unnoticed + 1 else 1
                most, gap = max(most, length), 0
    counted = tuple(AccessVector({NANOSECOND: cost(v, issues)}) for v in built.model.vectors)
    model = replace(built.model, vectors=counted)
    found = longest_blocking(model, prices_of(model), values, StretchKind.INTERRUPTS)
    assert found.time >= most, f"{program.shown()}\nmasked {most}, and {found.time} at most"
    STRETCHES.append((program.kind, most, int(found.time)))


STRETCHES: list[tuple[Kind, int, int]] = []
"""Longest masked stretch that was seen, and over all paths."""


def _some(
    points: Mapping[tuple[int, ...], list[ObservedPath]], seed: int
) -> list[list[ObservedPath]]:
    """Paths at a few values of the parameter, the last among them."""
    values = sorted(points)
    chosen = {*Random(seed).sample(values, min(5, len(values))), values[-1]}
    return [points[one] for one in sorted(chosen)]


def check_unseen(ran: Ran, facts: Sequence[Fact], *, depth: int | None = None) -> int:
    """Models that were made when only one path of each program had been seen have the paths of all
    inputs, and count them as traces do; the number of programs."""
    first: dict[str, ObservedPath] = {}
    for path in ran.observed.paths:
        first.setdefault(path.service, path)
    rows = ran.resolved.table.instructions
    targets = {at: tuple(sorted(to)) for at, to in _targets(first.values(), rows).items()}
    seen = replace(ran.observed, paths=tuple(first.values()), targets=targets)
    models = made(ran, facts, seen=seen, depth=depth)
    by_entry = {program.entry: program for program in ran.programs}
    checks = 0
    for built in models.built:
        program = by_entry[built.model.service]
        if built.model.gaps:
            known = ("indirect call", "indirect jump")
            assert all(gap.what in known for gap in built.model.gaps), program.shown()
            continue
        if any("goes where traces showed" in one.label for one in built.model.constraints):
            continue
        replay = Replay(built.found)
        checks += 1
        for path in ran.observed.paths:
            if path.service == built.model.service:
                trail = replay.trail(path)
                assert not isinstance(trail, Astray), f"{program.shown()}\n{trail}, {path.values}"
                assert counts_alike(built.model, trail, path), program.shown()
                found = violated(built.model, trail, values_of(program, path))
                assert found is None, f"{program.shown()}\na path does not keep to: {found}"
    return checks


def _is_plain(row: Instruction) -> bool:
    """Facts can name it: it has an effect whenever it is executed, and begins no IT block."""
    return not row.conditional and not row.text.startswith("it")


@dataclass(frozen=True)
class Shown:
    """What traces showed of one program: how often an instruction is executed on a path."""

    program: Program
    paths: Sequence[ObservedPath]
    built: Built

    @property
    def rows(self) -> Sequence[Instruction]:
        return self.built.found.program.table.instructions

    @cached_property
    def counts(self) -> list[Counter[int]]:
        """Of each path, by table index; without what may have no effect."""
        rows = self.rows
        return [
            Counter(n for n in path.index.tolist() if _is_plain(rows[n])) for path in self.paths
        ]

    @cached_property
    def most(self) -> Counter[int]:
        total: Counter[int] = Counter()
        for counts in self.counts:
            total |= counts
        return total

    def place(self, index: int) -> str:
        return f"{self.rows[index].address:#x}"

    def entered(self) -> Iterator[tuple[str, int]]:
        """Loops that were gone round, each by an address, and how often at most."""
        passed = passes(turns(self.built.found))
        most: Counter[tuple[int, int]] = Counter()
        for _, trail in self.built.trails:
            for (context, loop), one in turned_on(trail, passed).items():
                key = (self.built.found.contexts[context].function, loop)
                most[key] = max(most[key], one.each)
        for (function, loop), count in sorted(most.items()):
            graph = self.built.found.program.graph.functions[function]
            if count and len([x for x in graph.loops if x.header == graph.loops[loop].header]) == 1:
                yield self.place(graph.blocks[graph.loops[loop].header].first), count


def true_facts(shown: Shown, random: Random) -> list[str]:
    """Facts that all traces keep to."""
    found = [f"loop at {place}: at most {count}" for place, count in shown.entered()]
    known = sorted(shown.most)
    for index in random.sample(known, min(4, len(known))):
        found.append(f"count({shown.place(index)}) <= {shown.most[index]}")
        least = min(counts[index] for counts in shown.counts)
        found.append(f"{least} <= count({shown.place(index)})")
    for _ in range(6):
        one, other = random.choice(known), random.choice(known)
        if one == other:
            continue
        both = [(counts[one], counts[other]) for counts in shown.counts]
        places = f"{shown.place(one)}, {shown.place(other)}"
        if all(a + b <= 1 for a, b in both):
            found.append(f"exclusive {places}")
        elif all(a == b for a, b in both):
            found.append("count({}) == count({})".format(*places.split(", ")))
        elif all(a <= b for a, b in both):
            found.append("count({}) <= count({})".format(*places.split(", ")))
        else:
            most = max(a + 2 * b for a, b in both)
            found.append("count({}) + 2*count({}) <= {}".format(*places.split(", "), most))
    executed = {n for path in shown.paths for n in path.index.tolist()}
    graph = shown.built.found.program.graph
    functions = {context.function for context in shown.built.found.contexts.all}
    others = [
        index
        for function in sorted(functions)
        for block in graph.functions[function].blocks
        for index in range(block.first, block.last + 1)
        if index not in executed and _is_plain(shown.rows[index])
    ]
    for index in random.sample(others, min(2, len(others))):
        found.append(f"never {shown.place(index)}")
    return found


def wrong_facts(shown: Shown, random: Random) -> list[str]:
    """Facts that some trace does not keep to, each by the least that can be."""
    found = [f"loop at {place}: at most {count - 1}" for place, count in shown.entered()]
    known = sorted(shown.most)
    for index in random.sample(known, min(3, len(known))):
        found.append(f"never {shown.place(index)}")
        found.append(f"count({shown.place(index)}) <= {shown.most[index] - 1}")
        least = min(counts[index] for counts in shown.counts)
        found.append(f"{least + 1} <= count({shown.place(index)})")
    for _ in range(4):
        one, other = random.choice(known), random.choice(known)
        both = [(counts[one], counts[other]) for counts in shown.counts]
        if one != other and any(a and b for a, b in both):
            found.append(f"exclusive {shown.place(one)}, {shown.place(other)}")
    graph = shown.built.found.program.graph
    returns = {shown.rows[index].address for index in graph.returns}
    for address, targets in _targets(shown.paths, shown.rows).items():
        # Of a return no fact says where it goes, whichever of its instruction's forms it has.
        if len(targets) > 1 and address not in returns:
            left = ", ".join(f"{one:#x}" for one in sorted(targets)[1:])
            found.append(f"call at {address:#x}: {left}")
    return found


def _targets(paths: Iterable[ObservedPath], rows: Sequence[Instruction]) -> dict[int, set[int]]:
    """Of indirect calls and jumps, where these paths went from there."""
    found: dict[int, set[int]] = {}
    for path in paths:
        index = path.index.tolist()
        for one, other, taken in zip(index, index[1:], path.taken.tolist(), strict=False):
            if rows[one].flow in INDIRECT and taken:
                found.setdefault(rows[one].address, set()).add(rows[other].address)
    return found


def _kept(ran: Ran, facts: list[Fact]) -> list[Built]:
    """Without facts of what is in a loop, and so cannot be exclusive, and of loops in what other
    facts leave out."""
    while True:
        try:
            return [*PathModels(ran.resolved, ran.observed, Request(tuple(facts))).all()]
        except InputErrors as several:
            errors = several.errors
        except InputError as error:
            errors = (error,)
        for one in errors:
            gone = ("cannot be exclusive", "names no loop", "reaches its place")
            assert any(word in one.message for word in gone), one
            assert one.where is not None
            facts = [fact for fact in facts if fact.where.file != one.where.file]


def _refused(models: PathModels, text: str) -> bool:
    """By what traces showed, or as a mistake of this very fact."""
    try:
        [*models.all()]
    except CheckFailed:
        return True
    except InputError as error:
        if error.where is None or error.where.file != text:
            raise
        return True
    return False


def check_facts(ran: Ran, models: Made, seed: int, *, wrong: int) -> Counter[str]:
    """True facts are taken, and what is bounded is no less than what was seen; each wrong one is
    refused. ``wrong``: of these, how many of each program. How many there were of each kind."""
    random = Random(seed)
    tried: Counter[str] = Counter()
    paths: dict[str, list[ObservedPath]] = {}
    for path in ran.observed.paths:
        paths.setdefault(path.service, []).append(path)
    by_entry = {program.entry: program for program in ran.programs}
    shown = {
        one.model.service: Shown(by_entry[one.model.service], paths[one.model.service], one)
        for one in models.built
    }
    true = {name: true_facts(one, random) for name, one in shown.items()}
    facts = [*models.facts]
    for name, texts in true.items():
        for text in texts:
            facts += parsed(by_entry[name], text)
            tried[f"true {text.split()[0].partition('(')[0]}"] += 1
    for built in _kept(ran, facts):
        if built.model.gaps:
            continue
        program, own = by_entry[built.model.service], paths[built.model.service]
        values = [values_of(program, path) for path in own]
        for path, value in sorted(
            zip(own, values, strict=True), key=lambda x: -cost(x[0].vector, issues)
        )[:1]:
            for weight in (issues, random_keys(seed)):
                dearest = bound(built.model, weight, value)
                assert dearest >= cost(path.vector, weight), (program.shown(), true[program.entry])
    chosen = {}
    for name, one in shown.items():
        texts = wrong_facts(one, random)
        chosen[name] = random.sample(texts, min(wrong, len(texts)))
    for number in range(wrong):
        now = {name: texts[number] for name, texts in chosen.items() if number < len(texts)}
        facts = [*models.facts]
        for name, text in now.items():
            tried[f"wrong {text.split()[0].partition('(')[0]}"] += 1
            facts += parsed(by_entry[name], text)
        models_now = PathModels(ran.resolved, ran.observed, Request(tuple(facts)))
        for name, text in now.items():
            # Of one service after another: the first mistake ends it all.
            models_now._paths = {name: paths[name]}
            if not _refused(models_now, text):
                raise AssertionError(f"{by_entry[name].shown()}\nnot refused: {text}")
    return tried
