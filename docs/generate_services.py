"""Writes docs/reference/freertos-services.md from the services files and a characterization.

wcetchar campaign rtos_tests/freertos/campaign.yaml -o build/campaign --only mps2-an385+full
python docs/generate_services.py build/campaign/mps2-an385+full/characterization.json

and docs/reference/freertos-services-more.md, what other configurations and boards have that this
one has not, or has in another state, and the figures of options and heaps, from the folder of
`make campaign`:

python docs/generate_services.py --more build/campaign
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from ruamel.yaml import YAML

from wcetchar import store
from wcetchar.analysis.cases import Cases
from wcetchar.formula import evaluate, to_text
from wcetchar.model.access import AccessClass, Operation
from wcetchar.model.characterization import (
    Characterization,
    Counts,
    ServiceCharacterization,
    StretchKind,
    TraceSection,
)
from wcetchar.model.expression import (
    ONE,
    Binary,
    BinaryOperator,
    Compare,
    Expression,
    Name,
    product_of,
)
from wcetchar.model.service import Parameter, ParameterKind, whole_of

ROOT = Path(__file__).resolve().parents[1]
SUITE = ROOT / "rtos_tests" / "freertos"
PAGE = ROOT / "docs" / "reference" / "freertos-services.md"
FILES = (
    "services.yaml",
    "more.yaml",
    "config/full.yaml",
    "timer_task.yaml",
    "activities.yaml",
    "boards/mps2-an385/image.yaml",
    "boards/armv7m.yaml",
    "boards/critical.yaml",
)
_GROUP = re.compile(r"  # (\S.*)\.$")
_NAME = re.compile(r"  ([A-Za-z]\w*):$")

INTRODUCTION = """\
# FreeRTOS: services and activities

<!-- Written by docs/generate_services.py; do not edit. -->

{kernel} on a Cortex-M3 (`mps2-an385`), configuration `full`: {services} services and activities of
[the firmware](../../rtos_tests/freertos/README.md), published as {published}, {formula} by exact
formula, {table} by table of observed values.

For each: its parameters, the state in which it was called and why that is the worst, and how many
*instructions* and *accesses to data* it makes, as formulas of the parameters; of a parameter
that is a `case`, an estimate takes the dearest. The characterization has the
same for every section, width and pattern, under every blocking. `NAME/call` is what the
caller does until it is switched away, `NAME/resume` what it does when it goes on. *Interrupts* is
the longest uninterrupted stretch with interrupts masked, at the largest parameters, in
instructions; *preemption* the same with other threads held off.

Worst states are reasoned from the kernel's source and checked by the driver before and after each
call; they are not proven. A service that stands for several (`_waiter`, `_blocks`, ...) does so
because the worst of all is no formula of one set of parameters: to be safe in any state, take the
largest. Every public function and macro of the kernel's headers is one of these, or one of
[other configurations and boards](freertos-services-more.md), or stands at the end of this page; a
test goes through the headers.

