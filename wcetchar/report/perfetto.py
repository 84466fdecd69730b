"""Priced invocations as a trace of Perfetto: track events in its protocol buffers.

The format: https://perfetto.dev/docs/reference/trace-packet-proto (``TracePacket``,
``TrackDescriptor``, ``TrackEvent``, ``DebugAnnotation``). Timestamps are whole nanoseconds, rounded
up where times add up; each invocation tells its exact time beside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from wcetchar.model.invocation import Exported
from wcetchar.report.execution import Slice, Track, timeline
from wcetchar.report.names import LONGEST_NOTE, shown
from wcetchar.report.protobuf import field

# Numbers of fields.
_PACKET: Final = 1  # of Trace
_TIMESTAMP, _SEQUENCE, _EVENT, _FLAGS, _TRACK = 8, 10, 11, 13, 60  # of TracePacket
_UUID, _NAME, _PARENT, _ORDERING, _RANK, _DESCRIPTION, _MERGE = 1, 2, 5, 11, 12, 14, 15  # a track's
_NOTE, _TYPE, _OF_TRACK, _EVENT_NAME = 4, 9, 11, 23  # of TrackEvent
_NOTE_NAME, _NOTE_TEXT = 10, 6  # of DebugAnnotation

_BEGIN, _END, _INSTANT = 1, 2, 3  # TrackEvent.Type
_CLEARED: Final = 1  # TracePacket.SequenceFlags: what was said before is forgotten
_EXPLICIT: Final = 3  # TrackDescriptor.ChildTracksOrdering
_NEVER: Final = 2  # TrackDescriptor.SiblingMergeBehavior
_ONE: Final = 1  # the only sequence of packets
_PICOSECONDS: Final = 1000


def perfetto(exported: Exported, creator: str) -> bytes:
    """The trace. ``creator``: the program and its version.

    Raises:
        ValueError: it is larger than can be shown.
    """
    tracks = timeline(exported)
    whole = Track(
        f"{shown(exported.object)} on {shown(exported.profile)}, map {shown(exported.section_map)}",
        below={str(number): track for number, track in enumerate(tracks)},
    )
    notes = [
        f"Times are what {creator} prices the traced instructions at, in nanoseconds, rounded up.",
        *(f"Note: {note}" for note in exported.notes),
    ]
    packets = [field(_FLAGS, _CLEARED)]
    events: list[tuple[int, bytes]] = []
    _Written(packets, events).write(whole, "\n".join(shown(note, LONGEST_NOTE) for note in notes))
    events.sort(key=lambda event: event[0])  # those of one track stay in their order
    packets += (field(_TIMESTAMP, time) + field(_EVENT, event) for time, event in events)
    return b"".join(field(_PACKET, packet + field(_SEQUENCE, _ONE)) for packet in packets)


class _Written:
    """Packets of tracks, and events with their times."""

    def __init__(self, packets: list[bytes], events: list[tuple[int, bytes]]) -> None:
        self._packets, self._events = packets, events
        self._tracks = 0

    def write(self, track: Track, description: str = "", parent: int = 0, rank: int = 0) -> None:
        """With all below it."""
        self._tracks += 1
        number = self._tracks
        described = [field(_UUID, number), field(_NAME, shown(track.name))]
        if parent:
            described.append(field(_PARENT, parent))
        described += [field(_ORDERING, _EXPLICIT), field(_RANK, rank), field(_MERGE, _NEVER)]
        if description:
            described.append(field(_DESCRIPTION, description))
        self._packets.append(field(_TRACK, b"".join(described)))
        for time, event in _events(track.slices):
            self._events.append((time, field(_OF_TRACK, number) + event))
        for place, below in enumerate(track.below.values()):
            self.write(below, parent=number, rank=place)


def _events(slices: Sequence[Slice]) -> Iterator[tuple[int, bytes]]:
    """Begins and ends in their order; a slice without length that holds nothing is an instant."""
    for one in slices:
        begin, end = (-(-time // _PICOSECONDS) for time in (one.begin, one.end))
        what = field(_EVENT_NAME, shown(one.name)) + b"".join(
            field(_NOTE, field(_NOTE_NAME, shown(name)) + field(_NOTE_TEXT, shown(text)))
            for name, text in one.details
        )
        if one.begin == one.end and not one.inside:
            yield begin, field(_TYPE, _INSTANT) + what
            continue
        yield begin, field(_TYPE, _BEGIN) + what
        yield from _events(one.inside)
        yield end, field(_TYPE, _END)
