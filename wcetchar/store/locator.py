"""Where in a YAML or JSON file a value stands, for errors that only show up when files meet."""

from __future__ import annotations

from wcetchar.errors import InputError, Location
from wcetchar.store.based_on import with_base
from wcetchar.store.json_source import read_json
from wcetchar.store.names import characterization_path, map_path, profile_path
from wcetchar.store.source import Steps
from wcetchar.store.yaml_source import read_yaml


class Locator:
    """Places in one file, which is read once."""

    def __init__(self, name_or_path: str) -> None:
        """Raises:
        InputError: the file cannot be read.
        """
        path = name_or_path
        for resolve in (profile_path, map_path, characterization_path):
            try:
                path = resolve(name_or_path)
                break
            except InputError:
                continue
        is_json = path.endswith(".json") or _is_json(path)
        self._source = read_json(path) if is_json else with_base(read_yaml(path))

    def locate(self, *keys: str | int) -> Location:
        """Place of the value under ``keys``, or of its nearest ancestor."""
        return self._source.where(_spelled(self._source.data, keys))


def locate(name_or_path: str, *keys: str | int) -> Location:
    """Place of the value under ``keys`` in a file, or of its nearest ancestor.

    ``locate(map, "sections", ".text")`` is where the integrator placed ``.text``.

    Raises:
        InputError: the file cannot be read.
    """
    return Locator(name_or_path).locate(*keys)


def _is_json(path: str) -> bool:
    """A characterization under any name; the YAML files begin with a key."""
    try:
        with open(path, "rb") as stream:
            return stream.read(64).lstrip().startswith(b"{")
    except OSError:
        return False


def _spelled(data: object, keys: Steps) -> Steps:
    """``keys`` as the file spells them: YAML keys are words with spaces, attributes of the model
    have underscores. A key that stands in the file as it is, such as a section's name, is kept."""
    steps: list[str | int] = []
    for key in keys:
        if isinstance(data, dict):
            if isinstance(key, str) and key not in data and key.replace("_", " ") in data:
                key = key.replace("_", " ")
            data = data.get(key)
        elif isinstance(data, list) and isinstance(key, int) and 0 <= key < len(data):
            data = data[key]
        else:
            data = None
        steps.append(key)
    return tuple(steps)
