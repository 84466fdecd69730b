"""JSON Schemas of the files, generated from the documents that read them.

Committed under ``schemas/`` for editors. ``python -m wcetchar.store.schema_files`` writes them
anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from wcetchar.store.characterization_doc import CharacterizationDoc
from wcetchar.store.files import write_atomically
from wcetchar.store.measured import MeasuredDoc
from wcetchar.store.profile import ProfileDoc
from wcetchar.store.section_map import SectionMapDoc
from wcetchar.store.services import ServicesDoc

FOLDER: Final = Path(__file__).resolve().parent / "schemas"
DOCUMENTS: Final[dict[str, type[BaseModel]]] = {
    "characterization.json": CharacterizationDoc,
    "hardware-profile.json": ProfileDoc,
    "measured.json": MeasuredDoc,
    "section-map.json": SectionMapDoc,
    "services.json": ServicesDoc,
}


def schema_texts() -> dict[str, str]:
    """File name -> text of each JSON Schema (draft 2020-12)."""
    return {name: _text(model) for name, model in DOCUMENTS.items()}


def _text(model: type[BaseModel]) -> str:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    schema.update(model.model_json_schema(by_alias=True))
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for file_name, text in schema_texts().items():
        write_atomically(FOLDER / file_name, text)
