"""Who says which section an access goes to."""

from __future__ import annotations

from wcetchar.model.path_model import Origin
from wcetchar.static.sections import STACK, data_sections

JOINT = {"lists": ("data", "objects")}


def test_the_first_who_knows() -> None:
    found = data_sections(
        facts={1: ("data",), 2: ("data",), 3: ("lists",)},
        proved={1: frozenset({"rodata"})},
        own={2: frozenset({"objects"}), 4: frozenset({"objects"})},
        others={4: frozenset({"data"}), 5: frozenset({"data"})},
        joint=JOINT,
    )
    assert found.of == {1: "rodata", 2: "data", 3: "lists", 4: "objects", 5: "data"}
    assert found.origins == {
        1: Origin.AUTOMATIC,
        2: Origin.WRITTEN,
        3: Origin.WRITTEN,
        4: Origin.OBSERVED,
        5: Origin.OBSERVED,
    }
    assert found.told([1, 2, 4, 9]) == {
        Origin.AUTOMATIC: 1,
        Origin.WRITTEN: 1,
        Origin.OBSERVED: 1,
        None: 1,
    }


def test_several_sections_are_one_only_where_a_joint_one_is_either_of_them() -> None:
    found = data_sections({}, {}, {1: frozenset({"data", "objects"})}, {}, JOINT)
    assert found.of == {1: "lists"}
    found = data_sections({}, {}, {1: frozenset({"data", "stack"})}, {}, JOINT)
    assert found.of == {}


def test_the_stack_is_the_one_that_the_service_ran_on() -> None:
    through = {1: frozenset({STACK}), 2: frozenset({STACK})}
    assert data_sections({}, through, {1: frozenset({"task stack"})}, {}, {}).of == {
        1: "task stack",
        2: "task stack",
    }
    # On two stacks, which one is not known of the second access; of the first neither.
    both = data_sections({}, through, {1: frozenset({"task stack", "main stack"})}, {}, {})
    assert both.of == {}
    assert data_sections({}, through, {}, {}, {}).of == {}


def test_what_a_fact_says_of_several_sections_is_unknown_but_not_observed() -> None:
    own = {1: frozenset({"data"}), 2: frozenset({"data"})}
    found = data_sections({1: ("data", "stack"), 2: ("data", "objects")}, {}, own, own, JOINT)
    assert found.of == {2: "lists"}
    assert found.origins == {1: Origin.WRITTEN, 2: Origin.WRITTEN}
