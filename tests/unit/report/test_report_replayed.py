"""Replays beside models as tables: figures by hand, unsafe rows first and in words."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction

import pytest

from wcetchar.model.cache import CacheGeometry
from wcetchar.model.replayed import CacheKind, Loads, Replay, Replayed, ReplayedRow
from wcetchar.model.section_map import CacheState
from wcetchar.report import replayed

ALWAYS, COLD, WARM = CacheState.ALWAYS_MISS, CacheState.COLD, CacheState.WARM


def lines(number: int) -> Loads:
    """Of 110 ns each."""
    return Loads(number, Fraction(110 * number))


def row(
    executed: tuple[int, int] = (8, 2),
    in_vain: tuple[int, int] | None = (9, 3),
    says: tuple[int, ...] = (20, 10, 4),
    service: str = "svc",
    **parameters: int,
) -> ReplayedRow:
    return ReplayedRow(
        CacheKind.INSTRUCTIONS if in_vain else CacheKind.DATA,
        service,
        parameters,
        3,
        Replay(*map(lines, executed)),
        Replay(*map(lines, in_vain)) if in_vain else None,
        dict(zip(CacheState, map(lines, says), strict=False)),
    )


def view(*rows: ReplayedRow) -> replayed.ReplayView:
    caches = {one.cache: CacheGeometry(32, 128) for one in rows}
    return replayed.view_of(Replayed("board", "map", rows, caches, 0, ("a note",)))


@pytest.mark.parametrize(
    ("executed", "in_vain", "unsafe"),
    [
        ((10, 4), (10, 4), ()),
        ((11, 4), (10, 4), (COLD,)),
        ((10, 4), (11, 4), (COLD,)),
        ((10, 5), (10, 4), (WARM,)),
        ((10, 4), (10, 5), (WARM,)),
        ((21, 4), (21, 4), (ALWAYS, COLD)),
    ],
)
def test_a_model_below_either_replay_is_unsafe(
    executed: tuple[int, int], in_vain: tuple[int, int], unsafe: tuple[CacheState, ...]
) -> None:
    assert row(executed, in_vain).unsafe == unsafe


def test_dearer_lines_are_unsafe_as_well() -> None:
    """As many lines, but of a slower memory."""
    one = row((10, 4), None)
    slow = Replay(Loads(10, Fraction(1101)), lines(4))
    assert not one.unsafe
    unsafe = ReplayedRow(one.cache, "svc", {}, 1, slow, None, one.models).unsafe
    assert unsafe == (COLD,)


def test_a_state_that_is_not_priced_is_no_comparison() -> None:
    one = row(says=(20,))
    assert one.unsafe == ()
    assert one.over(COLD) is None
    assert one.over(ALWAYS) == Fraction(3, 2)


def test_by_how_much_a_model_is_over() -> None:
    one = row()
    assert [one.over(state) for state in CacheState] == [Fraction(3, 2), Fraction(1, 4), 1]
    assert [one.over(COLD, in_vain=True), one.over(WARM, in_vain=True)] == [
        Fraction(1, 9),
        Fraction(1, 3),
    ]
    assert row((8, 0)).over(WARM) is None


def test_unsafe_rows_come_first_and_are_told() -> None:
    found = view(row(N=1), row((12, 2), N=2), row((10, 2), N=3))
    assert [r.parameters["N"] for r in found.rows] == [2, 1, 3]
    assert len(found.unsafe) == 1
    assert replayed.unsafe_text(found.unsafe[0]) == (
        "svc at N=2, instruction cache: cold says 10, replay 12"
    )
    shown = replayed.terminal(found)
    assert shown.startswith("1 UNSAFE of 3 rows replayed on board (map map)")
    assert "instruction cache: UNSAFE, a replay loads more" in shown
    assert "4096 bytes, 1 way, lines of 32 bytes" in shown
    assert "-16.7 %" in shown
    assert view(row()).unsafe == ()
    assert replayed.terminal(view(row())).startswith("none unsafe of 1 rows")


def test_many_rows_are_shown_by_service() -> None:
    rows = [row((8, n % 2), N=n) for n in range(replayed.SHOWN + 1)]
    shown = replayed.terminal(view(*rows))
    assert "N=7" not in shown
    assert "41      123" in shown
    assert "N=7" in replayed.markdown(view(*rows))


def test_csv_has_every_figure() -> None:
    text = replayed.csv_text(view(row(N=1), row((8, 0), None)))
    code, data = csv.DictReader(io.StringIO(text))
    assert tuple(code) == replayed.FIELDS
    assert [code[f"{name}_lines"] for name in ("replay_empty", "replay_empty_in_vain")] == [
        "8",
        "9",
    ]
    assert [code[f"{name}_ns"] for name in ("replay_warm_in_vain", "cold")] == ["330", "1100"]
    assert code["cold_over_percent"] == "25.0"
    assert (code["parameters"], code["unsafe"]) == ("N=1", "")
    assert (data["replay_empty_in_vain_lines"], data["warm_over_percent"]) == ("", "")


def test_the_document() -> None:
    document = json.loads(replayed.document(view(row((12, 2), N=1))))
    assert document["kind"] == "wcetchar cache replay"
    assert document["unsafe"] == 1
    (one,) = document["rows"]
    assert one["replay"]["with_in_vain"]["warm"] == {"lines": 3, "ns": 330}
    assert one["models"]["cold"] == {"lines": 10, "ns": 1100}
    assert one["unsafe"] == ["cold"]
    assert document["caches"][0]["over_percent"]["cold"]["maximum"] == -16.7
