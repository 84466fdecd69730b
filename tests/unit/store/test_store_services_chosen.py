"""What one services file chooses of others: settings with other values, the services that are
read, and assumptions that go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from wcetchar.errors import InputError, InputErrors, Location
from wcetchar.model.service import LeftOut
from wcetchar.store import load_services

ALL = """\
schema: wcetchar/services/1
kernel: {name: FreeRTOS, version: V11, configuration: {heap: heap_4, PRIORITIES: 5}}
marks: {symbol: wcet_mark, values: 64}
sections:
  .text: {kind: code, linker sections: [.text]}
assumptions:
  - the heap is set up
services:
  take: {mark: 1, kind: call, entries: [take]}
  give: {mark: 2, kind: call, entries: [give]}
  tick: {mark: 3, kind: call, entries: [tick]}
"""
CHOICE = """\
schema: wcetchar/services/1
configuration instead: {heap: heap_2}
only services: [give, take]
assumptions:
  - nothing merges
instead:
  take: {description: take from heap_2}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("chosen"))


def written(**texts: str) -> tuple[str, ...]:
    for name, text in texts.items():
        Path(f"{name}.yaml").write_text(text)
    return tuple(f"{name}.yaml" for name in texts)


def mistakes(**texts: str) -> list[str]:
    with pytest.raises((InputError, InputErrors)) as caught:
        load_services(*written(**texts))
    errors = caught.value.errors if isinstance(caught.value, InputErrors) else [caught.value]
    return [f"{error.where}: {error.message}" for error in errors]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_what_is_chosen(order: str) -> None:
    texts = {"a": ALL, "b": CHOICE}
    found = load_services(*written(**{name: texts[name] for name in order}))
    assert found.kernel.configuration == {"heap": "heap_2", "PRIORITIES": "5"}
    # In the order of the file that describes them.
    assert [(s.name, s.mark, s.description) for s in found.services] == [
        ("take", 1, "take from heap_2"),
        ("give", 2, ""),
    ]
    said = {"a": "the heap is set up", "b": "nothing merges"}
    assert found.assumptions == tuple(said[name] for name in order)
    assert found.where("assumptions", order.index("b")) == Location("b.yaml", 5, 5)
    assert found.where("assumptions", order.index("a")) == Location("a.yaml", 7, 5)
    assert found.where("kernel", "configuration", "heap") == Location("b.yaml", 2, 31)
    assert found.where("services", "give", "mark") == Location("a.yaml", 10, 16)


def test_a_service_that_is_left_out_may_be_wrong_elsewhere() -> None:
    """What is not read is not looked at; what is, is."""
    wrong = ALL.replace("mark: 3", "mark: 300")
    assert len(load_services(*written(a=wrong, b=CHOICE)).services) == 2
    wrong = ALL.replace("mark: 2", "mark: 200")
    assert mistakes(a=wrong, b=CHOICE) == [
        "a.yaml:10:16: the mark 200 does not fit a channel of 64 values"
    ]


def test_settings_that_cannot_be_chosen() -> None:
    assert mistakes(a=ALL, b=CHOICE.replace("heap: heap_2", "stack: 1")) == [
        "b.yaml:2:25: `stack` stands in no other file"
    ]
    assert mistakes(a=ALL, b=CHOICE.replace("{heap: heap_2}", "[heap]")) == [
        "b.yaml:2:1: this is no mapping"
    ]
    again = "schema: wcetchar/services/1\nconfiguration instead: {heap: heap_5}\n"
    assert mistakes(a=ALL, b=CHOICE, c=again) == [
        "b.yaml:2:25: the key `heap` is given twice, again at c.yaml:2:25",
        "c.yaml:2:25: the key `heap` is given twice, first at b.yaml:2:25",
    ]
    wrong = CHOICE.replace("{heap: heap_2}", "{heap: [1]}")
    assert mistakes(a=ALL, b=wrong)[0].startswith("b.yaml:2:31: ")


def test_services_that_cannot_be_chosen() -> None:
    def only(names: str) -> list[str]:
        return mistakes(a=ALL, b=CHOICE.replace("[give, take]", names))

    assert only("[give, take, tock]") == ["b.yaml:3:29: `tock` stands in no file"]
    assert only("[give, take, give]") == ["b.yaml:3:29: `give` is listed twice"]
    assert only("[give]") == ["b.yaml:7:10: `take` is not among the `only services`"]
    assert only("[]") == ["b.yaml:3:1: this is no list of names"]
    assert only("give") == ["b.yaml:3:1: this is no list of names"]
    again = "schema: wcetchar/services/1\nonly services: [tick]\n"
    assert mistakes(a=ALL, b=CHOICE, c=again) == [
        "c.yaml:2:1: the key `only services` is given twice, first at b.yaml:3:1"
    ]


def test_a_single_file_chooses_nothing() -> None:
    for key in ("only services: [take]", "configuration instead: {heap: heap_2}"):
        name = key.partition(":")[0]
        assert mistakes(a=ALL + key) == [f"a.yaml:12:1: the key `{name}` is not known here"]


LEFT_OUT = """\
schema: wcetchar/services/1
left out:
  - because: they are inline
    calls: [yield, lock]
  - because: it is odd
    calls: {odd: very, 7: a number}
"""


def test_calls_that_are_left_out() -> None:
    """In as many files as there are, in the order of these."""
    more = "schema: wcetchar/services/1\nleft out: [{because: rare, calls: [rare]}]\n"
    found = load_services(*written(a=ALL, b=LEFT_OUT, c=more))
    assert found.left_out == (
        LeftOut("they are inline", ("yield", "lock")),
        LeftOut("it is odd", ("odd", "7")),
        LeftOut("rare", ("rare",)),
    )
    assert load_services(*written(a=ALL)).left_out == ()


@pytest.mark.parametrize(
    ("text", "instead", "mistake"),
    [
        ("lock", "take", "b.yaml:4:20: `take` is a service"),
        ("lock", "yield", "b.yaml:4:20: `yield` is left out twice"),
        ("odd:", "lock:", "b.yaml:6:13: `lock` is left out twice"),
        ("[yield, lock]", "[]", "b.yaml:4:12: "),
        ("because: it is odd\n    ", "", "b.yaml:5:5: the key `because` is missing"),
    ],
)
def test_a_call_is_left_out_once_and_no_service(text: str, instead: str, mistake: str) -> None:
    (found,) = mistakes(a=ALL, b=LEFT_OUT.replace(text, instead))
    assert found.startswith(mistake)


def test_the_sections_of_a_kernel_are_given_by_the_name_of_a_shipped_part() -> None:
    """A file of that name comes first."""
    lines = [line for line in ALL.splitlines() if "sections" not in line and ".text" not in line]
    alone = "\n".join(lines)
    found = load_services(*written(a=alone), "zephyr-riscv")
    assert {"text", "rodata"} <= {section.name for section in found.sections}
    assert found.where("sections", "text").file.endswith("zephyr-riscv.yaml")
    Path("zephyr-riscv").write_text("schema: wcetchar/services/1\nsections: {own: {kind: code}}\n")
    with pytest.raises(InputError, match="own"):
        load_services("a.yaml", "zephyr-riscv")
    with pytest.raises(InputError, match="No such file"):
        load_services("a.yaml", "zephyr-sparc")
