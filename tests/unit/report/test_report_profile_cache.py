"""An instruction cache in words."""

from __future__ import annotations

from wcetchar import store
from wcetchar.report.profile import view_of


def test_a_cache_in_words() -> None:
    words = view_of(store.load_profile("vexriscv/imc-board-b-cached"), ()).words
    assert "instruction cache of 4096 bytes in lines of 32, direct mapped" in words
    assert "22 cycles to load a line from code" in words
    assert not any("cache" in w for w in view_of(store.load_profile("rv32/two-stage"), ()).words)


def test_hits_are_cycles_of_the_core_however_wide_the_bus() -> None:
    """Board C: 16 bits at half the clock; in ns, a word and the next one of a burst."""
    view = view_of(store.load_profile("vexriscv/imc-board-c-cached"), ())
    accesses = view.document["accesses"]
    assert isinstance(accesses, list)
    times = {(a["region"], a["operation"]): a["word_ns"] for a in accesses}
    assert times["external", "fetch"] == 10
    assert times["external", "read"] == (3 + 1) * 20