`wcetchar campaign rtos_tests/freertos/campaign.yaml -o build/campaign --only mps2-an385+full` makes
the figures, and `python docs/generate_services.py
build/campaign/mps2-an385+full/characterization.json` writes this page from them.
"""


def groups(suite: Path = SUITE, files: Iterable[str] = FILES) -> Mapping[str, list[str]]:
    """Services by the headings of the services files; the handlers of the port come last."""
    found: dict[str, list[str]] = {}
    for name in files:
        group = "Interrupts and switches" if name.endswith("image.yaml") else "Others"
        inside = False
        for line in (suite / name).read_text(encoding="utf-8").splitlines():
            if not line.startswith((" ", "#")) and line:
                inside = line == "services:"
            heading, entry = _GROUP.match(line), _NAME.match(line)
            if inside and heading:
                group = heading[1]
            elif inside and entry:
                found.setdefault(group, []).append(entry[1])
    return found


def other_calls(suite: Path = SUITE) -> str:
    """What the headers have and no service is: what stands for it, or why there is none."""
    read = YAML(typ="safe", pure=True).load
    listed = read(suite / "not-characterized.yaml") | read(suite / "stands-for.yaml")
    lines = ["## Calls that another service stands for", "", "| call | service | because |"]
    lines += ["|---|---|---|"]
    for group in listed["stands for"]:
        for call, service in group["calls"].items():
            lines.append(f"| `{call}` | `{service}` | {group['because']} |")
    lines += ["", "## Calls that are not characterized", ""]
    for group in listed["left out"]:
        lines.append(f"* {sentence(group['because'])[:-1]}: {', '.join(named(group['calls']))}.")
    return "\n".join(lines) + "\n"


def named(calls: Sequence[str] | Mapping[str, str]) -> Iterator[str]:
    """Calls, each with what is said of it alone."""
    for call in calls:
        yield f"`{call}`" + (f" ({calls[call]})" if isinstance(calls, Mapping) else "")


def instructions(row: TraceSection) -> int:
    return row.vector.instructions


def data(row: TraceSection) -> int:
    return sum(
        count
        for key, count in row.vector.items()
        if isinstance(key, AccessClass) and key.operation is not Operation.FETCH
    )


def simple(formula: str) -> bool:
    """A name, a number or one call of a function: needs no parentheses in a product."""
    name, _, arguments = formula.partition("(")
    if not re.fullmatch(r"\w+", name):
        return False
    depth = 1
    for place, sign in enumerate(arguments, 1):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return place == len(arguments)
    return True


def factors(repetition: Expression) -> Iterator[Expression]:
    if isinstance(repetition, Binary) and repetition.operator is BinaryOperator.MULTIPLY:
        yield from factors(repetition.left)
        yield from factors(repetition.right)
    else:
        yield repetition


def in_case(repetition: Expression, names: Sequence[str], case: Sequence[int]) -> Expression | None:
    """The repetition where parameters that are cases have these values; ``None``: zero."""
    known = dict(zip(names, case, strict=True))
    rest = []
    for factor in factors(repetition):
        if (
            isinstance(factor, Compare)
            and isinstance(factor.left, Name)
            and factor.left.name in known
        ):
            if not evaluate(factor, known):
                return None
        elif factor != ONE:
            rest.append(factor)
    return product_of(rest)


def total(service: ServiceCharacterization, count: Callable[[TraceSection], int]) -> str:
    """Sum over trace sections as one formula; equal repetitions are put together, and cases where
    the sum is the same."""
    cases = Cases(service.parameters)
    names = [p.name for p in service.parameters if p.kind is ParameterKind.CASE]
    rows: dict[tuple[int, ...], list[tuple[int, int, Expression]]] = {}
    for case in cases.all:
        sums: dict[Expression, int] = {}
        for row in service.counts.rows:
            repetition = in_case(row.repetition, names, case)
            if repetition is not None:
                sums[repetition] = sums.get(repetition, 0) + count(row)
        rows[case] = [(0, number, repetition) for repetition, number in sums.items()]
    sums_of = {to_text(repetition): number for _, number, repetition in cases.together(rows)}
    parts = []
    for text, factor in sorted(sums_of.items(), key=lambda item: item[0] != "1"):
        if text == "1" and factor:
            parts.append(str(factor))
        elif factor:
            inside = text if simple(text) else f"({text})"
            parts.append(inside if factor == 1 else f"{factor}*{inside}")
    return " + ".join(parts) or "0"


def longest(service: ServiceCharacterization, kind: StretchKind) -> int:
    """Instructions of the longest stretch; of one with a formula, at the ends of the parameters'
    ranges, in the case in which it is longest."""
    values = [
        range(p.minimum, p.maximum + 1)
        if p.kind is ParameterKind.CASE
        else sorted({p.minimum, p.maximum})
        for p in service.parameters
    ]
    points = [
        dict(zip((p.name for p in service.parameters), point, strict=True))
        for point in product(*values)
    ]

    def length(counts: Counts) -> int:
        if counts.is_formula:
            return max(
                sum(evaluate(row.repetition, at) * instructions(row) for row in counts.rows)
                for at in points
            )
        return max(sum(map(instructions, point.rows)) for point in counts.points)

    return max((length(s.counts) for s in service.stretches if s.kind is kind), default=0)


def result(service: ServiceCharacterization) -> str:
    """A row of a service's table."""
    if service.counts.is_formula:
        counts = [f"`{total(service, what)}`" for what in (instructions, data)]
    else:
        counts = [
            f"table; at most {max(sum(map(what, point.rows)) for point in service.counts.points)}"
            for what in (instructions, data)
        ]
    blocked = [str(longest(service, kind) or "") for kind in StretchKind]
    return "| " + " | ".join([f"`{service.name}`", *counts, *blocked]) + " |"


