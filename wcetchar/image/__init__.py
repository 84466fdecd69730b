"""ELF file -> model: the only user of pyelftools."""

from __future__ import annotations

from wcetchar.image.elf import load_image
from wcetchar.image.linker_map import with_linker_map

__all__ = ["load_image", "with_linker_map"]
