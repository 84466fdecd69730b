"""The services file."""

from wcetchar.model.service import ServicesFile


def load_services(path: str) -> ServicesFile:
    """Read a services file."""
    raise NotImplementedError
