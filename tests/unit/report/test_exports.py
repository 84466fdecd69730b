"""Exports for viewers, read by the viewers' own programs and reference parsers: what is in them,
and that no name breaks them."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hand_exports import HOSTILE, invocation, random_export
from needs import need
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

from wcetchar.model.characterization import StretchKind
from wcetchar.model.invocation import (
    CallFrame,
    Exported,
    Function,
    HeldOff,
    Interruption,
    PricedInvocation,
    Segment,
)
from wcetchar.report import execution
from wcetchar.report.callgrind import callgrind
from wcetchar.report.names import shown
from wcetchar.report.perfetto import perfetto
from wcetchar.report.speedscope import speedscope

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = ROOT / "build" / "viewers" / "file-format-schema.json"
RANDOM = range(30)
PLAIN = ("alpha", "beta", "gamma", "delta", "core", "flash", "a file.c", "src/b.c", "Total")

A = Function(0x100, "a", "src/a.c", 10)
B = Function(0x200, "b", "src/b.c", 20)
C = Function(0x300, "c")


def small() -> Exported:
    """a calls b twice, of which the second goes on in c: costs of 1, 2, 4 ... thousand."""
    frames = (
        CallFrame(A, 0, 7),
        CallFrame(B, 1, 2, 0, 0),
        CallFrame(B, 4, 6, 0, 3),
        CallFrame(C, 6, 6, 2, 5),
    )
    address = (0x100, 0x200, 0x202, 0x102, 0x200, 0x202, 0x300, 0x104)
    ps = [1000 << n for n in range(8)]
    lines = {0x100: ("src/a.c", 11), 0x102: ("src/a.c", 12), 0x104: ("inc/i.h", 3)}
    lines |= {0x200: ("src/b.c", 21), 0x202: ("src/b.c", 21)}
    one = invocation(
        frames,
        address,
        [*ps, 512_000],
        values={"N": 3},
        columns=("core", "flash"),
        column_ps=(
            [1000, 0, 0, 0, 0, 0, 64_000, 128_000, 0],
            [0, *ps[1:6], 0, 0, 512_000],
        ),
        held=(HeldOff(StretchKind.INTERRUPTS, 2, 3),),
        segments=(Segment(0, 1), Segment(3, 5, Interruption.THREAD)),
    )
    return Exported("k.elf", "board", "map", (one,), lines, ("assumed: nothing",))


# --- callgrind --------------------------------------------------------------------------------


def annotated(text: str, folder: Path, *options: str) -> str:
    """What callgrind_annotate prints; it must have nothing to complain about."""
    need("callgrind_annotate", "valgrind")
    file = folder / "callgrind.out"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["callgrind_annotate", "--threshold=100", "--show-percs=no", *options, str(file)],
        capture_output=True,
        check=False,
        cwd=folder,
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")
    return done.stdout.decode()


def table(text: str) -> tuple[list[str], list[int], dict[str, list[int]]]:
    """Events, the program's totals, and costs of each function, without the object's name."""
    events = re.search(r"^Events shown: +(.*)$", text, re.MULTILINE)
    assert events is not None
    names = events[1].split()
    numbers = rf"^ *((?:[\d,]+ +){{{len(names)}}}) *(\S.*)$"
    functions: dict[str, list[int]] = {}
    totals: list[int] = []
    for match in re.finditer(numbers, text, re.MULTILINE):
        values = [int(one.replace(",", "")) for one in match[1].split()]
        if match[2] == "PROGRAM TOTALS":
            totals = values
        else:
            functions[match[2].removesuffix(" [k.elf]")] = values
    return names, totals, functions


def test_callgrind_by_hand(tmp_path: Path) -> None:
    text = "".join(callgrind(small(), "test"))
    events, totals, functions = table(annotated(text, tmp_path, "--auto=no"))
    assert events == ["Total", "core", "flash", "Instructions"]
    assert totals == [767_000, 193_000, 574_000, 8]
    # Callgrind's own tool lists code of another file apart.
    assert functions == {
        "src/a.c:a": [9_000, 1_000, 8_000, 2],
        "inc/i.h:a": [128_000, 128_000, 0, 1],
        "src/b.c:b": [54_000, 0, 54_000, 4],
        "???:c": [64_000, 64_000, 0, 1],
        "???:[lines that caches load]": [512_000, 0, 512_000, 0],
    }
    _, _, inclusive = table(annotated(text, tmp_path, "--auto=no", "--inclusive=yes"))
    assert inclusive["???:[service N=3]"] == totals
    assert inclusive["src/a.c:a"] == [255_000, 193_000, 62_000, 8]
    assert inclusive["src/b.c:b"] == [118_000, 64_000, 54_000, 5]


def test_callgrind_lines_by_hand(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for name in ("a", "b"):
        (tmp_path / "src" / f"{name}.c").write_text("".join(f"{name}{n}\n" for n in range(1, 40)))
    text = annotated("".join(callgrind(small(), "test")), tmp_path, "--auto=yes", "--show=Total")
    lines = dict(
        reversed(match.groups()) for match in re.finditer(r"^ *([\d,]+) +([ab]\d+)$", text, re.M)
    )
    assert lines == {"a11": "1,000", "a12": "8,000", "b21": "54,000"}
    calls = re.findall(r"^ *([\d,]+) +=> (\S+) \((\d+)x\)", text, re.MULTILINE)
    assert sorted(calls) == [
        ("112,000", "src/b.c:b", "1"),
        ("6,000", "src/b.c:b", "1"),
        ("64,000", "???:c", "1"),
    ]


def sums(exported: Exported) -> tuple[Counter[str], Counter[tuple[str, str, int, int]]]:
    """By column, and by function, file, address and line: straight from the definition."""
    columns: Counter[str] = Counter()
    lines: Counter[tuple[str, str, int, int]] = Counter()
    for one in exported.invocations:
        for name, times in zip(one.columns, one.column_ps, strict=True):
            columns[name] += int(times.sum())
        for position, address in enumerate(one.traced.address.tolist()):
            function = innermost(one, position).function
            file, line = exported.lines.get(address, (function.file, 0))
            place = (shown(function.name), shown(file or "???"), address, line)
            lines[place] += int(one.total_ps[position])
    return columns, lines


def innermost(one: PricedInvocation, position: int) -> CallFrame:
    around = [frame for frame in one.traced.frames if frame.first <= position <= frame.last]
    return min(around, key=lambda frame: frame.last - frame.first - around.index(frame))


@pytest.mark.parametrize("number", RANDOM)
@pytest.mark.parametrize("names", [HOSTILE, PLAIN], ids=["hostile", "plain"])
def test_callgrind_of_random_ones(number: int, names: tuple[str, ...], tmp_path: Path) -> None:
    exported = random_export(number, names)
    text = "".join(callgrind(exported, "test"))
    columns, _ = sums(exported)
    events, totals, functions = table(annotated(text, tmp_path, "--auto=no"))
    assert len(events) == len(set(events)) == len(columns) + 2
    assert events[0] == "Total"
    assert totals[0] == sum(int(one.until[-1]) for one in exported.invocations)
    assert totals[1:-1] == [columns[name] for name in sorted(columns)]
    assert totals[-1] == sum(len(one.traced) for one in exported.invocations)
    assert [sum(each) for each in zip(*functions.values(), strict=True)] == totals


def lines_of(text: str) -> Counter[tuple[str, str, int, int]]:
    """Own costs by function, file, address and line: a reader of the format's grammar, for what
    callgrind_annotate does not print."""
    known: dict[str, dict[str, str]] = {"f": {}, "fn": {}}
    found: Counter[tuple[str, str, int, int]] = Counter()
    function = file = ""
    is_call = False

    def name(kind: str, value: str) -> str:
        match = re.fullmatch(r"\((\d+)\)(?: (.*))?", value)
        assert match is not None
        if match[2] is not None:
            known[kind][match[1]] = match[2]
        return known[kind][match[1]]

    for line in text.split("\nevents: ", 1)[1].split("\n")[1:]:
        key, _, value = line.partition("=")
        if key in ("fl", "fi", "fe"):
            file = name("f", value)
        elif key == "cfi":
            name("f", value)
        elif key == "fn":
            function = name("fn", value)
        elif key == "cfn":
            name("fn", value)
        elif key == "calls":
            is_call = True
        elif line[:1].isdigit():
            address, number, total, *_ = line.split()
            if not is_call:
                found[function, file, int(address, 16), int(number)] += int(total)
            is_call = False
    return found


@pytest.mark.parametrize("number", RANDOM)
def test_callgrind_lines_of_random_ones(number: int) -> None:
    exported = random_export(number, PLAIN)
    _, expected = sums(exported)
    found = lines_of("".join(callgrind(exported, "test")))
    loaded = sum(one.loaded_ps for one in exported.invocations)
    assert found.pop(("[lines that caches load]", "???", 0, 0), 0) == loaded
    assert +found == +expected


# --- perfetto ---------------------------------------------------------------------------------


def tracks_of(data: bytes) -> dict[tuple[str, ...], list[tuple[Any, ...]]]:
    """Slices by the path of their track: (depth, name, begin, end), by the rules of Perfetto's
    trace processor: events in the order of time, those at one time as they stand in the file; an
    end closes what was begun last on its track."""
    trace = protos.Trace()
    trace.ParseFromString(data)
    paths: dict[int, tuple[str, ...]] = {0: ()}
    found: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
    opened: dict[int, list[list[Any]]] = {}
    assert {packet.trusted_packet_sequence_id for packet in trace.packet} == {1}
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in paths
            paths[track.uuid] = (*paths[track.parent_uuid], track.name)
    assert len(set(paths.values())) == len(paths)
    events = [packet for packet in trace.packet if packet.HasField("track_event")]
    for packet in sorted(events, key=lambda packet: packet.timestamp):
        event = packet.track_event
        stack = opened.setdefault(event.track_uuid, [])
        slices = found.setdefault(paths[event.track_uuid], [])
        if event.type == protos.TrackEvent.TYPE_SLICE_END:
            stack.pop()[3] = packet.timestamp
            continue
        begun = [len(stack), event.name, packet.timestamp, packet.timestamp]
        begun.append({note.name: note.string_value for note in event.debug_annotations})
        slices.append(begun)  # type: ignore[arg-type]
        if event.type == protos.TrackEvent.TYPE_SLICE_BEGIN:
            stack.append(begun)
        else:
            assert event.type == protos.TrackEvent.TYPE_INSTANT
    assert not any(opened.values())
    return {path: [tuple(one) for one in slices] for path, slices in found.items()}


def test_perfetto_by_hand() -> None:
    tracks = tracks_of(perfetto(small(), "test"))
    whole = "k.elf on board, map map"
    assert [path[1:] for path in tracks] == [
        ("thread 1",),
        ("thread 1", "interrupts held off"),
        ("thread 1", "interrupted by"),
    ]
    slices = tracks[whole, "thread 1"]
    assert [one[:4] for one in slices] == [
        (0, "service N=3", 0, 767),
        (1, "a", 0, 255),
        (2, "b", 1, 7),
        (2, "b", 15, 127),
        (3, "c", 63, 127),
        (1, "lines that caches load", 255, 767),
    ]
    assert slices[0][4] == {
        "service": "service",
        "N": "3",
        "ns": "767",
        "exactly, ns": "767",
        "word": "high-water mark",
    }
    assert slices[1][4] == {"file": "src/a.c:10"}
    held = tracks[whole, "thread 1", "interrupts held off"]
    assert [one[:4] for one in held] == [(0, "interrupts held off", 3, 15)]
    interrupted = tracks[whole, "thread 1", "interrupted by"]
    assert [one[:4] for one in interrupted] == [
        (0, "another thread, whose time is not shown", 7, 7)
    ]
    trace = protos.Trace()
    trace.ParseFromString(perfetto(small(), "test"))
    (described,) = (p.track_descriptor.description for p in trace.packet if "assumed" in str(p))
    assert described.splitlines()[1] == "Note: assumed: nothing"


@pytest.mark.parametrize("number", RANDOM)
@pytest.mark.parametrize("names", [HOSTILE, PLAIN], ids=["hostile", "plain"])
def test_perfetto_of_random_ones(number: int, names: tuple[str, ...]) -> None:
    """Every frame is there, by its name and depth; together the slices take all of the time."""
    exported = random_export(number, names)
    tracks = tracks_of(perfetto(exported, "test"))
    main = [one for path, slices in tracks.items() if len(path) == 2 for one in slices]
    expected = Counter[tuple[int, str]]()
    for one in exported.invocations:
        expected[0, shown(one.name)] += 1
        depths: list[int] = []
        for frame in one.traced.frames:
            depths.append(1 if frame.caller < 0 else depths[frame.caller] + 1)
            expected[depths[-1], shown(frame.function.name)] += 1
        if one.loaded_ps:
            expected[1, execution.LOADED] += 1
    assert Counter((depth, name) for depth, name, *_ in main) == expected
    whole = sum(int(one.until[-1]) for one in exported.invocations)
    assert max(one[3] for one in main) == -(-whole // 1000)
    assert all(len(part) <= 400 for path in tracks for part in path[1:])


# --- speedscope -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def schema() -> Any:
    """The schema that speedscope ships."""
    if not SCHEMA.exists():
        pytest.skip("speedscope's schema is not there: scripts/viewers.sh gets it by npm")
    return json.loads(SCHEMA.read_text())


def profiles_of(document: Any) -> Iterator[list[tuple[int, str, float, float]]]:
    """(depth, name, begin, end) of each profile, as speedscope's importer reads them: a frame that
    closes is the one that was opened last, and time does not go back."""
    names = [frame["name"] for frame in document["shared"]["frames"]]
    for profile in document["profiles"]:
        opened: list[list[Any]] = []
        found: list[list[Any]] = []
        now = profile["startValue"]
        for event in profile["events"]:
            assert event["at"] >= now
            now = event["at"]
            if event["type"] == "O":
                opened.append([event["frame"], len(opened), now])
                found.append([len(opened) - 1, names[event["frame"]], now, None])
                opened[-1].append(found[-1])
            else:
                frame, _, _, made = opened.pop()
                assert frame == event["frame"]
                made[3] = now
        assert not opened
        assert now <= profile["endValue"]
        yield [tuple(one) for one in found]


def test_speedscope_by_hand(schema: Any) -> None:
    document = json.loads(speedscope(small(), "test"))
    jsonschema.validate(document, schema)
    (profile,) = profiles_of(document)
    assert profile == [
        (0, "a", 0, 255),
        (1, "b", 1, 7),
        (1, "b", 15, 127),
        (2, "c", 63, 127),
        (0, "lines that caches load", 255, 767),
    ]
    (one,) = document["profiles"]
    assert (one["name"], one["unit"], one["endValue"]) == ("service N=3", "nanoseconds", 767)
    assert document["shared"]["frames"][0] == {"name": "a", "file": "src/a.c", "line": 10}


@pytest.mark.parametrize("number", RANDOM)
def test_speedscope_of_random_ones(number: int, schema: Any) -> None:
    exported = random_export(number)
    document = json.loads(speedscope(exported, "test"))
    jsonschema.validate(document, schema)
    for one, profile in zip(exported.invocations, profiles_of(document), strict=True):
        until = one.until.tolist()
        frames = one.traced.frames
        assert [(name, begin, end) for _, name, begin, end in profile][: len(frames)] == [
            (shown(f.function.name), until[f.first] / 1000, until[f.last + 1] / 1000)
            for f in frames
        ]


# --- all of them ------------------------------------------------------------------------------


def chain(depth: int, instructions: int | None = None) -> Exported:
    """Functions that each call the next."""
    number = instructions or depth
    frames = [CallFrame(A, n, number - 1, n - 1, n - 1) for n in range(depth)]
    one = invocation(frames, [0x100] * number, [1] * number + [0])
    return Exported("k.elf", "board", "map", (one,), {})


def test_how_deep() -> None:
    deepest = chain(execution.DEEPEST - 1)
    (slices,) = tracks_of(perfetto(deepest, "test")).values()
    assert max(depth for depth, *_ in slices) == execution.DEEPEST - 1
    for write in (perfetto, speedscope):
        with pytest.raises(ValueError, match=f"nests {execution.DEEPEST + 1} slices"):
            write(chain(execution.DEEPEST), "test")
    assert "calls=" in "".join(callgrind(chain(20_000), "test"))


def test_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    number = 3 + 1 + 1  # frames, segments and itself
    monkeypatch.setattr(execution, "MOST_SLICES", number)
    assert perfetto(chain(3), "test")
    for write in (perfetto, speedscope):
        with pytest.raises(ValueError, match=f"{number + 1} slices, and {number} can be shown"):
            write(chain(4), "test")


def test_the_same_bytes() -> None:
    for number in RANDOM:
        one, two = random_export(number), random_export(number)
        # Contexts have other numbers on every run.
        moved = replace(
            two,
            invocations=tuple(
                replace(each, traced=replace(each.traced, thread=each.traced.thread + 1000))
                for each in two.invocations
            ),
        )
        assert perfetto(one, "t") == perfetto(moved, "t")
        assert list(callgrind(one, "t")) == list(callgrind(moved, "t"))
        assert speedscope(one, "t") == speedscope(moved, "t")


def test_long_names_stay_apart() -> None:
    one, two, three = "x" * 1000, "x" * 999 + "y", "x" * 400
    assert len({shown(one), shown(two), shown(three)}) == 3
    assert all(len(shown(name)) <= 400 for name in (one, two, three))
    assert "1,000 characters" in shown(one)
    assert shown(three) == three
