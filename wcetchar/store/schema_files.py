"""JSON Schemas (draft-07) of the files, generated from the documents that read them.

Committed under ``schemas/`` for editors and for ``wcetchar schema``. ``python -m
wcetchar.store.schema_files`` writes them anew, and refuses a key that nothing is said of.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from wcetchar.model.characterization import SCHEMA_VERSION
from wcetchar.store.based_on import BASED_ON, NONE, OWN
from wcetchar.store.budget import BudgetsDoc
from wcetchar.store.campaign import CampaignDoc
from wcetchar.store.characterization_doc import CharacterizationDoc
from wcetchar.store.draft07 import DRAFT, draft07, undescribed
from wcetchar.store.files import write_atomically
from wcetchar.store.measure_doc import MeasureDoc
from wcetchar.store.measured import MeasuredDoc
from wcetchar.store.partitions import PartitionsDoc
from wcetchar.store.parts import INSTEAD, ONLY, SETTINGS_INSTEAD
from wcetchar.store.profile import ProfileDoc
from wcetchar.store.runs import RunsDoc
from wcetchar.store.section_map import SectionMapDoc
from wcetchar.store.services import ServicesDoc
from wcetchar.store.shared_device import SharedDeviceDoc
from wcetchar.store.slowdowns import SlowdownsDoc
from wcetchar.store.system import SystemDoc
from wcetchar.store.working_sets import WorkingSetsDoc

FOLDER: Final = Path(__file__).resolve().parent / "schemas"
PROFILE: Final = "hardware-profile"
PART_OF_SERVICES: Final = "services-part"
CHARACTERIZATION: Final = "characterization"
DOCUMENTS: Final[dict[str, type[BaseModel]]] = {
    "budget": BudgetsDoc,
    "campaign": CampaignDoc,
    CHARACTERIZATION: CharacterizationDoc,
    PROFILE: ProfileDoc,
    "measure": MeasureDoc,
    "measured": MeasuredDoc,
    "partitions": PartitionsDoc,
    "runs": RunsDoc,
    "section-map": SectionMapDoc,
    "services": ServicesDoc,
    "shared-device": SharedDeviceDoc,
    "slowdowns": SlowdownsDoc,
    "system": SystemDoc,
    "working-sets": WorkingSetsDoc,
}
_VERSIONS: Final = {CHARACTERIZATION: SCHEMA_VERSION}
"""Of files that do not say `schema:`."""


def schema_texts() -> dict[str, str]:
    """File name -> text of each JSON Schema.

    Raises:
        ValueError: a key has no description.
    """
    return {f"{name}.json": _text(one) for name, one in schemas().items()}


def schemas() -> dict[str, dict[str, Any]]:
    """Name -> each JSON Schema. Raises as :func:`schema_texts`."""
    found = {name: _schema(model) for name, model in DOCUMENTS.items()}
    found[PROFILE] = _profile()
    found[PART_OF_SERVICES] = _part_of_services()
    return {name: _finished(name, one) for name, one in found.items()}


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema(by_alias=True)


def _finished(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """As draft-07, with an identifier that names the version of the form."""
    kind = name.replace(PART_OF_SERVICES, "services/1/part")
    version = "" if "/" in kind else f"/{_VERSIONS.get(name, 1)}"
    head = {
        "$schema": DRAFT,
        "$id": f"urn:wcetchar:{kind}{version}",
        "title": name.replace("-", " ").capitalize(),
        "description": schema.get("description", ""),
    }
    whole = {**head, **draft07(schema, by_hand=name != CHARACTERIZATION), **head}
    lacking = [*undescribed(whole)]
    if not whole.get("description") or lacking:
        raise ValueError(f"{name}: nothing is said of {', '.join(lacking) or 'the file'}")
    return whole


def _profile() -> dict[str, Any]:
    """A whole profile; or one that is based on another one, of which it may lack anything, and
    leave out anything."""
    whole = _schema(ProfileDoc)
    defs = whole.pop("$defs")
    changed = {f"{name}Changed": _changed(one) for name, one in defs.items()}
    differs = _changed({"properties": whole["properties"], "additionalProperties": False})
    own = {name: whole["properties"][name] for name in OWN if name in whole["properties"]}
    about = {
        "type": "string",
        "description": "another profile, by shipped name or path: what is not said here is taken "
        "from it; `none` leaves out what it has",
    }
    head = {key: whole.pop(key) for key in ("title", "description")}
    return {
        **head,
        "type": "object",
        "$defs": {**defs, **changed},
        "if": {"required": [BASED_ON]},
        "then": {
            **differs,
            "properties": {**differs["properties"], **own, BASED_ON: about},
            "required": ["schema", "name", BASED_ON],
        },
        "else": whole,
    }


def _changed(schema: Any) -> Any:
    """Of what stands in the place of a part of it, or adds to it."""
    if isinstance(schema, list):
        return [_changed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {
        key: _changed(one) for key, one in schema.items() if key not in ("required", "default")
    }
    if "$ref" in found:
        found["$ref"] += "Changed"
    left_out: dict[str, Any] = {"const": NONE}
    if "properties" in found:
        found["properties"] = {
            name: {"anyOf": [one, left_out], **_said(one)}
            for name, one in found["properties"].items()
        }
    if isinstance(found.get("additionalProperties"), dict):
        found["additionalProperties"] = {"anyOf": [found["additionalProperties"], left_out]}
    return found


def _said(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: schema[key] for key in ("title", "description") if key in schema}


def _part_of_services() -> dict[str, Any]:
    """One of several services files: what it lacks stands in another."""
    schema = _schema(ServicesDoc)
    schema["description"] = "One of several services files: what it lacks stands in another."
    schema["required"] = ["schema"]
    del schema["$defs"]["KernelDoc"]["required"]
    keys = {name: key for name, key in schema["$defs"]["ServiceDoc"].items() if name != "required"}
    schema["properties"][INSTEAD] = {
        "additionalProperties": keys,
        "description": "keys of services of another file, in the place of those there",
        "title": "Instead",
        "type": "object",
    }
    configuration = schema["$defs"]["KernelDoc"]["properties"]["configuration"]
    schema["properties"][SETTINGS_INSTEAD] = {
        "additionalProperties": configuration["additionalProperties"],
        "description": "settings of another file, with other values",
        "title": "Configuration Instead",
        "type": "object",
    }
    schema["properties"][ONLY] = {
        "description": "the services that are read; those of other files are left out",
        "items": {"minLength": 1, "type": "string"},
        "minItems": 1,
        "title": "Only Services",
        "type": "array",
    }
    return schema


def _text(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for file_name, text in schema_texts().items():
        write_atomically(FOLDER / file_name, text)
