"""Where in a YAML or JSON file a value stands, for errors that only show up when files meet."""

from __future__ import annotations

from wcetchar.errors import InputError, Location
from wcetchar.store.json_source import read_json
from wcetchar.store.names import characterization_path, map_path, profile_path
from wcetchar.store.yaml_source import read_yaml


def locate(name_or_path: str, *keys: str | int) -> Location:
    """Place of the value under ``keys`` in a file, or of its nearest ancestor.

    ``locate(map, "sections", ".text")`` is where the integrator placed ``.text``.

    Raises:
        InputError: the file cannot be read.
    """
    path = name_or_path
    for resolve in (profile_path, map_path, characterization_path):
        try:
            path = resolve(name_or_path)
            break
        except InputError:
            continue
    source = read_json(path) if path.endswith(".json") else read_yaml(path)
    return source.where(keys)
