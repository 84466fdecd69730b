"""ELF file -> model: the only user of pyelftools."""

from __future__ import annotations

from wcetchar.image.elf import load_image

__all__ = ["load_image"]
