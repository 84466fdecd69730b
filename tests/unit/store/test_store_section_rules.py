"""Section rules that ship: what is said of them in docs/reference/zephyr.md."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from wcetchar.store import load_services, section_rule_names

SERVICES = """\
schema: wcetchar/services/1
kernel: {name: K, version: 1}
services: {s: {kind: call, entries: [f]}}
"""


@pytest.mark.parametrize("name", section_rule_names())
def test_neighbours_in_lists_are_either_variables_or_objects(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SERVICES)
    sections = {s.name: s for s in load_services(str(tmp_path / "a.yaml"), name).sections}
    assert sections["kernel.lists"].either_of == ("kernel.data", "kernel.objects")
    assert "bss" in sections["kernel.data"].linker_sections
    # Nothing is in it where an image has no such object.
    assert not sections["kernel.objects"].linker_sections
    assert "k_sem_area" in sections["kernel.objects"].optional


@pytest.mark.parametrize("name", section_rule_names())
def test_all_iterable_sections_of_a_zephyr_tree_have_a_place(name: str, tmp_path: Path) -> None:
    """Kernel objects may lie in those of other subsystems: a mutex in a `net_if`."""
    if "ZEPHYR_BASE" not in os.environ:
        pytest.skip("ZEPHYR_BASE is not set: no Zephyr tree to read the names from")
    base = Path(os.environ["ZEPHYR_BASE"])
    macro = re.compile(r"^\s*ITERABLE_SECTION_(?:RAM|ROM)\w*\((\w+),", re.MULTILINE)
    found = {
        f"{section}_area"
        for folder in ("include", "subsys", "kernel", "drivers", "lib", "arch", "soc")
        for suffix in ("*.ld", "*.ld.in", "*.h")
        for file in (base / folder).rglob(suffix)
        for section in macro.findall(file.read_text(encoding="utf-8", errors="replace"))
    }
    assert len(found) > 50
    (tmp_path / "a.yaml").write_text(SERVICES)
    sections = load_services(str(tmp_path / "a.yaml"), name).sections
    known = {linker for s in sections for linker in (*s.linker_sections, *s.optional)}
    assert not found - known - {"struct_type_area"}  # documentation of the macro