def section(name: str, parts: list[ServiceCharacterization], entries: Iterable[str]) -> str:
    """What is said of one service."""
    first = parts[0]
    called = ", ".join(f"`{entry}`" for entry in entries)
    function = f" Function: {called}." if called else ""
    lines = [f"### {name}", "", f"{sentence(first.description)}{function}", ""]
    lines += [*state(first.worst_state, first.parameters), *table(parts), ""]
    return "\n".join(lines)


def state(worst: str, parameters: Sequence[Parameter]) -> list[str]:
    """What is said of the state in which a service was called."""
    lines = [f"*Worst state.* {sentence(worst)}", ""]
    lines += [
        f"* `{p.name}` = {p.minimum}..{p.maximum} ({p.kind.value}): {p.meaning}" for p in parameters
    ]
    return lines + [""] * bool(parameters)


def table(services: Iterable[ServiceCharacterization]) -> list[str]:
    head = "| | instructions | accesses to data | " + " | ".join(StretchKind) + " |"
    return [head, "|---|---|---|---|---|", *map(result, services)]


def sentence(text: str) -> str:
    text = text[:1].upper() + text[1:] if text[1:2].islower() and " " in text else text
    return text if text.endswith(".") else text + "."


def page(characterization: Characterization) -> str:
    """The whole page.

    Raises:
        KeyError: a service of the files is not in the characterization.
    """
    described = store.load_services(*(str(SUITE / name) for name in FILES))
    entries = {service.name: service.entries for service in described.services}
    parts = described_of(characterization)
    kernel = characterization.kernel
    published = characterization.services
    formula = sum(service.counts.is_formula for service in published)
    text = INTRODUCTION.format(
        kernel=f"{kernel.name} {kernel.version}",
        services=len(entries),
        published=len(published),
        formula=formula,
        table=len(published) - formula,
    )
    found = groups()
    text += "\n" + "\n".join(f"* {group}: {len(names)}" for group, names in found.items()) + "\n"
    for group, names in found.items():
        text += f"\n## {group}\n\n"
        text += "\n".join(section(name, parts[name], entries[name]) for name in names)
    return text + "\n" + other_calls()


MORE = PAGE.with_name("freertos-services-more.md")
BOARD = "mps2-an385"
BASE = f"{BOARD}+full"
SMALLEST = f"{BOARD}+basic"
OTHER_BOARDS = ("mps2-an386", "virt", "versatilepb", "versatilepb-thumb")
CELLS = (
    *(f"{BOARD}+{config}" for config in ("tickless", "timers", "watch")),
    *(f"{board}+full" for board in OTHER_BOARDS),
)
OPTIONS = ("size", "stack-check", "generic-selection", "no-slicing", "whole-list-ends")
HEAPS = ("heap_1", "heap_2", "heap_3", "heap_4", "heap_5")
MORE_INTRODUCTION = """\
# FreeRTOS: services of other configurations and boards

<!-- Written by docs/generate_services.py --more; do not edit. -->

Beside [those of `full` on a Cortex-M3](freertos-services.md): services that only another
configuration or board has, and those whose parameters or worst state differ there. All others are
driven in the same states everywhere; their figures are on the pages of
[a Cortex-M4](freertos-figures-mps2-an386.md), [RV32IMC](freertos-figures-virt.md),
[Armv4T](freertos-figures-versatilepb.md) and [its Thumb
state](freertos-figures-versatilepb-thumb.md), and the [matrix](freertos-matrix.md) counts them.
Columns as there.

Then `basic`, and what is other with [one thing decided
otherwise](../../rtos_tests/freertos/README.md), as figures; what that means in time is
[compared](freertos-compare.md). Then the kernel's heaps: all that takes memory from them or gives
it back, in the configuration `full`. Figures of options and heaps are those of a Cortex-M3.

`make campaign` makes the figures, and `python docs/generate_services.py --more build/campaign`
writes this page from them.
"""

States = dict[str, list[tuple[object, ...]]]
"""By service: in which states it is on the pages."""


