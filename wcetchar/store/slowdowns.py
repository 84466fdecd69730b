"""Slowdowns file: YAML -> how much longer applications took while others used their bus."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator

from wcetchar.errors import InputError
from wcetchar.model.slowdown import Application, MeasuredSlowdowns
from wcetchar.store.checking import Boolean, Text, YamlModel, in_place, mapping_at, validate
from wcetchar.store.document import SLOWDOWNS, read_document
from wcetchar.store.measured import MeasuredTime
from wcetchar.store.names import slowdowns_path
from wcetchar.store.quantity import Dimension, parse_bandwidth
from wcetchar.store.shapes import factor_schema, quantity_schema
from wcetchar.store.source import PlainInt, Source, shown


def _factor(value: Any) -> Fraction:
    text = value.text if isinstance(value, PlainInt) else value
    if not isinstance(text, str) or not re.fullmatch(r"[1-9][0-9]{0,8}(\.[0-9]{1,9})?", text):
        raise InputError(
            f"{shown(value)} is not a slowdown factor",
            expected="loaded over alone, such as `1.22`; 1 or more, for nothing gets faster",
        )
    return Fraction(text)


Factor = Annotated[
    Fraction,
    PlainValidator(in_place(_factor)),
    factor_schema(1.22),
]
Bandwidth = Annotated[
    Fraction,
    PlainValidator(in_place(parse_bandwidth)),
    quantity_schema(Dimension.BANDWIDTH, "36 MB/s"),
]


class ApplicationDoc(YamlModel):
    """What was measured of one application: a factor, or the two times that make it."""

    slowdown: Factor | None = Field(None, description="F_sd, where the times are not known")
    alone: MeasuredTime | None = Field(None, description="its time while nobody else has the bus")
    loaded: MeasuredTime | None = Field(None, description="its time under load")
    also_said: list[Factor] = Field(
        default_factory=list, description="other factors that the same source gives"
    )
    only_bus_time: Boolean = Field(
        False, description="all of its time is bus time: it shows what others take of the bus"
    )
    about: Text = Field("", description="what it is")


class SlowdownsDoc(YamlModel):
    """How much longer applications took while other masters used their bus."""

    schema_: Literal["wcetchar/slowdowns/1"] = Field(
        alias="schema", description="what the file is, and the version of its form"
    )
    source: Text = Field(description="where they were published, or how they were measured")
    load: Bandwidth | None = Field(None, description="that other masters had meanwhile")
    bandwidths: dict[Text, Bandwidth] = Field(
        default_factory=dict, description="of one user that has the bus alone, by what it does"
    )
    applications: dict[Text, ApplicationDoc] = Field(description="by name")


def load_slowdowns(name_or_path: str) -> MeasuredSlowdowns:
    """Read slowdowns by shipped name (``schoenberg``) or by path.

    Raises:
        InputError: no such file, or mistakes in it; all of them at once as ``InputErrors``.
    """
    source = read_document(slowdowns_path(name_or_path), SLOWDOWNS)
    document = validate(SlowdownsDoc, source, (_check_any,))
    if document is not None:
        _check_times(document, source)
    source.fail_on_mistakes()
    assert document is not None
    return MeasuredSlowdowns(
        document.source,
        tuple(_application(name, one) for name, one in document.applications.items()),
        document.load,
        dict(document.bandwidths),
    )


def _application(name: str, one: ApplicationDoc) -> Application:
    factor = one.slowdown
    if factor is None:
        assert one.alone is not None
        assert one.loaded is not None
        factor = one.loaded / one.alone
    also = tuple(one.also_said)
    return Application(name, factor, one.alone, one.loaded, also, one.only_bus_time, one.about)


def _check_any(source: Source) -> None:
    data = source.data
    if isinstance(data, dict) and data.get("applications") == {}:
        source.report(("applications",), "there is no application", expected="at least one")
    marked = [
        name
        for name, one in mapping_at(data, "applications").items()
        if isinstance(one, dict) and one.get("only bus time") is True
    ]
    for name in marked[1:]:
        source.report(
            ("applications", name, "only bus time"),
            f"{shown(marked[0])} is said to be nothing but bus time already",
            expected="one application, the one that is slowed down most",
            key=True,
        )


def _check_times(document: SlowdownsDoc, source: Source) -> None:
    for name, one in document.applications.items():
        steps = ("applications", name)
        times = [time for time in (one.alone, one.loaded) if time is not None]
        if len(times) != (2 if one.slowdown is None else 0):
            source.report(
                steps,
                "there must be a factor or two times",
                expected="`slowdown`, or `alone` and `loaded`",
            )
        elif times and times[0] <= 0:
            source.report((*steps, "alone"), "no time", expected="a time above zero")
        elif times and times[1] < times[0]:
            source.report(
                (*steps, "loaded"),
                "less than it takes alone",
                expected="as long as `alone`, or longer: nothing gets faster under load",
                hint="of each, give the longest of many runs",
            )
        elif one.only_bus_time and _application(name, one).factor == 1:
            source.report(
                (*steps, "only bus time"),
                "bus time that is not slowed down shows no load",
                expected="an application that is slowed down",
                key=True,
            )
