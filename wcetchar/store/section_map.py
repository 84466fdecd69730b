"""Section map: YAML -> :class:`wcetchar.model.section_map.SectionMap`."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import Discriminator, Field, PlainValidator, Tag, WithJsonSchema

from wcetchar.errors import InputError, did_you_mean
from wcetchar.model.section_map import Assumption, CacheState, SectionMap
from wcetchar.model.uncertainty import UncertainCount
from wcetchar.store.checking import (
    Integer,
    Text,
    YamlModel,
    in_place,
    one_of,
    validate,
)
from wcetchar.store.document import SECTION_MAP, read_document
from wcetchar.store.names import map_path
from wcetchar.store.profile import Address
from wcetchar.store.quantity import parse_count
from wcetchar.store.shapes import COUNT_PATTERN, MESSAGE
from wcetchar.store.source import shown

ASSUMPTIONS: Final = {
    "code alignment": Assumption.CODE_ALIGNMENT,
    "data alignment": Assumption.DATA_ALIGNMENT,
}
_LIMIT: Final = (1 << 63) - 1


def _assumption(value: Any) -> Assumption:
    if not isinstance(value, str) or value not in ASSUMPTIONS:
        raise InputError(
            f"the assumption {shown(value)} is not known",
            expected=one_of(ASSUMPTIONS),
            hint=did_you_mean(value, ASSUMPTIONS),
        )
    return ASSUMPTIONS[value]


def _cache_state(value: Any) -> CacheState:
    known = [state.value for state in CacheState]
    if not isinstance(value, str) or value not in known:
        raise InputError(
            f"the state {shown(value)} of a cache is not known",
            expected=one_of(known),
            hint=did_you_mean(value, known),
        )
    return CacheState(value)


AssumptionName = Annotated[
    Assumption, PlainValidator(in_place(_assumption)), WithJsonSchema({"enum": list(ASSUMPTIONS)})
]
CacheStateName = Annotated[
    CacheState,
    PlainValidator(in_place(_cache_state)),
    WithJsonSchema({"enum": [state.value for state in CacheState]}),
]


def _has_errors(value: Any) -> str:
    return "uncertain" if isinstance(value, str) and re.search(r"\+-|\+/-|±", value) else "exact"


def _uncertain(value: Any) -> UncertainCount:
    found = parse_count(value)
    if found.low < -_LIMIT or found.high > _LIMIT:
        raise InputError(
            f"{shown(value)} is out of range", expected=f"{-_LIMIT} to {_LIMIT}, with its errors"
        )
    return found


Value = Annotated[Integer, Field(ge=-_LIMIT, le=_LIMIT)]
UncertainValue = Annotated[
    UncertainCount,
    PlainValidator(in_place(_uncertain)),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": COUNT_PATTERN,
            MESSAGE: "a whole number such as `13 +- 2`",
            "examples": ["13 +- 2"],
        }
    ),
]
AnyValue = Annotated[
    Annotated[Value, Tag("exact")] | Annotated[UncertainValue, Tag("uncertain")],
    Discriminator(_has_errors),
]


class SectionMapDoc(YamlModel):
    """Where the logical sections lie, and the values of the parameters."""

    schema_: Literal["wcetchar/section-map/1"] = Field(
        alias="schema", description="what the file is, and the version of its form"
    )
    name: Text = Field(description="name of the map")
    description: Text = Field("", description="what it places, in words")
    sections: dict[Text, Text] = Field(description="logical section to region of the profile")
    parameters: dict[Text, AnyValue] = Field(
        default_factory=dict,
        description="values of call arguments and kernel state; `13 +- 2` where one may be off",
    )
    assumptions: list[AssumptionName] = Field(
        default_factory=list, description="what the integrator promises"
    )
    addresses: dict[Text, Address] = Field(
        default_factory=dict, description="logical section to where it begins"
    )
    instruction_cache: CacheStateName = Field(
        CacheState.ALWAYS_MISS,
        description="state of the core's instruction cache when a service begins",
    )
    data_cache: CacheStateName = Field(
        CacheState.ALWAYS_MISS, description="state of the core's data cache when a service begins"
    )


def load_map(name_or_path: str) -> SectionMap:
    """Read a section map by shipped name (``renaux2010/map1``) or by path.

    Raises:
        InputError: no such map, or mistakes in it; all of them at once as ``InputErrors``.
    """
    source = read_document(map_path(name_or_path), SECTION_MAP)
    document = validate(SectionMapDoc, source)
    source.fail_on_mistakes()
    assert document is not None
    return SectionMap(
        name=document.name,
        sections=dict(document.sections),
        parameters={n: v for n, v in document.parameters.items() if isinstance(v, int)},
        assumptions=frozenset(document.assumptions),
        addresses=dict(document.addresses),
        instruction_cache=document.instruction_cache,
        data_cache=document.data_cache,
        uncertain={n: v for n, v in document.parameters.items() if isinstance(v, UncertainCount)},
    )
