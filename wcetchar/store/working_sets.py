"""Working sets file: YAML -> what has to come back into caches behind a switch."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator

from wcetchar.errors import InputError, did_you_mean
from wcetchar.model.switching import WorkingSet
from wcetchar.store.checking import Text, YamlModel, in_place, one_of, validate
from wcetchar.store.document import WORKING_SETS, read_document
from wcetchar.store.names import is_file, working_sets_path
from wcetchar.store.profile import Size
from wcetchar.store.quantity import Dimension, parse_percent, parse_time
from wcetchar.store.shapes import percent_schema, quantity_schema
from wcetchar.store.source import Source, Steps, shown


@dataclass(frozen=True)
class WorkingSets:
    """A file of them; ``source``: where they were published or how they were measured."""

    path: str
    source: str
    working_sets: tuple[WorkingSet, ...]


def _time(value: Any) -> Fraction:
    time = parse_time(value)
    if time <= 0:
        raise InputError(
            f"{shown(value)} is not how long a working set takes",
            expected="a time above zero, such as `85 us`",
        )
    return time


def _least(value: Any) -> Fraction:
    share = parse_percent(value)
    if not 0 < share <= 1:
        raise InputError(
            f"{shown(value)} is not a progress", expected="above 0 %, and at most 100 %"
        )
    return share


Duration = Annotated[
    Fraction,
    PlainValidator(in_place(_time)),
    quantity_schema(Dimension.TIME, "85 us", clock=False),
]
Progress = Annotated[
    Fraction,
    PlainValidator(in_place(_least)),
    percent_schema("9 %"),
]


class WorkingSetDoc(YamlModel):
    """One working set on one machine, as measured behind a switch."""

    machine: Text = Field(description="processor and clock")
    size: Size = Field(description="of the working set")
    before: Text = Field(description="what the caches held when it was switched to")
    least_progress: Progress = Field(
        description="progress right behind the switch, of the sustained one (f_0)"
    )
    settles: Duration = Field(description="until progress is sustained again (t_sust)")
    time_constant: Duration | None = Field(
        None, description="of the model `exponential`, 1/k; as long as `settles` if not said"
    )


class WorkingSetsDoc(YamlModel):
    """What has to come back into caches behind a switch."""

    schema_: Literal["wcetchar/working-sets/1"] = Field(
        alias="schema", description="what the file is, and the version of its form"
    )
    source: Text = Field(description="where they were published, or how they were measured")
    working_sets: dict[Text, WorkingSetDoc] = Field(description="by name")


def load_working_sets(name_or_path: str) -> WorkingSets:
    """Read working sets by shipped name (``kaiser2008``) or by path.

    Raises:
        InputError: no such file, or mistakes in it; all of them at once as ``InputErrors``.
    """
    path = working_sets_path(name_or_path)
    source = read_document(path, WORKING_SETS)
    document = validate(WorkingSetsDoc, source, (_check_any,))
    source.fail_on_mistakes()
    assert document is not None
    return WorkingSets(
        path,
        document.source,
        tuple(
            WorkingSet(
                name,
                one.machine,
                one.size,
                one.before,
                one.least_progress,
                one.settles,
                one.time_constant,
            )
            for name, one in document.working_sets.items()
        ),
    )


def load_working_set(text: str) -> WorkingSet:
    """One of a file: ``FILE:NAME``, of a shipped file or a path.

    Raises:
        InputError: as above, or the file has no such working set.
    """
    file, colon, name = text.rpartition(":")
    if not colon:
        raise InputError(
            f"{shown(text)} names no working set of a file",
            expected="FILE:NAME, such as kaiser2008:celeron-64k-dirty",
        )
    found = load_working_sets(file)
    for one in found.working_sets:
        if one.name == name:
            return one
    names = [one.name for one in found.working_sets]
    raise InputError(
        f"{found.path} has no working set {shown(name)}",
        expected=one_of(names),
        hint=did_you_mean(name, names),
    )


def working_set_at(source: Source, steps: Steps, text: str | None) -> WorkingSet | None:
    """That a file names as ``FILE:NAME``, of a shipped file or a path from its own folder; a
    mistake in the name is noted there. ``None``: it names none, or there was a mistake.

    Raises:
        InputError: the file of working sets has mistakes.
    """
    if text is None:
        return None
    file, colon, which = text.rpartition(":")
    beside = Path(source.path).parent / file
    if colon and file and is_file(beside):
        text = f"{beside}:{which}"
    try:
        return load_working_set(text)
    except InputError as error:
        if error.where is not None:
            raise
        source.report(steps, error.message, expected=error.expected, hint=error.hint)
        return None


def _check_any(source: Source) -> None:
    data = source.data
    if isinstance(data, dict) and data.get("working sets") == {}:
        source.report(("working sets",), "there is no working set", expected="at least one")