def described_of(characterization: Characterization) -> dict[str, list[ServiceCharacterization]]:
    """Parts by the name of their service."""
    parts: dict[str, list[ServiceCharacterization]] = {}
    for service in characterization.services:
        parts.setdefault(whole_of(service.name), []).append(service)
    return parts


def what(service: ServiceCharacterization) -> tuple[object, ...]:
    """What tells whether it is the same service in the same state."""
    return service.parameters, " ".join(service.worst_state.split())


def states_of(characterization: Characterization) -> States:
    return {name: [what(parts[0])] for name, parts in described_of(characterization).items()}


def not_yet(characterization: Characterization, known: States) -> list[str]:
    """Services in states that are not ``known``, which they are from now on."""
    found = []
    for name, parts in described_of(characterization).items():
        if what(parts[0]) not in known.setdefault(name, []):
            known[name].append(what(parts[0]))
            found.append(section(name, parts, ()))
    return found


def of_option(
    cell: str, characterization: Characterization, usual: Characterization, known: States
) -> Iterator[str]:
    """What is decided otherwise in this cell, and which figures are others than usually."""
    settings = [
        f"`{name}` is {value}"
        for name, value in characterization.kernel.configuration.items()
        if usual.kernel.configuration.get(name) != value
    ]
    rows = {service.name: result(service) for service in usual.services}
    others = [s for s in characterization.services if rows.get(s.name) != result(s)]
    yield f"\n## {cell}\n"
    yield f"{', '.join(settings)}. Of {len(rows)} rows these are others than in `basic`:\n"
    yield from table(others)
    yield ""
    yield from not_yet(characterization, known)


def of_heap(
    heap: str,
    base: Characterization,
    cells: Mapping[str, Characterization],
    elsewhere: States,
) -> Iterator[str]:
    """What is said of one heap: figures of the first cell and its services in other states than
    with ``base``, and of the further cells those in states that are nowhere before."""
    known = states_of(base)
    for number, (cell, characterization) in enumerate(cells.items()):
        if number == 0:
            yield f"\n## {cell}\n"
            for assumption in characterization.assumptions:
                if assumption not in base.assumptions:
                    yield f"{sentence(assumption)}\n"
            yield from table(characterization.services)
            yield ""
            yield from not_yet(characterization, known)
            for name, states in elsewhere.items():
                known.setdefault(name, []).extend(states)
        elif found := not_yet(characterization, known):
            yield f"\n## {cell}\n"
            yield from found
    listed = YAML(typ="safe", pure=True).load(SUITE / "stands-for.yaml")
    for group in listed["not with this heap"].get(heap, ()):
        names = ", ".join(f"`{name}`" for name in group["services"])
        yield f"Not characterized with `{heap}`, because {group['because']}: {names}.\n"


def more(
    base: Characterization,
    cells: Mapping[str, Characterization],
    smallest: Characterization,
    options: Mapping[str, Characterization],
    heaps: Mapping[str, Mapping[str, Characterization]],
) -> str:
    """The whole page of other cells; ``heaps``: the cells of each heap."""
    known = states_of(base)
    text = MORE_INTRODUCTION
    for cell, characterization in cells.items():
        if found := not_yet(characterization, known):
            text += f"\n## {cell}\n\n" + "\n".join(found)
    text += f"\n## {SMALLEST}\n\n" + "\n".join(table(smallest.services)) + "\n"
    for cell, characterization in options.items():
        text += "\n".join(of_option(cell, characterization, smallest, known))
    for heap, those in heaps.items():
        text += "\n".join(of_heap(heap, base, those, known))
    return text


def write_more(folder: Path) -> None:
    def made(*cells: str) -> dict[str, Characterization]:
        files = {cell: folder / cell / "characterization.json" for cell in cells}
        return {cell: store.load_characterization(str(file)) for cell, file in files.items()}

    options = made(*(f"{SMALLEST}-{option}" for option in OPTIONS))
    heaps = {heap: made(*(f"{b}+{heap}" for b in (BOARD, *OTHER_BOARDS))) for heap in HEAPS}
    text = more(made(BASE)[BASE], made(*CELLS), made(SMALLEST)[SMALLEST], options, heaps)
    MORE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--more":
        write_more(Path(sys.argv[2]))
        sys.exit()
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    PAGE.write_text(page(store.load_characterization(sys.argv[1])), encoding="utf-8")
