"""Campaign file: YAML -> :class:`wcetchar.model.campaign.Campaign`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from wcetchar.errors import InputError, Location, did_you_mean
from wcetchar.model.campaign import (
    MAX_CELLS,
    MAX_RUNS,
    RESERVED,
    Axis,
    Build,
    Campaign,
    Further,
    Selection,
    placeholders,
)
from wcetchar.store.checking import (
    Boolean,
    Integer,
    Text,
    YamlModel,
    in_place,
    list_at,
    mapping_at,
    one_of,
    validate,
)
from wcetchar.store.document import CAMPAIGN, read_document
from wcetchar.store.services import read_range
from wcetchar.store.source import PlainInt, Source, Steps, places_of, shown

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_VALUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def _choice(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    texts = [item.text if isinstance(item, PlainInt) else item for item in items]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise InputError(
            f"{shown(value)} is no value of an axis", expected="a value, or a list of values"
        )
    return tuple(texts)


Choice = Annotated[
    tuple[str, ...],
    PlainValidator(in_place(_choice)),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": ["string", "number"]},
                {"type": "array", "items": {"type": ["string", "number"]}, "minItems": 1},
            ]
        }
    ),
]


def _swept(value: Any) -> tuple[int, ...]:
    if isinstance(value, str):
        low, high = read_range(value)
        if high - low >= MAX_RUNS:
            raise InputError(f"{shown(value)} is too long", expected=f"at most {MAX_RUNS} values")
        return tuple(range(low, high + 1))
    items = value if isinstance(value, list) else [value]
    if not items or not all(isinstance(item, PlainInt) for item in items):
        raise InputError(
            f"{shown(value)} gives no values",
            expected="a range such as `1..16`, or a list of whole numbers",
        )
    numbers = tuple(int(item) for item in items)
    if len(set(numbers)) < len(numbers):
        raise InputError("a value stands there twice", expected="each value once")
    return numbers


Swept = Annotated[
    tuple[int, ...],
    PlainValidator(in_place(_swept)),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": ["string", "integer"]},
                {"type": "array", "items": {"type": "integer"}, "minItems": 1},
            ]
        }
    ),
]
Seconds = Annotated[Integer, Field(ge=1, le=7 * 24 * 3600)]


class BuildDoc(YamlModel):
    """What makes the firmware of a cell. No shell reads the command."""

    command: Annotated[list[Text], Field(min_length=1)] = Field(description="program and arguments")
    directory: Text = Field(default=".", description="where it runs")
    environment: dict[Text, Text] = Field(
        default_factory=dict, description="variables beside those that wcetchar itself was given"
    )
    needs: dict[Text, Text] = Field(
        default_factory=dict,
        description="environment variables that the user has to set, with what for",
    )
    timeout: Seconds = Field(default=3600, description="in seconds")


class CaptureDoc(YamlModel):
    """How the firmware is run."""

    leave_out: list[Text] = Field(
        default_factory=list, description="functions or 0xSTART-0xEND that are not recorded"
    )
    initialize: dict[Text, Text] = Field(
        default_factory=dict, description="variable of the firmware to what it holds at the start"
    )
    until: Text | None = Field(
        default=None, description="FUNCTION or FUNCTION:TIMES, where the run ends"
    )
    marked: Boolean = Field(default=False, description="record only what lies between marks")
    timeout: Seconds = Field(default=600, description="in seconds of real time")


class FurtherDoc(YamlModel):
    """Services files that only some cells have."""

    files: Annotated[list[Text], Field(min_length=1)] = Field(description="services files")
    cells: dict[Text, Choice] = Field(description="axis to its value or values")


class CampaignDoc(YamlModel):
    """A matrix of firmware to characterize."""

    schema_: Literal["wcetchar/campaign/1"] = Field(
        alias="schema", description="what the file is, and the version of its form"
    )
    name: Text = Field(description="name of the campaign")
    description: Text = Field("", description="what the campaign is for, in words")
    axes: Annotated[
        dict[Text, Annotated[dict[Text, dict[Text, Text]], Field(min_length=1)]],
        Field(min_length=1),
    ] = Field(description="axis to its values, each with the variables that it defines")
    variables: dict[Text, Text] = Field(default_factory=dict, description="defaults")
    include: list[dict[Text, Choice]] = Field(
        default_factory=list, description="only cells that one of these matches"
    )
    exclude: list[dict[Text, Choice]] = Field(
        default_factory=list, description="no cell that one of these matches"
    )
    build: BuildDoc | None = Field(
        None, description="what makes the firmware of a cell; without it, it is there already"
    )
    firmware: Text = Field(description="the ELF file")
    services: Annotated[list[Text], Field(min_length=1)] = Field(description="services files")
    further_services: list[FurtherDoc] = Field(
        default_factory=list, description="services files that only some cells have"
    )
    machine: Text = Field(description="emulated board")
    capture: CaptureDoc = Field(
        default_factory=CaptureDoc, description="how the firmware is run, and what is recorded"
    )
    sweep: dict[Text, Swept] = Field(
        default_factory=dict,
        description="name to its values, such as `1..16` or `[1, 2, 4]`: each combination is a "
        "run of the cell's firmware",
    )
    set_: dict[Text, Text] = Field(
        default_factory=dict,
        alias="set",
        description="NAME or SERVICE.NAME to the value of a parameter of services without marks",
    )
    partial: Boolean = Field(
        default=False,
        description="services that the firmware does not call are listed, not refused",
    )

    def to_model(self, path: str, places: Mapping[Steps, Location]) -> Campaign:
        return Campaign(
            path=path,
            name=self.name,
            description=self.description,
            axes=tuple(
                Axis(name, {v: dict(found) for v, found in values.items()})
                for name, values in self.axes.items()
            ),
            variables=dict(self.variables),
            include=tuple(_selection(entry) for entry in self.include),
            exclude=tuple(_selection(entry) for entry in self.exclude),
            build=Build(
                tuple(self.build.command),
                self.build.directory,
                dict(self.build.environment),
                self.build.timeout,
                dict(self.build.needs),
            )
            if self.build
            else None,
            firmware=self.firmware,
            services=tuple(self.services),
            further=tuple(
                Further(tuple(one.files), _selection(one.cells)) for one in self.further_services
            ),
            machine=self.machine,
            leave_out=tuple(self.capture.leave_out),
            until=self.capture.until,
            marked=self.capture.marked,
            values=dict(self.set_),
            sweep=dict(self.sweep),
            initial=dict(self.capture.initialize),
            partial=self.partial,
            timeout=self.capture.timeout,
            places=places,
        )


def _selection(entry: Mapping[str, tuple[str, ...]]) -> Selection:
    return Selection({axis: frozenset(values) for axis, values in entry.items()})


def load_campaign(path: str) -> Campaign:
    """Read a campaign file.

    Raises:
        InputError: no such file, or mistakes in it; all of them at once as ``InputErrors``.
    """
    source = read_document(path, CAMPAIGN)
    document = validate(CampaignDoc, source, _CHECKS)
    if document is not None:
        campaign = document.to_model(path, {})
        _check_cells(source, campaign)
        _check_runs(source, campaign)
    source.fail_on_mistakes()
    assert document is not None
    return document.to_model(path, places_of(source))


def _axes(source: Source) -> dict[str, dict[str, Any]]:
    """Axes that can be read, with what can be read of them."""
    return {
        name: values
        for name, values in mapping_at(source.data, "axes").items()
        if isinstance(values, dict)
    }


def _definitions(source: Source) -> Iterator[tuple[str, Steps]]:
    """Every name that is defined, once for each place."""
    for axis, values in _axes(source).items():
        yield axis, ("axes", axis)
        for value, variables in values.items():
            for name in variables if isinstance(variables, dict) else ():
                yield name, ("axes", axis, value, name)
    for name in mapping_at(source.data, "variables"):
        yield name, ("variables", name)


def _check_names(source: Source) -> None:
    axes = _axes(source)
    owners: dict[str, str] = {}
    for name, steps in _definitions(source):
        if not _NAME.fullmatch(name):
            source.report(
                steps, f"{shown(name)} cannot be a name", expected="letters, digits and _", key=True
            )
        elif name in RESERVED:
            source.report(
                steps,
                f"{shown(name)} stands for the {RESERVED[name]}",
                expected="another name",
                key=True,
            )
        elif len(steps) != 2 or steps[0] != "axes":
            if name in axes:
                source.report(steps, f"{shown(name)} is an axis", expected="another name", key=True)
            elif len(steps) == 4 and owners.setdefault(name, str(steps[1])) != steps[1]:
                source.report(
                    steps,
                    f"{shown(name)} is also defined by the axis {shown(owners[name])}",
                    expected="each variable defined by one axis",
                    key=True,
                )
    for axis, values in axes.items():
        for value in values:
            if not _VALUE.fullmatch(value):
                source.report(
                    ("axes", axis, value),
                    f"{shown(value)} cannot name a value: it becomes part of a folder's name",
                    expected="a letter or digit, then letters, digits, `_`, `.` and `-`",
                    key=True,
                )


def _check_sweep(source: Source) -> None:
    """Its names are names of their own, and every one is used: else its runs would all be the
    same."""
    sweep = mapping_at(source.data, "sweep")
    others = {**dict(_definitions(source)), **dict.fromkeys(RESERVED)}
    used = {
        name for steps, text in _texts(source) if _in_each_run(steps) for name in placeholders(text)
    }
    for name in sweep:
        if not _NAME.fullmatch(name):
            problem, expected = f"{shown(name)} cannot be a name", "letters, digits and _"
        elif name in others:
            problem, expected = f"{shown(name)} is defined already", "a name of its own"
        elif name not in used:
            problem = f"{shown('{' + name + '}')} is used nowhere"
            expected = (
                "a placeholder under `capture: initialize:`, and where a service has no "
                "marks under `set:`"
            )
        else:
            continue
        source.report(("sweep", name), problem, expected=expected, key=True)


def _in_each_run(steps: Steps) -> bool:
    """A text that each run of a cell has with values of its own."""
    return steps[:2] == ("capture", "initialize") or steps[0] == "set"


def _check_complete(source: Source) -> None:
    """A variable of an axis has a value in each of its cells."""
    defaults = mapping_at(source.data, "variables")
    for axis, values in _axes(source).items():
        read = {v: found for v, found in values.items() if isinstance(found, dict)}
        names = dict.fromkeys(name for found in read.values() for name in found)
        for value, found in read.items():
            for name in names:
                if name not in found and name not in defaults:
                    source.report(
                        ("axes", axis, value),
                        f"{shown(value)} does not define {shown(name)}, as other values of "
                        f"{shown(axis)} do",
                        expected="the same variables for every value of an axis",
                        hint=f"define it here, or give a default under `variables:` for {name}",
                        key=True,
                    )


def _texts(source: Source) -> Iterator[tuple[Steps, str]]:
    """Every text that may hold placeholders."""
    data = source.data
    found: list[tuple[Steps, Any]] = [
        (("firmware",), mapping_at(data).get("firmware")),
        (("machine",), mapping_at(data).get("machine")),
        (("build", "directory"), mapping_at(data, "build").get("directory")),
        (("capture", "until"), mapping_at(data, "capture").get("until")),
    ]
    for steps in (("services",), ("build", "command"), ("capture", "leave out")):
        found += [((*steps, i), item) for i, item in enumerate(list_at(data, *steps))]
    for number, one in enumerate(list_at(data, "further services")):
        files: Steps = ("further services", number, "files")
        found += [((*files, i), item) for i, item in enumerate(list_at({"": one}, "", "files"))]
    for keys in (("build", "environment"), ("capture", "initialize"), ("set",)):
        found += [((*keys, key), text) for key, text in mapping_at(data, *keys).items()]
    yield from ((steps, text) for steps, text in found if isinstance(text, str))


def _check_placeholders(source: Source) -> None:
    of_cell = list(dict.fromkeys([*(name for name, _ in _definitions(source)), *RESERVED]))
    sweep = mapping_at(source.data, "sweep")
    for steps, text in _texts(source):
        known = [*of_cell, *sweep] if _in_each_run(steps) else of_cell
        for name in placeholders(text):
            if name in ("{", "}"):
                source.report(
                    steps,
                    f"a brace in {shown(text)} belongs to no placeholder",
                    expected="`{name}`, or `{{` and `}}` for braces",
                )
            elif name not in known:
                source.report(
                    steps,
                    f"the placeholder {shown('{' + name + '}')} is not defined",
                    expected=one_of(known),
                    hint="the sweep's values are the runs', which one firmware has several of: "
                    "`capture: initialize:` and `set:` may use them"
                    if name in sweep
                    else did_you_mean(name, known),
                )


def _check_selections(source: Source) -> None:
    axes = _axes(source)
    entries: list[tuple[Steps, Any]] = [
        ((key, number), entry)
        for key in ("include", "exclude")
        for number, entry in enumerate(list_at(source.data, key))
    ]
    entries += [
        (("further services", number, "cells"), mapping_at({"": one}, "").get("cells"))
        for number, one in enumerate(list_at(source.data, "further services"))
    ]
    for at, entry in entries:
        if isinstance(entry, dict):
            if not entry:
                source.report(at, "this names no axis", expected="`axis: value`")
            for axis, wanted in entry.items():
                if axis not in axes:
                    source.report(
                        (*at, axis),
                        f"{shown(axis)} is no axis",
                        expected=one_of(axes),
                        hint=did_you_mean(axis, axes),
                        key=True,
                    )
                    continue
                for steps, value in _chosen((*at, axis), wanted):
                    if value not in axes[axis]:
                        source.report(
                            steps,
                            f"{shown(value)} is no value of the axis {shown(axis)}",
                            expected=one_of(axes[axis]),
                            hint=did_you_mean(value, axes[axis]),
                        )


def _chosen(steps: Steps, wanted: Any) -> Iterable[tuple[Steps, str]]:
    items = enumerate(wanted) if isinstance(wanted, list) else [(None, wanted)]
    for index, item in items:
        value = item.text if isinstance(item, PlainInt) else item
        if isinstance(value, str):
            yield (steps if index is None else (*steps, index)), value


def _check_size(source: Source) -> None:
    size = math.prod(len(values) for values in _axes(source).values())
    if size > MAX_CELLS:
        source.report(
            ("axes",),
            f"the axes span {size} combinations",
            expected=f"at most {MAX_CELLS}",
            hint="split the campaign",
            key=True,
        )
        source.unreadable.add(("axes",))


def _check_runs(source: Source, campaign: Campaign) -> None:
    runs = math.prod(len(values) for values in campaign.sweep.values())
    if runs > MAX_RUNS:
        source.report(
            ("sweep",),
            f"the sweep spans {runs} runs",
            expected=f"at most {MAX_RUNS}",
            hint="leave out values: a formula needs few of each",
            key=True,
        )


def _check_cells(source: Source, campaign: Campaign) -> None:
    """Something is left."""
    if not source.mistakes and not campaign.cells():
        source.report(
            ("exclude" if campaign.exclude else "axes",),
            "no cell is left",
            expected="at least one combination",
            key=True,
        )


_CHECKS: Final[tuple[Callable[[Source], None], ...]] = (
    _check_names,
    _check_sweep,
    _check_complete,
    _check_placeholders,
    _check_selections,
    _check_size,
)
