"""Partitions file: YAML -> what shares the processor in virtual-time round-robin."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from wcetchar.errors import InputError
from wcetchar.model.switching import LossModel, Partition, WorkingSet
from wcetchar.store.checking import Integer, Text, YamlModel, in_place, mapping_at, validate
from wcetchar.store.document import PARTITIONS, read_document
from wcetchar.store.names import partitions_path
from wcetchar.store.quantity import PATTERN, parse_time
from wcetchar.store.source import Source, Steps
from wcetchar.store.working_sets import load_working_set

Time = Annotated[
    Fraction,
    PlainValidator(in_place(parse_time)),
    WithJsonSchema({"type": "string", "pattern": PATTERN, "description": "`2 us`"}),
]


class PartitionDoc(YamlModel):
    """One of what shares the processor."""

    share: Annotated[Integer, Field(ge=1, le=10_000)] = Field(
        description="slices in a cycle: its weight among all shares"
    )
    working_set: Text | None = Field(
        None,
        description="`FILE:NAME`, of a shipped file of working sets or a path from this file's "
        "folder; nothing comes back behind a switch if not said",
    )
    model: LossModel = Field(
        LossModel.FLOOD, description="how its progress comes back: flood for hard real time"
    )


class PartitionsDoc(YamlModel):
    """What shares the processor in virtual-time round-robin."""

    schema_: Literal["wcetchar/partitions/1"] = Field(alias="schema")
    scheduler: Time = Field(description="what the scheduler and the switch take of each slice")
    partitions: dict[Text, PartitionDoc] = Field(description="by name")


@dataclass(frozen=True)
class Partitions:
    """A file of them. ``scheduler``: nanoseconds of each slice."""

    path: str
    scheduler: Fraction
    partitions: tuple[Partition, ...]


def load_partitions(name_or_path: str) -> Partitions:
    """Read partitions by shipped name (``kaiser2008``) or by path.

    Raises:
        InputError: no such file, or mistakes in it; all of them at once as ``InputErrors``.
    """
    path = partitions_path(name_or_path)
    source = read_document(path, PARTITIONS)
    document = validate(PartitionsDoc, source, (_check_any,))
    source.fail_on_mistakes()
    assert document is not None
    found = Partitions(
        path,
        document.scheduler,
        tuple(
            Partition(name, one.share, _working_set(source, name, one), one.model)
            for name, one in document.partitions.items()
        ),
    )
    source.fail_on_mistakes()
    return found


def _working_set(source: Source, name: str, one: PartitionDoc) -> WorkingSet | None:
    if one.working_set is None:
        return None
    file, colon, which = one.working_set.rpartition(":")
    beside = Path(source.path).parent / file
    text = one.working_set
    if colon and file and _is_file(beside):
        text = f"{beside}:{which}"
    steps: Steps = ("partitions", name, "working set")
    try:
        return load_working_set(text)
    except InputError as error:
        if error.where is not None:
            raise
        source.report(steps, error.message, expected=error.expected, hint=error.hint)
        return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long for the system, or one with a NUL
        return False


def _check_any(source: Source) -> None:
    if isinstance(source.data, dict) and source.data.get("partitions") == {}:
        source.report(("partitions",), "there is no partition", expected="at least one")
    shares = [
        one.get("share")
        for one in mapping_at(source.data, "partitions").values()
        if isinstance(one, dict)
    ]
    whole = [share for share in shares if isinstance(share, int)]
    if sum(whole) > _MOST:
        source.report(
            ("partitions",),
            f"a cycle has {sum(whole):,} slices",
            expected=f"shares that add up to {_MOST:,} at most",
            hint="divide all shares by a common divisor",
        )


_MOST = 100_000
"""Slices of a cycle, which is gone through slice by slice."""
