"""Where in a YAML file a value stands."""

from wcetchar.errors import Location


def locate(name_or_path: str, *keys: str | int) -> Location:
    """Place of the value under ``keys`` in a YAML or JSON file, or of its nearest ancestor."""
    raise NotImplementedError
