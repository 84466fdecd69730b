"""Budget file: YAML -> what the services of a kernel may take, and by how much they may grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, PlainValidator

from wcetchar.errors import Location
from wcetchar.model.budget import Budget, Budgets, Figure
from wcetchar.model.characterization import Word
from wcetchar.store.checking import Boolean, NamedText, Text, YamlModel, in_place, list_at, validate
from wcetchar.store.document import BUDGET, read_document
from wcetchar.store.names import beside
from wcetchar.store.quantity import Dimension, parse_percent, parse_quantity, parse_time
from wcetchar.store.section_map import Value
from wcetchar.store.shapes import percent_schema, quantity_schema
from wcetchar.store.source import Source

FIGURES: Final = tuple(figure.value for figure in Figure)
_GROWTH: Final = "may grow"


def parse_budget(value: Any) -> Fraction:
    """Text of a time -> nanoseconds; of one with a tolerance the lower end, which is safe.

    Raises:
        InputError: it is no time, or in cycles; without a place.
    """
    parse_time(value)
    return parse_quantity(value, Dimension.TIME).low


AtMost = Annotated[
    Fraction,
    PlainValidator(in_place(parse_budget)),
    quantity_schema(Dimension.TIME, "40 us", clock=False),
]
Share = Annotated[
    Fraction,
    PlainValidator(in_place(parse_percent)),
    percent_schema("5 %"),
]


class BudgetDoc(YamlModel):
    """What a service, or those whose names have a pattern, may take."""

    service: NamedText = Field(
        description="its name; of a call in parts, all of them; or a pattern: `*` stands for any "
        "characters, `?` for one"
    )
    but: list[NamedText] = Field([], description="names that the pattern does not mean")
    total: AtMost | None = Field(None, description="the time that it takes")
    interrupts: AtMost | None = Field(None, description="how long it holds interrupts off")
    preemption: AtMost | None = Field(None, description="how long it holds other tasks off")
    set: dict[Text, Value] = Field({}, description="values of its parameters")
    maximum: Boolean | None = Field(None, description="in the place of the file's")
    may_grow: Share | None = Field(
        None, description="in the place of the file's; of one name, of what patterns say of it"
    )
    word: Word | None = Field(None, description="in the place of the file's")


class BudgetsDoc(YamlModel):
    """Budgets of the services of a kernel on one hardware."""

    schema_: Literal["wcetchar/budget/1"] = Field(
        alias="schema", description="what the file is, and the version of its form"
    )
    description: Text = Field("", description="what the budgets are for, in words")
    profile: Text | None = Field(None, description="hardware: name, or path from this folder")
    map: Text | None = Field(None, description="section map: name, or path from there")
    set: dict[Text, Value] = Field(
        {}, description="values of parameters, of all services that have them"
    )
    maximum: Boolean = Field(
        False, description="search parameters without a value for the largest figure"
    )
    baseline: Text | None = Field(
        None, description="an earlier characterization: name, or path from there"
    )
    may_grow: Share | None = Field(None, description="against the baseline, all three figures")
    word: Word = Field(
        Word.ESTIMATE, description="the weakest that passes, of figures with a budget"
    )
    budgets: list[BudgetDoc] = Field(
        min_length=1, description="what each service, or those of a pattern, may take"
    )


def load_budgets(path: str) -> Budgets:
    """Read a budget file.

    Raises:
        InputError: no such file, or mistakes in it; all of them at once as ``InputErrors``.
    """
    source = read_document(path, BUDGET)
    document = validate(BudgetsDoc, source, (_check_said,))
    source.fail_on_mistakes()
    assert document is not None
    folder = Path(path).parent
    return Budgets(
        path,
        tuple(_budget(source, document, number) for number in range(len(document.budgets))),
        beside(folder, document.profile),
        beside(folder, document.map),
        beside(folder, document.baseline),
        dict(document.set),
        document.may_grow,
        _places(source, (), ("profile", "map", "baseline", _GROWTH), document.set),
    )


def _budget(source: Source, document: BudgetsDoc, number: int) -> Budget:
    one = document.budgets[number]
    given = {figure: getattr(one, figure.value) for figure in Figure}
    steps = ("budgets", number)
    keys = ("service", *FIGURES, _GROWTH, "word")
    places = _places(source, steps, keys, one.set)
    places |= {f"but {name}": source.where((*steps, "but", n)) for n, name in enumerate(one.but)}
    return Budget(
        one.service,
        {figure: time for figure, time in given.items() if time is not None},
        dict(one.set),
        document.maximum if one.maximum is None else one.maximum,
        one.may_grow,
        one.word or document.word,
        tuple(one.but),
        places,
    )


def _places(
    source: Source, steps: tuple[str | int, ...], keys: Sequence[str], values: Mapping[str, int]
) -> dict[str, Location]:
    """Of the node at ``steps`` as "", of those keys that it has, and of values as "set NAME"."""
    node: Any = source.data
    for step in steps:
        node = node[step]
    found = {"": source.where(steps)}
    found |= {key: source.where((*steps, key)) for key in keys if key in node}
    return found | {f"set {name}": source.where((*steps, "set", name)) for name in values}


def _check_said(source: Source) -> None:
    """Each budget says something, and of what it can be said."""
    data = source.data if isinstance(source.data, dict) else {}
    for number, one in enumerate(list_at(data, "budgets")):
        if not isinstance(one, dict):
            continue
        steps = ("budgets", number)
        has_figure = any(figure in one for figure in FIGURES)
        if not has_figure and _GROWTH not in one and _GROWTH not in data:
            source.report(
                steps,
                "this budget permits everything",
                expected=f"one of {', '.join(FIGURES)}, or `{_GROWTH}`",
                hint="say what it may take: `total: 40 us`",
            )
        if "word" in one and not has_figure:
            source.report(
                (*steps, "word"),
                "a word is asked of figures that have a budget, and here is none",
                expected=f"one of {', '.join(FIGURES)} beside it",
                key=True,
            )
        name = one.get("service")
        if "but" in one and isinstance(name, str) and "*" not in name and "?" not in name:
            source.report(
                (*steps, "but"),
                "names are left out of a pattern, and the service is one name",
                expected="a pattern with `*` or `?`",
                key=True,
            )
