"""The section map file."""

from wcetchar.model.section_map import SectionMap


def load_map(name_or_path: str) -> SectionMap:
    """Read a section map by shipped name or by path."""
    raise NotImplementedError
