"""Section rules that ship: what is said of them in docs/reference/zephyr.md."""

from __future__ import annotations

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
