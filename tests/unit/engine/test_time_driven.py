"""Slots on a shared bus: published figures, and schedules looked at tick by tick."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar import store
from wcetchar.engine.time_driven import Use, implied_by, names_of, schedule, timing_of
from wcetchar.model.shared_device import Figure, Phase, SharedDevice

KIB = 1024
MBS = Fraction(10**6)


def device(
    before: list[int], free: list[int], after: list[int], rate: int, first: int = 0
) -> SharedDevice:
    """Phases of whole nanoseconds: held, without the bus, held, and then the data. ``first``: how
    many are moved from the end to the beginning."""
    phases = [Phase(f"b{n}", True, Fraction(t)) for n, t in enumerate(before)]
    phases += [Phase(f"f{n}", False, Fraction(t)) for n, t in enumerate(free)]
    phases += [Phase(f"a{n}", True, Fraction(t), for_each=64) for n, t in enumerate(after)]
    phases += [Phase("data", True, data=True, rate=Fraction(10**9, rate))]
    first %= len(phases)
    phases = phases[-first:] + phases[:-first] if first else phases
    return SharedDevice("by hand", Fraction(10**9, rate), (64,), tuple(phases))


times = st.lists(st.integers(0, 20), max_size=3)
devices = st.builds(device, times, times, times, st.integers(1, 4), st.integers(0, 9))
clusters = st.integers(1, 200)


@given(devices, clusters, clusters)
def test_what_is_guaranteed(one: SharedDevice, first: int, second: int) -> None:
    less, more = (timing_of(one, cluster) for cluster in sorted((first, second)))
    assert less.guaranteed <= one.bandwidth
    assert 0 < less.utilisation <= 1
    assert less.guaranteed == one.bandwidth * less.utilisation
    if all(phase.for_each is None for phase in one.phases):
        assert less.guaranteed <= more.guaranteed
        assert less.needed >= more.needed


@given(times, times, st.integers(1, 4), clusters, clusters)
def test_it_grows_with_the_cluster(
    before: list[int], free: list[int], rate: int, first: int, second: int
) -> None:
    one = device(before, free, [], rate)
    less, more = (timing_of(one, cluster) for cluster in sorted((first, second)))
    assert less.guaranteed <= more.guaranteed <= one.bandwidth
    assert less.needed >= more.needed


@given(devices, clusters, st.integers(0, 11), st.integers(1, 30), st.integers(1, 6))
def test_a_longer_phase_never_gives_more_bandwidth_nor_a_shorter_round(
    one: SharedDevice, cluster: int, which: int, more: int, count: int
) -> None:
    which %= len(one.phases)
    phase = one.phases[which]
    if phase.data:  # moved more slowly
        longer = replace(phase, rate=phase.rate / (1 + more))
    else:
        longer = replace(phase, takes=phase.takes + more)
    other = replace(one, phases=(*one.phases[:which], longer, *one.phases[which + 1 :]))
    before, after = timing_of(one, cluster), timing_of(other, cluster)
    assert after.round(count) >= before.round(count)
    assert after.of_each(count) <= before.of_each(count)
    assert after.guaranteed <= before.guaranteed
    if not phase.data:
        assert after.utilisation <= before.utilisation


def holders(uses: list[Use]) -> dict[int, list[str]]:
    """Who holds the bus, in each nanosecond."""
    found: dict[int, list[str]] = defaultdict(list)
    for use in uses:
        if use.held:
            for tick in range(int(use.begins), int(use.ends)):
                found[tick].append(use.device)
    return found


@given(devices, clusters, st.integers(1, 6), st.integers(2, 5))
def test_the_bus_has_one_holder_and_each_device_its_slot(
    one: SharedDevice, cluster: int, count: int, rounds: int
) -> None:
    names = names_of(one, count)
    uses = list(schedule(one, cluster, names, rounds))
    assert all(len(who) == 1 for who in holders(uses).values())
    timing = timing_of(one, cluster)
    round_ = timing.round(count)
    for place, name in enumerate(names):
        own = [use for use in uses if use.device == name]
        # Each request moves its data once, in order; the device does one thing at a time.
        data = [use for use in own if use.phase == "data"]
        assert [use.request for use in data] == list(range(rounds - 1))
        own.sort(key=lambda use: (use.begins, use.ends))
        assert all(a.ends <= b.begins for a, b in pairwise(own))
        for request in range(rounds - 1):
            parts = [use for use in own if use.request == request]
            assert sum(use.ends - use.begins for use in parts) == timing.slot + timing.free
        for use in own:
            if use.held:
                slot = (use.begins - place * timing.slot) % round_
                assert slot + use.ends - use.begins <= timing.slot


@given(devices, clusters)
def test_so_many_saturate_the_bus_and_fewer_do_not(one: SharedDevice, cluster: int) -> None:
    timing = timing_of(one, cluster)
    count = timing.needed
    assert count >= 1
    busy = holders(list(schedule(one, cluster, names_of(one, count), 3)))
    begin = count * timing.slot
    assert timing.round(count) == begin
    assert all(tick in busy for tick in range(int(begin), int(2 * begin)))
    assert count * timing.of_each(count) == timing.guaranteed
    if count > 1:
        assert timing.round(count - 1) > (count - 1) * timing.slot
        assert (count - 1) * timing.of_each(count - 1) < timing.guaranteed


@given(devices, clusters)
def test_what_figures_imply_is_what_the_phases_are(one: SharedDevice, cluster: int) -> None:
    timing = timing_of(one, cluster)
    beside = timing.slot - timing.transfer
    assert implied_by(one, Figure(cluster, guaranteed=timing.guaranteed)).overhead == beside
    assert implied_by(one, Figure(cluster, utilisation=timing.utilisation)).overhead == beside
    free = implied_by(one, Figure(cluster, devices=timing.needed)).free
    assert free is not None
    assert free[0] < timing.free <= free[1] or timing.free == free[0] == 0


def test_devices_that_seek_differently() -> None:
    like = device([10], [100], [5], 1)
    one = replace(like, devices={"slow": {"f0": Fraction(150)}, "fast": {}})
    timing = timing_of(one, 64)
    assert (timing.slot, timing.free) == (79, 150)
    assert timing.round(2) == 79 + 150
    uses = list(schedule(one, 64, names_of(one, 9), 3))
    assert {use.device for use in uses} == {"slow", "fast"}
    seeks = {use.device: use.ends - use.begins for use in uses if not use.held}
    assert seeks == {"slow": 150, "fast": 100}


def test_disconnects_within_the_data() -> None:
    one = device([10], [100], [5], 1)
    assert [timing_of(one, c).slot for c in (1, 64, 65, 128)] == [16, 79, 85, 148]


def test_what_makes_no_sense() -> None:
    one = device([10], [100], [5], 1)
    for cluster in (0, -1):
        with pytest.raises(ValueError, match="moved"):
            timing_of(one, cluster)
    with pytest.raises(ValueError, match="moved"):
        timing_of(replace(one, phases=one.phases[:-1]), 64)
    for names, rounds in (((), 3), (("a",), 1)):
        with pytest.raises(ValueError, match="rounds"):
            list(schedule(one, 64, names, rounds))


def test_the_published_scsi_bus() -> None:
    """Schoenberg and others 1998: 8.6 of 10 MB/s, from which the file derives the overhead."""
    one = store.load_shared_device("schoenberg-restricted")
    assert one.bandwidth == 10 * MBS
    assert one.clusters == (128 * KIB, 256 * KIB)
    small, large = (timing_of(one, cluster) for cluster in one.clusters)
    assert float(small.guaranteed / MBS) == pytest.approx(8.6, abs=1e-3)
    assert float(small.utilisation) == pytest.approx(0.86, abs=1e-4)
    # The best utilisation that is published does not follow from one overhead of each request.
    assert float(large.utilisation) == pytest.approx(0.9247, abs=1e-4)


def test_the_published_wide_scsi_bus() -> None:
    """91.4 % and 21 drives at 40 MB/s, from which the file derives overhead and seek."""
    one = store.load_shared_device("schoenberg-wide")
    timing = timing_of(one, 256 * KIB)
    assert (one.bandwidth, timing.needed) == (40 * MBS, 21)
    assert float(timing.utilisation) == pytest.approx(0.914, abs=1e-5)
    assert timing_of(one, 128 * KIB).needed == 38
