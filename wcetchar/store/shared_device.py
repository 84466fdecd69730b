"""Shared device file: YAML -> phases of a request on a bus that is given in slots."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from wcetchar.errors import InputError, did_you_mean
from wcetchar.model.shared_device import Figure, Phase, SharedDevice
from wcetchar.store.checking import (
    Integer,
    Text,
    YamlModel,
    in_place,
    one_of,
    validate,
)
from wcetchar.store.document import SHARED_DEVICE, read_document
from wcetchar.store.names import shared_device_path
from wcetchar.store.profile import Size
from wcetchar.store.quantity import Dimension, parse_percent, parse_size, parse_time
from wcetchar.store.shapes import percent_schema, quantity_schema, quantity_text
from wcetchar.store.slowdowns import Bandwidth
from wcetchar.store.source import Source, shown

_DATA = "cluster"
_MOST_DEVICES = 100_000


def _moved(value: Any) -> int | str:
    return _DATA if value == _DATA else parse_size(value)


def _share(value: Any) -> Fraction:
    share = parse_percent(value)
    if not 0 < share <= 1:
        raise InputError(
            f"{shown(value)} is not a utilisation", expected="above 0 %, and at most 100 %"
        )
    return share


Duration = Annotated[
    Fraction,
    PlainValidator(in_place(parse_time)),
    quantity_schema(Dimension.TIME, "12 ms", clock=False),
]
Moved = Annotated[
    int | str,
    PlainValidator(in_place(_moved)),
    WithJsonSchema({"anyOf": [{"const": _DATA}, quantity_text(Dimension.SIZE, "512 B")]}),
]
Share = Annotated[
    Fraction,
    PlainValidator(in_place(_share)),
    percent_schema("86 %"),
]


class PhaseDoc(YamlModel):
    """A part of one request: it takes a time, or moves bytes at a rate."""

    name: Text = Field(description="name of the phase")
    bus: Literal["held", "free"] = Field(description="whether others can have the bus meanwhile")
    takes: Duration | None = Field(None, description="at most; of a range the upper end counts")
    moves: Moved | None = Field(None, description="`cluster` (the data of the request), or a size")
    at: Bandwidth | None = Field(None, description="at which it moves; the bus's own if not said")
    for_each: Size | None = Field(
        None, description="so often as pieces of this size make up the cluster; once if not said"
    )


class FigureDoc(YamlModel):
    """What is said of the device elsewhere, and is held against what its phases come to."""

    cluster: Size = Field(description="of the requests it is said of")
    guaranteed: Bandwidth | None = Field(None, description="of the bus")
    utilisation: Share | None = Field(None, description="of the bus, by data")
    devices: Annotated[Integer, Field(ge=1, le=_MOST_DEVICES)] | None = Field(
        None, description="that saturate the bus"
    )
    note: Text = Field("", description="how it was found")


class SharedDeviceDoc(YamlModel):
    """Devices on a bus that is given to them in slots of time."""

    schema_: Literal["wcetchar/shared-device/1"] = Field(
        alias="schema", description="what the file is, and the version of its form"
    )
    source: Text = Field(description="where the figures are from")
    bandwidth: Bandwidth = Field(description="of the bus")
    clusters: list[Size] = Field(description="sizes of a request's data")
    phases: list[PhaseDoc] = Field(description="of one request, in order")
    devices: dict[Text, dict[Text, Duration]] = Field(
        default_factory=dict,
        description="devices that differ: how long each is in phases without the bus",
    )
    figures: list[FigureDoc] = Field(
        default_factory=list, description="said of it elsewhere, to be held against"
    )


def load_shared_device(name_or_path: str) -> SharedDevice:
    """Read a shared device by shipped name (``schoenberg-restricted``) or by path.

    Raises:
        InputError: no such file, or mistakes in it; all of them at once as ``InputErrors``.
    """
    source = read_document(shared_device_path(name_or_path), SHARED_DEVICE)
    document = validate(SharedDeviceDoc, source)
    if document is not None:
        _check(document, source)
    source.fail_on_mistakes()
    assert document is not None
    return SharedDevice(
        document.source,
        document.bandwidth,
        tuple(dict.fromkeys(document.clusters)),
        tuple(_phase(one, document.bandwidth) for one in document.phases),
        {name: dict(times) for name, times in document.devices.items()},
        tuple(
            Figure(one.cluster, one.guaranteed, one.utilisation, one.devices, one.note)
            for one in document.figures
        ),
    )


def _phase(one: PhaseDoc, bandwidth: Fraction) -> Phase:
    return Phase(
        one.name,
        one.bus == "held",
        one.takes or Fraction(0),
        one.moves if isinstance(one.moves, int) else 0,
        one.moves == _DATA,
        (one.at or bandwidth) if one.moves is not None else Fraction(0),
        one.for_each,
    )


def _check(document: SharedDeviceDoc, source: Source) -> None:
    if not document.clusters:
        source.report(("clusters",), "there is no size of a cluster", expected="at least one")
    data = [number for number, one in enumerate(document.phases) if one.moves == _DATA]
    if not data:
        source.report(
            ("phases",),
            "no phase transfers the data of the request",
            expected="one phase with `moves: cluster`",
        )
    for number in data[1:]:
        first = shown(document.phases[data[0]].name)
        source.report(
            ("phases", number, "moves"),
            f"{first} moves the data already",
            expected="one phase with `moves: cluster`",
            hint="with `for each: 64 KiB` another phase is repeated within the data",
            key=True,
        )
    for number, one in enumerate(document.phases):
        _check_phase(document, one, ("phases", number), source)
    _check_free(document, source)
    _check_devices(document, source)
    for number, figure in enumerate(document.figures):
        said = (figure.guaranteed, figure.utilisation, figure.devices)
        if sum(one is not None for one in said) != 1:
            source.report(
                ("figures", number),
                "does not say one thing",
                expected="one of `guaranteed`, `utilisation` and `devices`",
            )
        if figure.guaranteed is not None and figure.guaranteed > document.bandwidth:
            source.report(
                ("figures", number, "guaranteed"),
                "more than the bus has",
                expected="at most its `bandwidth`",
            )


def _check_phase(
    document: SharedDeviceDoc, one: PhaseDoc, steps: tuple[str, int], source: Source
) -> None:
    if (one.takes is None) == (one.moves is None):
        neither = one.takes is None
        source.report(
            steps,
            f"{shown(one.name)} says neither how long it takes nor what it moves"
            if neither
            else f"{shown(one.name)} says both how long it takes and what it moves",
            expected="either `takes` or `moves`",
        )
    if one.moves is None and one.at is not None:
        source.report((*steps, "at"), "nothing is moved", expected="`moves` beside it", key=True)
    if one.moves is not None and one.bus == "free":
        source.report(
            (*steps, "bus"), "what is moved goes over the bus", expected="`held` where it moves"
        )
    if one.moves == _DATA and one.for_each is not None:
        source.report(
            (*steps, "for each"),
            "the data are moved once",
            expected="`for each` at phases that are repeated within them",
            key=True,
        )
    if one.at is not None and one.at > document.bandwidth:
        source.report((*steps, "at"), "faster than the bus", expected="at most its `bandwidth`")


def _check_free(document: SharedDeviceDoc, source: Source) -> None:
    """The phases without the bus follow one another, the first phase the last one."""
    phases = document.phases
    begins = [
        number
        for number, one in enumerate(phases)
        if one.bus == "free" and phases[number - 1].bus == "held"
    ]
    for number in begins[1:]:
        source.report(
            ("phases", number, "bus"),
            "the bus is free a second time in one request",
            expected="phases without the bus that follow one another",
            hint="say `held` where the device comes back for more data: its slot is its own",
        )


def _check_devices(document: SharedDeviceDoc, source: Source) -> None:
    free = [one.name for one in document.phases if one.bus == "free"]
    for device, times in document.devices.items():
        for name in times:
            if name not in free:
                source.report(
                    ("devices", device, name),
                    f"{shown(name)} is no phase without the bus",
                    expected=one_of(free),
                    hint=did_you_mean(name, free),
                    key=True,
                )
