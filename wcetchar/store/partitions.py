"""Partitions file: YAML -> what shares the processor in virtual-time round-robin."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field, PlainValidator

from wcetchar.model.switching import LossModel, Partition
from wcetchar.store.checking import Integer, Text, YamlModel, in_place, mapping_at, validate
from wcetchar.store.document import PARTITIONS, read_document
from wcetchar.store.names import partitions_path
from wcetchar.store.quantity import Dimension, parse_time
from wcetchar.store.shapes import quantity_schema
from wcetchar.store.source import Source
from wcetchar.store.working_sets import working_set_at

Time = Annotated[
    Fraction,
    PlainValidator(in_place(parse_time)),
    quantity_schema(Dimension.TIME, "2 us", clock=False),
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

    schema_: Literal["wcetchar/partitions/1"] = Field(
        alias="schema", description="what the file is, and the version of its form"
    )
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
            Partition(
                name,
                one.share,
                working_set_at(source, ("partitions", name, "working set"), one.working_set),
                one.model,
            )
            for name, one in document.partitions.items()
        ),
    )
    source.fail_on_mistakes()
    return found


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
