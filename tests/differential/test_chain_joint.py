"""Sections that are either of others, in the second count: on made-up steps."""

from __future__ import annotations

from typing import Any

import pytest
from chain_listing import Line, Listing
from chain_oracle import Machine, Window
from chain_stream import Data, Run, numbers
from test_chain_oracle import Log

HEAD, ITEM, OTHER = 0x20001000, 0x20002000, 0x20003000
SECTIONS: dict[str, Any] = {
    "code": {"kind": "code", "address ranges": [{"base": 0, "size": "64"}]},
    "heads": {"kind": "data", "address ranges": [{"base": HEAD, "size": "64"}]},
    "items": {"kind": "data", "address ranges": [{"base": ITEM, "size": "64"}]},
    "others": {"kind": "data", "address ranges": [{"base": OTHER, "size": "64"}]},
    "lists": {"kind": "data", "either of": ["heads", "items"]},
}


class Cut(Machine):
    """Two windows: of steps 0 to 2, and of steps 3 to 5."""

    def windows(self) -> Any:
        yield Window("one", (), [0, 1, 2])
        yield Window("two", (), [3, 4, 5])


def sections(accessed: list[int], sections: dict[str, Any] = SECTIONS) -> list[str]:
    """Of steps that each load once, from the instructions 0, 2, 4, 0, 2, 4, 0, 2, 4."""
    lines = {at: Line(at, 2, b"", "ldr", "", reads=1, width=4, event="load") for at in (0, 2, 4)}
    objects = [("stack", 0x20000000, 0x200), ("idle_stack", 0x20000200, 0x200)]
    objects += [("lock", 0x10, 4), ("unlock", 0x20, 4)]
    services: dict[str, Any] = {"services": {}, "marks": {}, "sections": sections}
    services["scheduler lock"] = {"lock": ["lock"], "unlock": ["unlock"]}
    data = Data.of(len(accessed), {n: [(False, 4, at)] for n, at in enumerate(accessed)})
    log: Any = Log([0] * len(accessed))
    run = Run(numbers([0, 2, 4] * (len(accessed) // 3)), data, [])
    machine = Cut(Listing(lines, {}, objects), log, run, services)
    keys = [[*machine._accesses(lines[run.pcs[n]], data.at(n))] for n in range(len(accessed))]
    return [key[0] for ((key,),) in zip(keys, strict=True)]


def test_by_the_instruction_in_all_windows() -> None:
    """The first instruction reaches both, in one window each; the second one of them, and another
    section; the third one alone."""
    accessed = [HEAD, ITEM, HEAD, ITEM, OTHER, HEAD]
    assert sections(accessed) == ["lists", "items", "heads", "lists", "others", "heads"]


def test_what_is_outside_of_windows_does_not_matter() -> None:
    accessed = [HEAD, ITEM, HEAD] * 2
    assert sections([*accessed, ITEM, HEAD, ITEM])[:6] == ["heads", "items", "heads"] * 2


def test_without_such_sections() -> None:
    plain = {name: section for name, section in SECTIONS.items() if name != "lists"}
    assert sections([HEAD, ITEM, HEAD, ITEM, OTHER, HEAD], plain)[0] == "heads"


@pytest.mark.parametrize(
    "joint",
    [
        {"either of": ["heads"]},
        {"either of": ["heads", "heads"]},
        {"either of": ["others", "lists"]},
        {"either of": ["others", "items"]},
        {"either of": ["others", "code"], "address ranges": [{"base": 0, "size": "64"}]},
    ],
)
def test_what_is_no_joint_section(joint: dict[str, Any]) -> None:
    """One section alone, one twice, a joint one, one of another joint one, with a rule."""
    with pytest.raises(AssertionError):
        sections([HEAD] * 6, {**SECTIONS, "more": joint})
