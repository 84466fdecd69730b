"""The characterization file."""

from wcetchar.model.characterization import Characterization


def load_characterization(path_or_name: str) -> Characterization:
    """Read a characterization by path or by the name of a published one."""
    raise NotImplementedError


def characterization_json(characterization: Characterization) -> str:
    """The canonical text of a characterization."""
    raise NotImplementedError
