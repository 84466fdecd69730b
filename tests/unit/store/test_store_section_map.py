"""Section maps: what is read and what is refused."""

from __future__ import annotations

import pytest

from wcetchar.errors import InputError, InputErrors
from wcetchar.model.section_map import Assumption, SectionMap
from wcetchar.model.uncertainty import UncertainCount
from wcetchar.store import load_map

GOOD = """\
schema: wcetchar/section-map/1
name: mine
sections: {.text: flash, stack.task: sram, 1: sram}
parameters: {N: 13, size: 0x10, offset: -2}
assumptions: [code alignment]
"""


@pytest.fixture
def write(tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("map") / "m.yaml"

    def write(text: str) -> str:
        path.write_text(text)
        return str(path)

    return write


def test_everything_is_read(write) -> None:
    assert load_map(write(GOOD)) == SectionMap(
        name="mine",
        sections={".text": "flash", "stack.task": "sram", "1": "sram"},
        parameters={"N": 13, "size": 16, "offset": -2},
        assumptions=frozenset({Assumption.CODE_ALIGNMENT}),
    )


def test_parameters_and_assumptions_may_be_left_out(write) -> None:
    text = "".join(GOOD.splitlines(keepends=True)[:3])
    found = load_map(write(text))
    assert (found.parameters, found.assumptions) == ({}, frozenset())


def test_all_mistakes_come_at_once(write) -> None:
    text = """\
schema: wcetchar/section-map/1
sections: {.text: flash, .text: sram, .data: [sram]}
parameters: {N: '13', M: 1.5, K: true, L: 012}
parametres: {N: 13}
assumptions: [code alignement]
"""
    path = write(text)
    with pytest.raises(InputErrors) as caught:
        load_map(path)
    assert [(str(e.where).removeprefix(path + ":"), e.hint) for e in caught.value.errors] == [
        ("1:1", "add `name:`"),
        ("2:26", "remove one of the two"),
        ("2:46", None),
        ("3:17", None),
        ("3:26", None),
        ("3:34", None),
        ("3:43", "drop the zeros, write 0o17 for octal, or quote it if text is meant"),
        ("4:1", "did you mean `parameters`?"),
        ("5:15", "did you mean `code alignment`?"),
    ]


def test_parameter_values_are_bounded(write) -> None:
    assert load_map(write(GOOD.replace("13", str(2**63 - 1)))).parameters["N"] == 2**63 - 1
    with pytest.raises(InputError):
        load_map(write(GOOD.replace("13", str(2**63))))


def test_values_may_be_off(write) -> None:
    found = load_map(write(GOOD.replace("13", "13 +- 2 systematic +- 1 stochastic")))
    assert found.uncertain == {"N": UncertainCount(13, 2, 1)}
    assert found.parameters == {"size": 16, "offset": -2}  # nobody takes it for exact by mistake


@pytest.mark.parametrize(
    "value", ["13 +- 2 %", "13 +- two", "1.5 +- 1", f"{2**63 - 1} +- 1", "13 +- 1 +- 1"]
)
def test_errors_that_are_none_have_their_place(write, value: str) -> None:
    path = write(GOOD.replace("13", value))
    with pytest.raises(InputError) as caught:
        load_map(path)
    line = GOOD[: GOOD.index("13")].count("\n") + 1
    assert str(caught.value.where).startswith(f"{path}:{line}:")
    assert caught.value.expected


def test_shipped_maps_have_names() -> None:
    assert load_map("renaux2010/map1").parameters == {"N": 13}
    with pytest.raises(InputError) as caught:
        load_map("renaux2010/map4")
    assert "renaux2010/map1" in (caught.value.expected or "")
