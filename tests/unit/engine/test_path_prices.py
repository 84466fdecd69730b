"""Path models at prices: each figure by hand, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from path_models import NANOSECOND, OUT, PROFILE, constraint, model_of, prices_of
from test_pricing import FETCH, at, cycles, kernel, profile, region
from test_refills import BASE, HERE, board, entered

from wcetchar.engine.path_blocking import longest_blocking
from wcetchar.engine.path_prices import path_prices
from wcetchar.engine.path_program import program_of
from wcetchar.engine.path_ratios import vector_times
from wcetchar.engine.paths import bound_of
from wcetchar.errors import InputError, NoSoundBound
from wcetchar.model.access import (
    UNKNOWN_SECTION,
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Operation,
    Succession,
)
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.characterization import (
    STALL_EDITION,
    Blocking,
    Place,
    SectionInfo,
    StretchKind,
    Word,
)
from wcetchar.model.expression import Binary, BinaryOperator, Name, Number
from wcetchar.model.fetch_buffer import M_PROFILE_BUFFER
from wcetchar.model.hardware import DataCache, Interference
from wcetchar.model.path_model import Gap, Origin, PathModel
from wcetchar.model.section_map import Assumption, CacheState, SectionMap
from wcetchar.model.service import SectionKind

ALU = CoreEvent(".text", EventKind.ALU)
READ = AccessClass("heap", Operation.READ, 32)
STRAIGHT = [(OUT, 0), (0, OUT)]


def counting(vector: AccessVector) -> PathModel:
    return replace(model_of([1], STRAIGHT), vectors=(vector,))


def loop(limit: object, origin: Origin = Origin.WRITTEN) -> PathModel:
    """Node 0, then node 1 as often as ``limit`` and once more."""
    edges = [(OUT, 0), (0, 1), (1, 1), (1, OUT)]
    return model_of([3, 5], edges, [constraint("loop", {2: 1}, limit, origin)])  # type: ignore[arg-type]


def test_a_loop_at_values_of_its_parameter() -> None:
    model = loop(Binary(BinaryOperator.MULTIPLY, Name("N"), Number(2)))
    for n in (0, 1, 40):
        found = bound_of(model, prices_of(model), {"N": n})
        assert found.time == 3 + 5 * (2 * n + 1)
        assert found.word is Word.BOUND
        assert found.flow.parameters == {"N": n}
        assert found.passed == {0: 1, 1: 2 * n + 1}
        assert found.node_times == (3, 5)
    with pytest.raises(InputError, match="N"):
        bound_of(model, prices_of(model), {})


def test_what_was_only_observed_makes_an_estimate() -> None:
    model = loop(4, Origin.OBSERVED)
    found = bound_of(model, prices_of(model), {})
    assert found.word is Word.ESTIMATE
    assert found.notes[0].startswith("1 facts were observed")
    assert found.binding == found.needed == (0,)


def test_what_has_no_bound_is_refused() -> None:
    prices = prices_of(loop(1))
    gap = Gap("indirect call", "vTaskSwitch+4", fact="call at vTaskSwitch+4: ...")
    with pytest.raises(NoSoundBound, match=r"indirect call at vTaskSwitch\+4") as caught:
        bound_of(replace(loop(1), gaps=(gap,)), prices, {})
    assert caught.value.exit_code == 4
    open_loop = replace(loop(1), constraints=())
    nodes = (open_loop.nodes[0], replace(open_loop.nodes[1], place=Place("walk", 4, "list.c", 7)))
    with pytest.raises(NoSoundBound, match=r"a loop of s through walk\+0x4 \(list.c:7\)"):
        bound_of(replace(open_loop, nodes=nodes), prices, {})
    facts = (*loop(1).constraints, constraint("at least twice", {2: -1}, -2))
    with pytest.raises(NoSoundBound, match="at no parameters: loop; at least twice"):
        bound_of(replace(loop(1), constraints=facts), prices, {})
    nowhere = model_of([1, 1], [(OUT, 0), (1, OUT)])
    with pytest.raises(NoSoundBound, match="none leads from an entry to an exit"):
        bound_of(nowhere, prices, {})


def test_prices_of_something_else_are_no_prices() -> None:
    with pytest.raises(ValueError, match="not those of the path model"):
        bound_of(counting(AccessVector({READ: 1})), prices_of(loop(1)), {})
    with pytest.raises(ValueError, match="not those of the path model"):
        bound_of(loop(1), replace(prices_of(loop(1)), of_paths=None), {})


@pytest.mark.parametrize("state", CacheState)
def test_each_entry_of_a_line_is_a_miss_whatever_the_map_says(state: CacheState) -> None:
    """100 MHz: the instruction 10 ns, and a refill of 110 ns for each of 3 entries here and of 2
    that can be added elsewhere."""
    vector = AccessVector({ALU: 1}) + entered(3, 2)
    model = replace(counting(vector), lines=(32,))
    text = SectionInfo(".text", SectionKind.CODE, address=BASE)
    whole = replace(kernel(ALU), sections=(text,), fetch_buffer=M_PROFILE_BUFFER)
    where = SectionMap("m", {".text": "flash"}, instruction_cache=state)
    found = bound_of(model, path_prices(whole, board(), where, [model]), {})
    assert found.time == 10 + 5 * 110
    in_place = replace(where, addresses={".text": BASE + 64})
    found = bound_of(model, path_prices(whole, board(), in_place, [model]), {})
    assert found.time == 10 + 3 * 110
    elsewhere = replace(where, sections={".text": "rom"})
    assert bound_of(model, path_prices(whole, board(flash=11), elsewhere, [model]), {}).time == 10
    with pytest.raises(NoSoundBound, match="does not count entries of lines of 32 bytes"):
        path_prices(whole, board(), where, [replace(model, lines=(16,))])
    strange = replace(model, vectors=(AccessVector({CoreEvent("other", HERE): 1}),))
    with pytest.raises(NoSoundBound, match="where it began"):
        path_prices(whole, board(), where, [strange])


def test_what_is_priced_and_not_counted_is_refused() -> None:
    model = counting(AccessVector({NANOSECOND: 1}))
    core = PROFILE.core
    stalls = replace(core, events={**core.events, EventKind.LOAD_USE_STALL: cycles(1)})
    with pytest.raises(NoSoundBound, match=r"does not count stalls.*load-use stall"):
        path_prices(kernel(ALU), replace(PROFILE, core=stalls), SectionMap("m", {}), [model])
    counted = replace(model, stalls=2)
    path_prices(kernel(ALU), replace(PROFILE, core=stalls), SectionMap("m", {}), [counted])
    reads = replace(counting(AccessVector({READ: 2})), successions=True)
    ram = region("ram", {Operation.READ: at(cycles(1))})
    with pytest.raises(NoSoundBound, match="counts 2 × heap read 32 single and 0 that lead to it"):
        path_prices(kernel(READ), profile(ram), SectionMap("m", {"heap": "ram"}), [reads])
    again = replace(
        board().core,
        data_cache=DataCache(CacheGeometry(32, 4, 1), load_behind_store=cycles(2)),
    )
    with pytest.raises(NoSoundBound, match="loads behind stores"):
        path_prices(
            kernel(ALU), replace(board(), core=again), SectionMap("m", {".text": "flash"}), [model]
        )


def test_without_successions_the_core_waits_for_each_write_itself() -> None:
    """A write of 5 cycles of 10 ns each time, as without a buffer, and one of before for each place
    that the buffer has; and it is said. What is held off waits for these as well."""
    write = AccessClass("heap", Operation.WRITE, 32)
    ram = profile(region("ram", {Operation.WRITE: at(cycles(5))}), events={})
    core = replace(ram.core, data_width=32)
    posted, twice = (replace(ram, core=replace(core, write_buffer=n)) for n in (1, 2))
    model = counting(AccessVector({write: 3}))
    held = replace(model, blockings=(Blocking(interrupts=True),))
    where = SectionMap("m", {"heap": "ram"})
    plain, buffered, more = (
        path_prices(kernel(write), one, where, [model]) for one in (ram, posted, twice)
    )
    for prices, time in ((plain, 150), (buffered, 200), (more, 250)):
        found = bound_of(model, prices, {})
        assert found.time == found.reached == time
        assert found.node_times == (150,)
        assert longest_blocking(held, prices, {}, StretchKind.INTERRUPTS).time == time
        assert longest_blocking(model, prices, {}, StretchKind.INTERRUPTS).time == 0
    assert any("write buffer" in note for note in buffered.notes)
    assert not any("write buffer" in note for note in plain.notes)


def test_what_unknown_sections_cost() -> None:
    """Reads of 1 and of 5 cycles of 10 ns: an unknown one takes 50 ns, and could take 10."""
    near = region("near", {Operation.READ: at(cycles(1))})
    far = region("far", {Operation.READ: at(cycles(5))})
    nothing = region("code", {FETCH: at(cycles(1))})
    unknown = AccessClass(UNKNOWN_SECTION, Operation.READ, 32)
    model = counting(AccessVector({unknown: 3, READ: 1}))
    board_of = profile(near, far, nothing, events={})
    prices = path_prices(kernel(READ), board_of, SectionMap("m", {"heap": "near"}), [model])
    found = bound_of(model, prices, {})
    assert found.time == 3 * 50 + 10
    assert found.unknown == 3 * 40


def test_interference_comes_whole_times_and_once_at_the_beginning() -> None:
    """A read of 10 ns; refresh of 20 ns each 1000 ns. Where successions are counted, 200 reads
    take 2000 ns, and refresh comes at 0, 1000, 2000: 2060 ns. Else each read waits for it."""
    refreshed = replace(
        region("ram", {Operation.READ: at(cycles(1))}),
        refresh=Interference(cycles(2), cycles(100)),
    )
    where = SectionMap("m", {"heap": "ram"})
    board_of = profile(refreshed, events={})
    each = counting(AccessVector({READ: 200}))
    prices = path_prices(kernel(READ), board_of, where, [each])
    assert bound_of(each, prices, {}).time == 200 * 30
    behind = Succession(READ, (), 0, True, READ)
    counted = replace(counting(AccessVector({READ: 200, behind: 200})), successions=True)
    prices = path_prices(kernel(READ), board_of, where, [counted])
    found = bound_of(counted, prices, {})
    assert found.time == 2060
    assert sum(found.node_times) == 2060


def test_what_is_under_way_whatever_a_data_cache_holds() -> None:
    """Of a cache that the map says is cold, where lines of data are not counted: it always misses
    here. A read of 1 cycle and a miss of 14, behind 2 writes of 3 cycles of 10 ns."""
    ram = replace(
        region("ram", {Operation.READ: at(cycles(1)), Operation.WRITE: at(cycles(3))}),
        load_miss_penalty=cycles(14),
    )
    hardware = profile(ram, events={})
    core = replace(
        hardware.core,
        data_width=32,
        write_buffer=2,
        data_cache=DataCache(CacheGeometry(32, 128, 1)),
    )
    hardware = replace(hardware, core=core)
    model = counting(AccessVector({READ: 1}))
    for state in CacheState:
        where = SectionMap(
            "m",
            {"heap": "ram"},
            assumptions=frozenset({Assumption.DATA_ALIGNMENT}),
            data_cache=state,
        )
        prices = path_prices(kernel(READ), hardware, where, [model])
        assert bound_of(model, prices, {}).time == 10 + 140 + 2 * 30


def test_a_turnaround_is_left_behind_an_access_that_was_not_right_before() -> None:
    """3 cycles of 10 ns, one of which goes by with what lies between; two reads of 1 cycle."""
    ram = region("ram", {Operation.READ: at(cycles(1))})
    where = SectionMap("m", {"heap": "ram"})
    model = replace(counting(AccessVector({READ: 2})), stalls=STALL_EDITION)
    for turnaround, time in ((0, 20), (1, 20), (3, 60)):
        events = {EventKind.CONSECUTIVE_ACCESS: cycles(turnaround)}
        prices = path_prices(kernel(READ), profile(ram, events=events), where, [model])
        assert bound_of(model, prices, {}).time == time


def test_the_edge_behind_the_last_access_is_charged_where_nothing_goes_on_behind_the_core() -> None:
    """A read of 1 cycle of 10 ns on a bus of a quarter of the clock, up to 3 before it, and 3
    behind it."""
    ram = replace(region("ram", {Operation.READ: at(cycles(1))}), clock_divider=4)
    model = counting(AccessVector({READ: 1}))
    prices = path_prices(
        kernel(READ), profile(ram, events={}), SectionMap("m", {"heap": "ram"}), [model]
    )
    assert prices.under_way == 30
    assert bound_of(model, prices, {}).time == 30 + 40 + 30


def test_what_is_held_off_may_wait_for_lines_of_what_comes_behind_it() -> None:
    """One of 110 ns for each of the three instructions behind, where data are accessed in the
    memory that lines are loaded from; a path as a whole does not."""
    text = SectionInfo(".text", SectionKind.CODE, address=BASE)
    whole = replace(kernel(ALU, READ), sections=(text,), fetch_buffer=M_PROFILE_BUFFER)
    model = replace(
        counting(AccessVector({ALU: 1, READ: 1})),
        lines=(32,),
        blockings=(Blocking(interrupts=True),),
    )
    hardware = board()
    flash = hardware.regions["flash"]
    both = replace(flash, times={**flash.times, Operation.READ: at(cycles(1))})
    ram = region("ram", {Operation.READ: at(cycles(1))})
    hardware = replace(hardware, regions={**hardware.regions, "flash": both, "ram": ram})
    for place, behind in (("flash", 330), ("ram", 0)):
        where = SectionMap("m", {".text": "flash", "heap": place}, addresses={".text": BASE})
        prices = path_prices(whole, hardware, where, [model])
        assert bound_of(model, prices, {}).time == 20
        assert longest_blocking(model, prices, {}, StretchKind.INTERRUPTS).time == 20 + behind


def test_all_that_is_made_of_path_prices_has_what_is_under_way() -> None:
    """A write of 50 ns behind one of before: in the exported program its entry has that, in ratios
    it is one more vector."""
    write = AccessClass("heap", Operation.WRITE, 32)
    ram = profile(region("ram", {Operation.WRITE: at(cycles(5))}), events={})
    posted = replace(ram, core=replace(ram.core, data_width=32, write_buffer=1))
    model = counting(AccessVector({write: 1}))
    prices = path_prices(kernel(write), posted, SectionMap("m", {"heap": "ram"}), [model])
    assert program_of(model, prices, {}).objective == {"x0": 100}
    times = vector_times(model, prices)
    assert times is not None
    assert [*times] == [50, 50]
