"""A damaged run must end in an error, never in another count.

Every instruction and every access of real windows is changed in turn, and the run put back into a
valid file. Not every change can be seen: one that gives another run which the program could have
made (a branch decided the other way, a predicated access that had no effect) is no damage that a
trace shows. Those are told by the listing, see ``possible``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from chain_excerpt import READ, WRITE, Step, marked, steps
from chain_listing import Listing
from chain_made import SERVICES, Oracle
from chain_stream import Run, decode, encode
from chain_trial import Trial
from trace_writers import execlog, renode_binary, renode_text, stream

from wcetchar.errors import InputError
from wcetchar.pipeline import characterize as pipeline

pytest_plugins = ("chain_fixtures",)
pytestmark = pytest.mark.firmware

WINDOWS = [("xTaskNotifyGive", 0), ("uxListRemove", 0)]
LONG = [
    ("xSemaphoreTake", 0),
    ("pvPortMalloc", 2),
    ("vPortFree", 1),
    ("xTaskCreate", 1),
    ("xQueueReceive", 4),
]
each = pytest.mark.parametrize(
    "window",
    [*WINDOWS, *(pytest.param(row, marks=pytest.mark.long) for row in LONG)],
    indirect=True,
    ids=lambda row: row[0],
)


@dataclass
class Window:
    """A real call between its marks; ``inside``: its own instructions in ``whole``."""

    name: str
    whole: list[Step]
    inside: range


@pytest.fixture(scope="module")
def trial(firmware: Path, tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return Trial.of(firmware, tmp_path_factory.mktemp("mutations"))


@pytest.fixture(scope="module")
def parts(listing: Listing, run: Run, services: dict[str, Any]) -> dict[str, list[range]]:
    return marked(listing, run, services)


@pytest.fixture
def window(
    request: pytest.FixtureRequest,
    listing: Listing,
    run: Run,
    oracle: Oracle,
    parts: dict[str, list[range]],
) -> Window:
    name, number = request.param
    part = parts[name][number]
    counted = oracle.of(name)[number]
    begin = counted.steps[0] - part.start
    whole = steps(listing, run, [part])
    return Window(name, whole, range(begin, begin + len(counted.steps)))


Mutation = tuple[int, list[Step]]


def dropped(window: Window) -> Iterator[Mutation]:
    for i in window.inside:
        yield i, window.whole[:i] + window.whole[i + 1 :]


def doubled(window: Window) -> Iterator[Mutation]:
    for i in window.inside:
        yield i, window.whole[: i + 1] + window.whole[i:]


def swapped(window: Window) -> Iterator[Mutation]:
    for i in window.inside[:-1]:
        one, two = window.whole[i : i + 2]
        yield i, [*window.whole[:i], two, one, *window.whole[i + 2 :]]


def with_data(change: Callable[[tuple[Any, ...], int], tuple[Any, ...]]) -> Any:
    def mutations(window: Window) -> Iterator[Mutation]:
        for i in window.inside:
            step = window.whole[i]
            for k in range(len(step.data)):
                changed = replace(step, data=change(step.data, k))
                yield i, [*window.whole[:i], changed, *window.whole[i + 1 :]]

    return mutations


def with_width(width: int) -> Any:
    return with_data(
        lambda d, k: (
            (*d[:k], replace(d[k], width=width if d[k].width != width else 2), *d[k + 1 :])
        )
    )


def moved_on(window: Window) -> Iterator[Mutation]:
    """An access reported with the next instruction."""
    for i in window.inside[:-1]:
        one, two = window.whole[i : i + 2]
        if one.data:
            after = replace(two, data=(one.data[-1], *two.data))
            changed = [replace(one, data=one.data[:-1]), after]
            yield i, [*window.whole[:i], *changed, *window.whole[i + 2 :]]


MUTATIONS: dict[str, Callable[[Window], Iterator[Mutation]]] = {
    "an instruction dropped": dropped,
    "an instruction doubled": doubled,
    "two instructions swapped": swapped,
    "an access dropped": with_data(lambda d, k: d[:k] + d[k + 1 :]),
    "an access doubled": with_data(lambda d, k: d[: k + 1] + d[k:]),
    "an access of 8 bits": with_width(1),
    "an access of 32 bits": with_width(4),
    "an access of 64 bits": with_width(8),
    "a read for a write": with_data(
        lambda d, k: (
            *d[:k],
            replace(d[k], what=READ if d[k].what == WRITE else WRITE),
            *d[k + 1 :],
        )
    ),
    "an address elsewhere": with_data(
        lambda d, k: (*d[:k], replace(d[k], address=0x30000000 + 8 * k), *d[k + 1 :])
    ),
    "an access with the next instruction": moved_on,
}


def possible(listing: Listing, window: Window, changed: list[Step], at: int) -> bool:
    """The program could have made the changed run, as far as a listing can tell."""
    before, step = listing.lines[window.whole[at - 1].pc], listing.lines[window.whole[at].pc]
    if len(changed) == len(window.whole):
        # A predicated instruction without its accesses had no effect.
        return step.predicated and not changed[at].data
    if len(changed) < len(window.whole):
        # A conditional branch that leads to where the dropped instruction would have.
        target = int(before.operands.split()[-2], 16) if before.event == "branch untaken" else -1
        return target == changed[at].pc
    return False


@each
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_damage_ends_in_an_error(
    trial: Trial, listing: Listing, window: Window, mutation: str
) -> None:
    expected = trial.of_steps(window.whole)
    assert [service.name for service in expected] == [window.name]
    tried, accepted = 0, []
    for at, changed in MUTATIONS[mutation](window):
        if changed == window.whole or possible(listing, window, changed, at):
            continue
        tried += 1
        try:
            found = trial.of_steps(changed)
        except InputError as error:
            assert str(error)  # noqa: PT017
        else:
            same = "the same" if found == expected else "another"
            accepted.append(f"{at}: {window.whole[at].text}: {same} count")
    assert accepted == []
    assert tried > 5


# ---- around the window -------------------------------------------------------------------------


def refused(trial: Trial, changed: list[Step], message: str) -> None:
    with pytest.raises(InputError, match=message):
        trial.of_steps(changed)


@pytest.fixture
def malloc(listing: Listing, run: Run, parts: dict[str, list[range]]) -> list[list[Step]]:
    """pvPortMalloc between its marks, at N = 1..16."""
    return [steps(listing, run, [part]) for part in parts["pvPortMalloc"]]


def flat(calls: list[list[Step]]) -> list[Step]:
    return [step for call in calls for step in call]


def marks(whole: list[Step], listing: Listing) -> list[int]:
    base, size = listing.symbols["wcet_mark"]
    return [
        i
        for i, step in enumerate(whole)
        if any(d.what == WRITE and base <= d.address < base + size for d in step.data)
    ]


def remarked(step: Step, distance: int) -> Step:
    (data,) = step.data
    return replace(step, data=(replace(data, address=data.address + distance),))


def test_marks_that_do_not_pair(trial: Trial, malloc: list[list[Step]], listing: Listing) -> None:
    call = malloc[4]
    parameter, _, _, begin, end = marks(call, listing)  # the other two are its cases

    def without(at: int) -> list[Step]:
        return [*call[:at], replace(call[at], data=()), *call[at + 1 :]]

    def moved(at: int, distance: int) -> list[Step]:
        return [*call[:at], remarked(call[at], distance), *call[at + 1 :]]

    refused(trial, without(parameter), "was not marked")
    refused(trial, without(begin), "without its begin mark")
    refused(trial, without(end), "ends inside|without its end|before the end mark")
    refused(trial, flat([without(end), malloc[5]]), "inside pvPortMalloc")
    refused(trial, call[:end] + call[begin:], "inside pvPortMalloc")
    refused(trial, call + call[end:], "without its begin mark")
    refused(trial, moved(parameter, 20), "N = 22")
    refused(trial, moved(begin, 4000), "which no service has")
    refused(trial, moved(begin, 1), "vPortFree begins with a parameter 2")
    refused(trial, call[: end - 20], "ends inside")
    refused(trial, call[: begin + 1] + call[end:], "never entered")


def test_a_call_that_is_not_seen(trial: Trial, malloc: list[list[Step]], oracle: Oracle) -> None:
    call = malloc[2]
    first = next(i for i, step in enumerate(call) if step.text.startswith("bl "))
    refused(trial, call[:first] + call[first + 1 :], "no call of it was seen")


def test_exceptions_that_do_not_pair(
    trial: Trial, listing: Listing, run: Run, parts: dict[str, list[range]]
) -> None:
    """In windows with a handler of their own inside, and in those of a handler."""
    for name in ("xTaskNotifyGive_waiter", "tick_interrupt", "context_switch", "vTaskDelay_first"):
        whole = steps(listing, run, [parts[name][0]])
        expected = trial.of_steps(whole)
        assert {service.name.partition("/")[0] for service in expected} == {name}
        changes = 0
        for i, step in enumerate(whole):
            for change in ({"enters": 0}, {"leaves": 0}):
                changed = replace(step, **change)  # type: ignore[arg-type]
                if changed == step:
                    continue
                changes += 1
                try:
                    found = trial.of_steps([*whole[:i], changed, *whole[i + 1 :]])
                except InputError:
                    continue
                assert found == expected, f"{name}, {change} at {i}: {step.text}"
        assert changes >= 2


# ---- files and images --------------------------------------------------------------------------


def test_a_changed_byte_or_a_lost_end(
    firmware: Path, trial: Trial, malloc: list[list[Step]], tmp_path: Path
) -> None:
    data = stream(flat(malloc))
    assert trial.of_bytes(data)
    for at in range(0, len(data), max(1, len(data) // 41)):
        with pytest.raises(InputError):
            trial.of_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        with pytest.raises(InputError):
            trial.of_bytes(data[:at])


def test_the_whole_trace_written_again(
    firmware: Path, capture: Path, trial: Trial, published: dict[str, Any], tmp_path: Path
) -> None:
    """The tests' own encoder is right: the real trace, taken apart and put together, reads well.
    With another hash it is of another image; with one opcode changed, too."""
    whole = decode(capture)
    cut = next(i for i, word in enumerate(whole.words) if i > 20_000 and word >= 32)
    whole.words = whole.words[:cut]
    whole.operands = whole.operands[: sum(word < 32 for word in whole.words)]
    found = trial.of_bytes(encode(whole))
    assert {service.name for service in found} <= {s["name"] for s in published["services"]}
    executed = next(word for word in reversed(whole.words) if word >= 32) - 32
    address, code = whole.definitions[executed]
    whole.definitions[executed] = (address, bytes([code[0] ^ 1]) + code[1:])
    with pytest.raises(InputError, match="the image holds"):
        trial.of_bytes(encode(whole))
    whole.definitions[executed] = (address, code)
    whole.header["image_sha256"] = "00" * 32
    with pytest.raises(InputError, match="image"):
        trial.of_bytes(encode(whole))


@pytest.mark.parametrize(
    ("write", "format"),
    [
        (execlog, "execlog-8.2"),
        (renode_text("PCAndOpcode"), None),
        (renode_text("PC"), "renode-pc"),
        (renode_binary(5), None),
        (renode_binary(4, opcodes=False), None),
    ],
    ids=["execlog", "Renode text", "Renode PC", "Renode binary", "Renode binary, PC only"],
)
def test_another_image(
    write: Any, format: str | None, firmware: Path, malloc: list[list[Step]], tmp_path: Path
) -> None:
    """The same kernel with its assertions compiled in: other code at the same addresses."""
    other = firmware.with_name("freertos-check.elf")
    if not other.exists():
        pytest.skip(f"{other.name} is not built")
    path = tmp_path / "trace"
    path.write_bytes(write(flat(malloc)))

    def characterized(image: Path) -> Any:
        return pipeline.run(
            pipeline.Request(str(image), (str(path),), SERVICES, format, None, True)
        )

    assert len(characterized(firmware).services) == 1
    with pytest.raises(InputError):
        characterized(other)
