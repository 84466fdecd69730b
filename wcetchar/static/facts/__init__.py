"""Flow facts: parse and print them, and look their places up in a program.

``flow_facts.lark`` is the grammar, :mod:`wcetchar.model.flow_fact` what is parsed,
``docs/reference/flow-facts.md`` the description for people.
"""

from __future__ import annotations

from wcetchar.static.facts.files import Absent
from wcetchar.static.facts.parser import MAX_CHARACTERS, parse_facts
from wcetchar.static.facts.places import Places, ReadSource
from wcetchar.static.facts.printer import fact_text, place_text, to_text
from wcetchar.static.facts.proposals import Observed, proposal
from wcetchar.static.facts.template import (
    FILL_IN,
    Missing,
    MissingAccess,
    MissingLoop,
    MissingRecursion,
    MissingTargets,
    template,
)

__all__ = [
    "FILL_IN",
    "MAX_CHARACTERS",
    "Absent",
    "Missing",
    "MissingAccess",
    "MissingLoop",
    "MissingRecursion",
    "MissingTargets",
    "Observed",
    "Places",
    "ReadSource",
    "fact_text",
    "parse_facts",
    "place_text",
    "proposal",
    "template",
    "to_text",
]
