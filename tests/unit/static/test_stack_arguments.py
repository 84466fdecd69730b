"""Addresses of arguments on the stack that get out: the caller's frame may be written to."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_programs import built

from wcetchar.formula import to_text
from wcetchar.static.proofs import analysed
from wcetchar.static.values import Values
from wcetchar.static.values.calls import CONVENTION
from wcetchar.static.values.loop_bounds import derive_bounds
from wcetchar.static.values.summary import summary_of


def functions(**bodies: str) -> str:
    return "".join(
        f".global {name}\n.type {name}, %function\n{name}:\n{body}\n.size {name}, .-{name}\n"
        for name, body in bodies.items()
    )


# The counter is where the first argument on the stack is, and where the second one is.
FIRST = (
    "push {r4, lr}\nsub sp, #8\nmovs r3, #5\nstr r3, [sp]\n1: bl g\nldr r3, [sp]\nsubs r3, #1\n"
    "str r3, [sp]\nbne 1b\nadd sp, #8\npop {r4, pc}"
)
SECOND = FIRST.replace("[sp]", "[sp, #4]")
HELPERS = {
    # Its address is calculated in a way that is not followed.
    "put": "lsls r0, r0, #1\nlsrs r0, r0, #1\nstr r1, [r0]\nbx lr",
    "see": "lsls r0, r0, #1\nlsrs r0, r0, #1\nldr r0, [r0]\nbx lr",
    "keep": "ldr r3, =0x20000000\nstr r0, [r3]\nbx lr\n.ltorg",
    "anywhere": "ldr r3, =0x20000000\nldr r3, [r3]\nstr r3, [r3]\nbx lr\n.ltorg",
    "through": "ldr r0, [r0]\nstr r1, [r0]\nbx lr",
    "again": "push {lr}\ncbz r0, 1f\nsubs r0, #1\nbl again\n1: pop {pc}",
}


def values_of(folder: Path, entry: str = "f", **bodies: str) -> Values:
    made = built(folder, "v7m", functions(**bodies, **HELPERS))
    graph = made.graph(entry)
    return analysed(graph, made.image, made.table)[made.at(entry)]


def bounds(values: Values) -> list[str]:
    return [to_text(bound.limit) for bound in derive_bounds(values).values()]


@pytest.mark.parametrize("f", [FIRST, SECOND])
@pytest.mark.parametrize(
    "g",
    [
        "push {r4, lr}\nadd r0, sp, #8\nbl put\npop {r4, pc}",
        # By the last instruction, and with the stack pointer of the call.
        "mov r0, sp\nb put",
        # It is stored, and somebody may know where.
        "push {r4, lr}\nadd r0, sp, #8\nbl keep\nbl anywhere\npop {r4, pc}",
        "push {r4, lr}\nadd r0, sp, #8\nldr r3, =0x20000000\nstr r0, [r3]\nbl anywhere\n"
        "pop {r4, pc}\n.ltorg",
        # In a slot whose address is handed over.
        "push {r4, lr}\nsub sp, #8\nadd r0, sp, #16\nstr r0, [sp]\nmov r0, sp\nbl through\n"
        "add sp, #8\npop {r4, pc}",
        # Through a slot and another register.
        "push {r4, lr}\nadd r4, sp, #8\npush {r4, r5}\npop {r2, r3}\nmov r0, r2\nbl put\n"
        "pop {r4, pc}",
        # To a function of which nothing is known.
        "push {r4, lr}\nadd r0, sp, #8\nbl again\npop {r4, pc}",
        # It goes up the stack itself.
        "push {r4, lr}\nadd r2, sp, #8\n2: str r1, [r2]\nadds r2, #4\nsubs r0, #1\nbne 2b\n"
        "pop {r4, pc}",
        "str r1, [sp, r0, lsl #2]\nbx lr",
        # By what was calculated from it.
        "push {r4, lr}\nadd r0, sp, #8\nlsls r0, r0, #1\nlsrs r0, r0, #1\nstr r1, [r0]\n"
        "pop {r4, pc}",
        # By a function that it calls, in whose caller's frame it is as well.
        "b more",
    ],
)
def test_who_calls_loses_what_it_knows(f: str, g: str, tmp_path: Path) -> None:
    more = "push {r4, lr}\nadd r0, sp, #8\nbl put\npop {r4, pc}"
    assert bounds(values_of(tmp_path, f=f, g=g, more=more)) == []


@pytest.mark.parametrize(
    "g",
    [
        # Its own frame.
        "push {r4, lr}\nsub sp, #8\nmov r0, sp\nbl put\nadd sp, #8\npop {r4, pc}",
        # Nobody writes through it.
        "push {r4, lr}\nadd r0, sp, #8\nbl see\npop {r4, pc}",
        "push {r4, lr}\nadd r0, sp, #8\nbl keep\npop {r4, pc}",
        # The address of another one, and nothing is added to it.
        "push {r4, lr}\nadd r0, sp, #16\nbl store\npop {r4, pc}",
        "mov r2, sp\nsub sp, #8\nadd sp, #8\nbx lr",
    ],
)
def test_it_keeps_what_is_left_alone(g: str, tmp_path: Path) -> None:
    store = "str r1, [r0]\nbx lr"
    for number, f in enumerate((FIRST, SECOND)):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert bounds(values_of(folder, f=f, g=g, store=store)) == ["4"]


def test_only_the_frame_that_it_lies_in(tmp_path: Path) -> None:
    """``f`` calls ``g``, which calls ``more``, whose arguments are in the frame of ``g``."""
    more = "push {r4, lr}\nadd r0, sp, #8\nbl put\npop {r4, pc}"
    g = "push {r4, lr}\nsub sp, #8\nbl more\nadd sp, #8\npop {r4, pc}"
    values = values_of(tmp_path, f=FIRST, g=g, more=more)
    assert bounds(values) == ["4"]
    # Here it reaches beyond the frame of g: 16 bytes of frame, 16 bytes above its own 8.
    (tmp_path / "far").mkdir()
    more = "push {r4, lr}\nadd r0, sp, #24\nbl put\npop {r4, pc}"
    assert bounds(values_of(tmp_path / "far", f=FIRST, g=g, more=more)) == []


def test_what_reads_it_may_find_an_address_there(tmp_path: Path) -> None:
    """The frame's address is an argument on the stack; ``see`` loads it, and stores through what it
    has loaded."""
    f = (
        "push {r4, lr}\nsub sp, #8\nmovs r3, #5\nstr r3, [sp, #4]\nadd r2, sp, #4\nstr r2, [sp]\n"
        "1: bl g\nldr r3, [sp, #4]\nsubs r3, #1\nstr r3, [sp, #4]\nbne 1b\nadd sp, #8\npop {r4, pc}"
    )
    g = "push {r4, lr}\nadd r0, sp, #8\nbl through\npop {r4, pc}"
    values = values_of(tmp_path, f=f, g=g)
    assert bounds(values) == []


def test_who_keeps_it_is_taken_not_to_use_it_later(tmp_path: Path) -> None:
    g = "push {r4, lr}\nadd r0, sp, #8\nbl keep\nmovs r0, #0\npop {r4, pc}"
    f = FIRST.replace("movs r3, #5", "bl g\nmovs r3, #5").replace("1: bl g", "1: bl anywhere")
    values = values_of(tmp_path, f=f, g=g)
    assert bounds(values) == [] or CONVENTION in values.assumptions


def test_where_the_frame_is_and_what_is_saved_in_it(tmp_path: Path) -> None:
    """Registers that are saved in the frame are not what such a store is taken to hit."""
    g = "push {r4, lr}\nadd r0, sp, #8\nbl put\npop {r4, pc}"
    f = FIRST.replace("[sp]", "[sp, #4]")
    values = values_of(tmp_path, f=f, g=g)
    found = summary_of(values)
    assert found is not None
    assert found.kept >> 4 & 1
