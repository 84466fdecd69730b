"""The YAML and JSON files of the three parties, read into the model and written from it.

A file from a stranger is data: its size and depth are bounded, nothing in it is executed, and
every mistake is reported at once, each with file, line and column
(:class:`wcetchar.errors.InputErrors`).

A name of this package is imported from its module when it is first used: a command reads two or
three kinds of files, and building what checks all twenty of them takes longer than most estimates.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wcetchar.store.budget import load_budgets, parse_budget
    from wcetchar.store.campaign import load_campaign
    from wcetchar.store.characterization import characterization_json, load_characterization
    from wcetchar.store.files import write_atomically
    from wcetchar.store.locator import Locator, locate
    from wcetchar.store.map_text import LeftOut, section_map_text
    from wcetchar.store.measure_plan import load_measure_plan
    from wcetchar.store.measured import MeasuredPlatform, Measurements, load_measurements
    from wcetchar.store.measurement_table import load_measurement_table
    from wcetchar.store.names import (
        characterization_names,
        map_names,
        maps_of,
        measure_names,
        profile_names,
        section_rule_names,
        services_path,
    )
    from wcetchar.store.partitions import Partitions, load_partitions
    from wcetchar.store.profile import load_profile, parse_profile
    from wcetchar.store.profile_edit import ProfileText, load_profile_text
    from wcetchar.store.quantity import (
        parse_bandwidth,
        parse_clock,
        parse_percent,
        parse_size,
        parse_time,
    )
    from wcetchar.store.readings import load_readings, parse_readings
    from wcetchar.store.runs import RunsFile, load_runs
    from wcetchar.store.section_map import load_map
    from wcetchar.store.services import load_section_rules, load_services
    from wcetchar.store.shared_device import load_shared_device
    from wcetchar.store.shipped_schemas import with_modeline
    from wcetchar.store.slowdowns import load_slowdowns
    from wcetchar.store.source import read_text
    from wcetchar.store.system import load_system
    from wcetchar.store.working_sets import WorkingSets, load_working_set, load_working_sets

_MODULES = {
    "budget": (
        "load_budgets",
        "parse_budget",
    ),
    "campaign": ("load_campaign",),
    "characterization": (
        "characterization_json",
        "load_characterization",
    ),
    "files": ("write_atomically",),
    "locator": ("Locator", "locate"),
    "map_text": (
        "LeftOut",
        "section_map_text",
    ),
    "measure_plan": ("load_measure_plan",),
    "measured": (
        "MeasuredPlatform",
        "Measurements",
        "load_measurements",
    ),
    "measurement_table": ("load_measurement_table",),
    "names": (
        "characterization_names",
        "map_names",
        "maps_of",
        "measure_names",
        "profile_names",
        "section_rule_names",
        "services_path",
    ),
    "partitions": (
        "Partitions",
        "load_partitions",
    ),
    "profile": (
        "load_profile",
        "parse_profile",
    ),
    "profile_edit": (
        "ProfileText",
        "load_profile_text",
    ),
    "quantity": (
        "parse_bandwidth",
        "parse_clock",
        "parse_percent",
        "parse_size",
        "parse_time",
    ),
    "readings": (
        "load_readings",
        "parse_readings",
    ),
    "runs": (
        "RunsFile",
        "load_runs",
    ),
    "section_map": ("load_map",),
    "services": (
        "load_section_rules",
        "load_services",
    ),
    "shared_device": ("load_shared_device",),
    "shipped_schemas": ("with_modeline",),
    "slowdowns": ("load_slowdowns",),
    "source": ("read_text",),
    "system": ("load_system",),
    "working_sets": (
        "WorkingSets",
        "load_working_set",
        "load_working_sets",
    ),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "LeftOut",
    "Locator",
    "MeasuredPlatform",
    "Measurements",
    "Partitions",
    "ProfileText",
    "RunsFile",
    "WorkingSets",
    "characterization_json",
    "characterization_names",
    "load_budgets",
    "load_campaign",
    "load_characterization",
    "load_map",
    "load_measure_plan",
    "load_measurement_table",
    "load_measurements",
    "load_partitions",
    "load_profile",
    "load_profile_text",
    "load_readings",
    "load_runs",
    "load_section_rules",
    "load_services",
    "load_shared_device",
    "load_slowdowns",
    "load_system",
    "load_working_set",
    "load_working_sets",
    "locate",
    "map_names",
    "maps_of",
    "measure_names",
    "parse_bandwidth",
    "parse_budget",
    "parse_clock",
    "parse_percent",
    "parse_profile",
    "parse_readings",
    "parse_size",
    "parse_time",
    "profile_names",
    "read_text",
    "section_map_text",
    "section_rule_names",
    "services_path",
    "with_modeline",
    "write_atomically",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = found
    return found
