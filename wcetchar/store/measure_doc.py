"""Document of a measure file: what is to be measured how well, and what is expected."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Final, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from wcetchar.errors import InputError
from wcetchar.model.measuring import Accuracy
from wcetchar.store.checking import Integer, Text, YamlModel, in_place
from wcetchar.store.profile import Frequency, Size, Time
from wcetchar.store.quantity import Dimension, parse_percent, parse_time
from wcetchar.store.section_map import Value
from wcetchar.store.shapes import percent_text, quantity_schema, quantity_text
from wcetchar.store.source import shown

FORMS: Final = {
    "hardware": "parts",
    "software": "parts",
    "each": "parts",
    "steps": "steps",
    "instruction": "activities",
    "memory access": "activities",
    "activities": "activities",
    "estimate": "estimate",
}
"""Keys of an expectation -> the form that they belong to."""


def _accuracy(value: Any) -> Accuracy:
    is_share = isinstance(value, str) and value.strip().endswith("%")
    accuracy = (
        Accuracy(share=parse_percent(value)) if is_share else Accuracy(time=parse_time(value))
    )
    if not accuracy.of(Fraction(1)):
        raise InputError(
            f"{shown(value)} cannot be reached", expected="more than nothing: `10 %`, `50 ns`"
        )
    return accuracy


NeededAccuracy = Annotated[
    Accuracy,
    PlainValidator(in_place(_accuracy)),
    WithJsonSchema(
        {
            "anyOf": [
                percent_text("10 %"),
                quantity_text(Dimension.TIME, "50 ns", clock=False),
            ]
        }
    ),
]


def _not_nothing(value: Any) -> Fraction:
    found = parse_time(value)
    if not found:
        raise InputError(f"{shown(value)} is no average of times", expected="more than nothing")
    return found


ReportedTime = Annotated[
    Fraction,
    PlainValidator(in_place(parse_time)),
    quantity_schema(Dimension.TIME, "115 us", clock=False),
]
Average = Annotated[
    Fraction,
    PlainValidator(in_place(_not_nothing)),
    quantity_schema(Dimension.TIME, "115 us", clock=False),
]
Resolution = Annotated[
    Fraction,
    PlainValidator(in_place(parse_time)),
    quantity_schema(Dimension.TIME, "42 ns", clock=False),
]
Interruption = Annotated[
    Fraction,
    PlainValidator(in_place(parse_time)),
    quantity_schema(Dimension.TIME, "20 us", clock=False),
]
Repetitions = Annotated[Integer, Field(ge=1, le=1_000_000)]
Calls = Annotated[Integer, Field(ge=1, le=100_000_000)]
Count = Annotated[Integer, Field(ge=0, le=1_000_000_000)]
Parameter = Annotated[Integer, Field(ge=0, le=(1 << 63) - 1)]


class ActivityDoc(YamlModel):
    """What one part of the operation does."""

    instructions: Count = Field(description="that it executes")
    memory_accesses: Count = Field(0, description="that it makes")


class StepDoc(YamlModel):
    """What is expected up to a value of the parameter."""

    up_to: Size | Parameter | None = Field(
        None, description="value of the parameter; a step without it is for all that are left"
    )
    hardware: Time = Field(description="what the hardware takes")
    software: Time | None = Field(None, description="what the software adds")


class EstimateDoc(YamlModel):
    """A service of a characterization, priced as `wcetchar estimate` does."""

    characterization: Text = Field(description="a shipped name or a path")
    service: Text = Field(description="the service that a call is")
    profile: Text = Field(description="hardware profile: a shipped name or a path")
    map: Text | None = Field(None, description="section map; the profile's own if absent")
    parameters: dict[Text, Value] = Field(
        default_factory=dict, description="values of the parameters of the service"
    )
    parameter: Text | None = Field(
        None, description="of the service: the one that has the value of the operation's parameter"
    )


class ExpectedDoc(YamlModel):
    """What one call takes, from a model, before anything is measured."""

    why: Text = Field("", description="where the figures come from")
    hardware: Time | None = Field(None, description="what the hardware takes")
    software: Time | None = Field(None, description="what the software adds")
    each: Time | None = Field(None, description="what each unit of the parameter adds to software")
    steps: list[StepDoc] | None = Field(
        None, min_length=1, description="what is expected from step to step of the parameter"
    )
    instruction: Time | None = Field(None, description="what an instruction takes")
    memory_access: Time | None = Field(None, description="what an access to memory takes")
    activities: dict[Text, ActivityDoc] | None = Field(
        None, min_length=1, description="parts of the operation, by name, as counts"
    )
    estimate: EstimateDoc | None = Field(
        None, description="a service of a characterization that is priced instead"
    )
    margin: Time | None = Field(None, description="for what is not known; `0..360 ns`")


class ReportedDoc(YamlModel):
    """What others say that they measured."""

    average: Average = Field(description="mean of the runs")
    deviation: ReportedTime | None = Field(None, description="standard deviation of the runs")
    repetitions: Annotated[Integer, Field(ge=1, le=1_000_000_000_000)] | None = Field(
        None, description="runs that the average is of"
    )
    why: Text = Field("", description="where it stands, and what it is taken for")


class OperationDoc(YamlModel):
    """What is measured, at each value of its parameter."""

    parameters: list[Parameter] | None = Field(
        None, min_length=1, description="values of the parameter that is measured at"
    )
    sizes: list[Size] | None = Field(None, min_length=1, description="a parameter in bytes")
    accuracy: NeededAccuracy | None = Field(None, description="in the place of the plan's")
    repetitions: Repetitions | None = Field(None, description="in the place of the plan's")
    calls: Calls = Field(1, description="in each reading, for what is short beside the clock")
    interruption: Interruption | None = Field(None, description="in the place of the plan's")
    expected: ExpectedDoc | None = Field(None, description="what one call takes, from a model")
    reported: ReportedDoc | None = Field(
        None, description="what others measured, held against `expected` by `measure expect`"
    )


class MeasureDoc(YamlModel):
    """What is to be measured, how well, and what is expected."""

    schema_: Literal["wcetchar/measure/1"] = Field(
        alias="schema", description="what the file is, and the version of its form"
    )
    question: Text = Field(description="what the result is needed for")
    circumstances: Text = Field(description="what else goes on, and what the caches hold")
    accuracy: NeededAccuracy = Field(description="what the question needs")
    repetitions: Repetitions = Field(1000, description="of each operation, at least")
    interruption: Interruption = Field(
        Fraction(0),
        description="what a reading may take beside, because of what interrupts it",
    )
    clock: Frequency | None = Field(None, description="of the cycles in expectations")
    resolution: Resolution = Field(
        Fraction(0), description="of the clock that measures, where it is known to be no finer"
    )
    operations: dict[Text, OperationDoc] = Field(
        min_length=1, description="what is measured, by name"
    )
