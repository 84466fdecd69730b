"""Response times: published examples, by hand, and never below what any run shows."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from random_systems import late_within, random_system

from wcetchar.engine import locks
from wcetchar.engine.response_time import analyse, demand_of, load, switches_of
from wcetchar.engine.simulation import Do, Scenario, Step, hyperperiod, simulate
from wcetchar.model.system import Cause, CriticalSection, Interrupt, System, Task

F = Fraction
seeds = st.integers(0, 1_000_000)


def task(name: str, priority: int, period: int, wcet: int, **more: object) -> Task:
    given: dict[str, object] = {"deadline": F(period), **more}
    return Task(name, priority, F(period), wcet=F(wcet), **given)  # type: ignore[arg-type]


def responses(system: System) -> dict[str, Fraction | None]:
    found = analyse(system)
    return {one.name: one.time for one in (*found.tasks, *found.interrupts)}


def test_an_example_of_three_tasks() -> None:
    """Burns and Wellings, Real-Time Systems and Programming Languages, process set B."""
    system = System("", (task("a", 3, 7, 3), task("b", 2, 12, 3), task("c", 1, 20, 5)))
    assert responses(system) == {"a": 3, "b": 6, "c": 20}
    assert analyse(system).met


def test_deadlines_behind_periods() -> None:
    """Lehoczky, Fixed priority scheduling of periodic task sets with arbitrary deadlines, RTSS
    1990: the first job of the second task takes 114, and the fifth 118."""
    tasks = (task("a", 2, 70, 26), task("b", 1, 100, 62, deadline=F(118)))
    (_, found) = analyse(System("", tasks)).tasks
    assert found.time == 118
    assert found.met
    assert found.waited == 400
    assert sum(part.time for part in found.parts) == 118 + 400
    run = simulate(System("", tasks), F(700), keep=F(700))
    late = [one.end - one.release for one in run.jobs if one.who == "b" and one.end is not None]
    assert late == [114, 102, 116, 104, 118, 106, 94]


def test_jitter_delays_a_task_and_brings_others_closer() -> None:
    tasks = (task("a", 2, 10, 2, jitter=F(4)), task("b", 1, 20, 5))
    # Two jobs of a within 8: one late by 4, the next in time.
    assert responses(System("", tasks)) == {"a": 6, "b": 9}


def test_switches_cost_two_for_each_job() -> None:
    system = System("", (task("a", 2, 10, 2), task("b", 1, 20, 5)), switch=F(1))
    # A switch to somebody else has begun; one to it, its own time. a comes twice in b's 15.
    assert responses(system) == {"a": 1 + 1 + 2, "b": 1 + 4 + 4 + 1 + 5}
    assert load(system) == F(4, 10) + F(7, 20)


def locking() -> tuple[Task, ...]:
    def section(resource: str, time: int, within: str = "") -> CriticalSection:
        return CriticalSection(resource, F(time), within=within)

    return (
        task("a", 4, 100, 10, sections=(section("r", 1), section("s", 1))),
        task("b", 3, 200, 10),
        task("c", 2, 300, 10, sections=(section("r", 5), section("s", 7))),
        task("d", 1, 400, 10, sections=(section("s", 8),)),
    )


def test_locks_block_once_for_each_less_urgent_task_and_for_each_resource() -> None:
    tasks = locking()
    resources = locks.ceilings(tasks)
    assert resources == {"r": 4, "s": 4}
    blocked = {
        one.name: {part.who: part.time for part in locks.blocking(one, tasks, resources)}
        for one in tasks
    }
    # By resource: r 5 of c, s 8 of d. By task: c 7, d 8, which is more.
    assert blocked["a"] == blocked["b"] == {"c (r)": 5, "d (s)": 8}
    assert blocked["c"] == {"d (s)": 8}
    assert blocked["d"] == {}


def test_what_is_locked_within_another_one_has_its_ceiling() -> None:
    inner = CriticalSection("s", F(2), within="r")
    tasks = (
        task("a", 3, 100, 10, sections=(CriticalSection("r", F(2)),)),
        task("b", 2, 200, 10, sections=(CriticalSection("r", F(4)), inner)),
        task("c", 1, 400, 20, sections=(CriticalSection("s", F(9)),)),
    )
    resources = locks.ceilings(tasks)
    assert resources == {"r": 3, "s": 3}
    blocked = locks.blocking(tasks[0], tasks, resources)
    assert {part.who: part.time for part in blocked} == {"b (r)": 4, "c (s)": 9}
    assert locks.lock_switches(tasks[1], tasks) == 4
    assert not locks.circle(tasks)


def test_a_circle_is_found() -> None:
    tasks = [
        task(name, number, 10, 1, sections=(CriticalSection(inner, F(1), within=outer),))
        for number, (name, outer, inner) in enumerate(
            [("a", "r", "s"), ("b", "s", "t"), ("c", "t", "r")]
        )
    ]
    assert sorted(locks.circle(tasks)) == ["r", "s", "t"]
    with pytest.raises(ValueError, match="in a circle"):
        analyse(System("", tuple(tasks)))


def test_what_is_held_off_counts_once_and_only_the_longest() -> None:
    tasks = (
        task("a", 3, 100, 10),
        task("b", 2, 100, 10, held_off=F(3)),
        task("c", 1, 100, 10, masked=F(5)),
    )
    found = analyse(System("", tasks, switch=F(1)))
    by_name = {one.name: one for one in found.tasks}
    assert by_name["a"].blocking == 5
    assert by_name["b"].blocking == 5
    assert by_name["c"].blocking == 1  # a switch to nothing
    masks = Interrupt("i", 1, F(50), F(50), F(2))
    high = Interrupt("h", 2, F(50), F(50), F(1), above_kernel=True)
    assert responses(System("", tasks, (masks, high)))["i"] == 5 + 2 + 1
    assert responses(System("", tasks, (masks, high)))["h"] == 2 + 1
    assert responses(System("", tasks, (masks, high), nested=True))["h"] == 1


def test_waits_count_as_if_it_ran_and_let_others_in_again() -> None:
    tasks = (
        task("a", 2, 100, 10, suspended=F(6), suspensions=2),
        task("b", 1, 200, 20, held_off=F(4)),
    )
    found = analyse(System("", tasks, switch=F(1)))
    # 3 times 4 held off; switches: to it, and twice away and back.
    assert found.tasks[0].time == 10 + 6 + 5 + 3 * 4
    assert found.load == F(10 + 6, 100) + F(22, 200)


def test_ends_of_slices_switch_where_tasks_are_as_urgent() -> None:
    tasks = (task("a", 1, 100, 10), task("b", 1, 100, 10))
    turning = System("", tasks, switch=F(1), slice=F(5))
    still = System("", tasks, switch=F(1))
    # 1 + (2 + 10) + (1 + 10) without; one more for each 5 begun.
    assert responses(still) == {"a": 24, "b": 24}
    assert responses(turning) == {"a": 30, "b": 30}
    seen = simulate(turning, F(100)).longest
    assert max(seen.values()) > 24  # the ends of slices are no fancy
    assert all(time <= 30 for time in seen.values())
    # They delay less urgent ones as well.
    below = System("", (*tasks, task("c", 0, 200, 1)), switch=F(1), slice=F(5))
    assert any(part.cause is Cause.SLICES for part in analyse(below).tasks[2].parts)


def test_what_releases_a_task_delays_it() -> None:
    tick = Interrupt("tick", 1, F(10), F(10), F(2))
    tasks = (task("a", 2, 20, 3, released_by="tick"), task("b", 1, 40, 3, masked=F(1)))
    # The tick: held off for 1, takes 2. So a is late by 3, and b by a and one tick.
    assert responses(System("", tasks, (tick,))) == {"tick": 3, "a": 3 + 3 + 2 + 1, "b": 3 + 3 + 2}


def test_no_bound_where_all_of_the_time_is_taken() -> None:
    tasks = (task("a", 2, 10, 6), task("b", 1, 10, 5))
    found = analyse(System("", tasks))
    assert [one.time for one in found.tasks] == [6, None]
    assert not found.met
    assert found.load == F(11, 10)
    # A load of 1 with nothing to spare has one; with something held off it has none.
    full = (task("a", 2, 10, 5), task("b", 1, 10, 5))
    assert responses(System("", full)) == {"a": 5, "b": 10}
    held = (*full[:1], task("b", 1, 10, 5, jitter=F(1)))
    assert responses(System("", held))["b"] is None


@pytest.mark.parametrize(
    ("system", "said"),
    [
        (System("", (task("a", 1, 9, 1, released_by="i"),)), "no interrupt"),
        (
            System("", (task("a", 1, 9, 1), Task("z", 1, None, F(0), F(1)))),
            "in the background",
        ),
        (
            System(
                "",
                (),
                (
                    Interrupt("h", 1, F(9), F(9), F(1), above_kernel=True),
                    Interrupt("i", 1, F(9), F(9), F(1)),
                ),
            ),
            "not above what the kernel masks",
        ),
    ],
)
def test_what_cannot_be_analysed(system: System, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        analyse(system)


def test_the_background_holds_off_and_locks() -> None:
    idle = Task("idle", 0, None, F(0), F(0), held_off=F(7), sections=(CriticalSection("r", F(3)),))
    tasks = (task("a", 1, 100, 10, sections=(CriticalSection("r", F(1)),)), idle)
    (found,) = analyse(System("", tasks)).tasks
    assert found.time == 10 + 7 + 3


def test_working_sets_come_back_by_hand() -> None:
    """b begins with 3, and once more behind a, which begins with 1: 3 + 10, 1 + 2 + 3."""
    tasks = (task("a", 2, 20, 2, reload=F(1)), task("b", 1, 100, 10, reload=F(3)))
    system = System("", tasks)
    assert responses(system) == {"a": 1 + 2, "b": 3 + 10 + 1 + 2 + 3}
    late = replace(system, tasks=(replace(tasks[0], offset=F(5)), tasks[1]))
    assert simulate(late, F(90)).longest == responses(late)
    assert load(system) == F(1 + 2 + 3, 20) + F(3 + 10, 100)
    # An interrupt begins with 2, and takes b's from it.
    tick = Interrupt("tick", 1, F(50), F(50), F(4), reload=F(2))
    found = responses(replace(system, interrupts=(tick,)))
    assert found == {"a": 3 + 2 + 4 + 3, "b": 19 + 2 + 4 + 3 + 6, "tick": 2 + 4}
    # What is held off may begin before its working set is back.
    held = replace(tasks[1], held_off=F(4))
    assert responses(System("", (tasks[0], held)))["a"] == 3 + 4 + 3


def test_a_lock_that_is_taken_brings_back_two_working_sets() -> None:
    section = (CriticalSection("r", F(5)),)
    tasks = (
        task("h", 2, 1000, 10, reload=F(5), sections=section, offset=F(20)),
        task("l", 1, 2000, 100, reload=F(7), sections=(CriticalSection("r", F(30)),)),
    )
    system = System("", tasks)

    def body(one: Task, number: int) -> list[Step]:
        if one.name == "h":
            return [R(F(1)), *lock("r", R(F(5))), R(F(4))]
        return [R(F(12)), *lock("r", R(F(30))), R(F(58))]

    seen = simulate(system, F(500), Scenario(body)).longest["h"]
    assert seen == 5 + 1 + 7 + 29 + 5 + 9  # l has been in its section for 1
    # Its own twice, and the holder's as it lets it in, and as whoever is in a section.
    assert responses(system)["h"] == 10 + 2 * 5 + 7 + (30 + 7)


R = partial(Step, Do.RUN)
HOLD, ALLOW = Step(Do.HOLD_OFF), Step(Do.ALLOW)


def lock(resource: str, *steps: Step) -> list[Step]:
    return [Step(Do.LOCK, resource=resource), *steps, Step(Do.UNLOCK, resource=resource)]


@pytest.mark.parametrize("by_lock", [False, True])
def test_while_a_more_urgent_one_waits_something_begins_again(by_lock: bool) -> None:
    """h waits twice, and each time a less urgent one begins something that it ends later."""
    section = (CriticalSection("r", F(10)),) if by_lock else ()
    tasks = (
        task("h", 3, 60, 30, suspended=F(1), suspensions=1, offset=F(9), sections=section),
        task("i", 2, 600, 12, offset=F(28)),
        task("l", 1, 1000, 100, held_off=F(0 if by_lock else 10), sections=section),
    )

    def body(one: Task, number: int) -> list[Step]:
        begun = lock("r", R(F(10))) if by_lock else [HOLD, R(F(10)), ALLOW]
        asks = lock("r") if by_lock else []
        if one.name == "l":
            return [R(F(8)), *begun, *begun, R(F(60))]
        if one.name == "i":
            return [R(F(12))]
        wait = Step(Do.WAIT, F(1))
        return [*asks, wait, *asks, R(F(30))] if number == 0 else [R(F(29)), wait, R(F(1))]

    system = System("", tasks)
    seen = simulate(system, F(300), Scenario(body)).longest["i"]
    limit = responses(system)["i"]
    assert seen == 71
    assert limit is not None
    assert limit >= seen
    assert limit == 12 + 3 * (30 + 1 + 10) + 10 - 41  # two jobs of h in its window


def test_locks_within_a_section_switch_as_well() -> None:
    """i waits for l1, and l1 within its section for l2: four switches."""
    tasks = (
        task("i", 3, 1000, 10, offset=F(53), sections=(CriticalSection("r", F(5)),)),
        task(
            "l1",
            2,
            2000,
            50,
            offset=F(20),
            sections=(CriticalSection("r", F(30)), CriticalSection("s", F(10), within="r")),
        ),
        task("l2", 1, 3000, 101, sections=(CriticalSection("s", F(20)),)),
    )
    system = System("", tasks, switch=F(10))

    def body(one: Task, number: int) -> list[Step]:
        if one.name == "i":
            return [*lock("r", R(F(5))), R(F(5))]
        if one.name == "l1":
            return [*lock("r", R(F(1)), *lock("s", R(F(10))), R(F(19))), R(F(20))]
        return [R(F(9)), *lock("s", R(F(20))), R(F(60))]

    limit = responses(system)["i"]
    # Own, a switch begun, to it, to l1 and back; both sections, and to l2 and back.
    assert limit == 10 + 10 + 10 + 20 + (30 + 20) + 20
    for offset in range(20, 90):
        moved = replace(system, tasks=(replace(tasks[0], offset=F(offset)), *tasks[1:]))
        assert simulate(moved, F(900), Scenario(body)).longest["i"] <= limit


@given(seeds)
@example(5_001_141)  # a burst, of which two interrupts defer work in one stretch
def test_no_run_is_above_the_analysis(seed: int) -> None:
    """Jobs of any length up to theirs, sections, stretches and waits anywhere, any lateness."""
    system = random_system(seed)
    found = analyse(system)
    bound = {one.name: one.time for one in (*found.tasks, *found.interrupts)}
    for number in range(4):
        for name, time in simulate(system, F(400), late_within(system, number)).longest.items():
            limit = bound[name]
            assert limit is None or time <= limit, (seed, number, name)


@given(seeds)
def test_parts_add_up_and_the_job_that_is_longest_is_in_them(seed: int) -> None:
    system = random_system(seed)
    found = analyse(system)
    for one in (*found.tasks, *found.interrupts):
        if one.time is not None:
            assert sum(part.time for part in one.parts) == one.time + one.waited
            assert all(part.time > 0 for part in one.parts)
            assert one.blocking <= one.time + one.waited
    for task_, one in zip(system.periodic, found.tasks, strict=True):
        assert task_.period is not None
        assert one.load >= (demand_of(system, task_) - task_.suspended) / task_.period
        assert switches_of(system, task_) >= 2
        if one.time is not None:
            assert one.time >= task_.wcet + task_.services + task_.suspended + task_.jitter


OF_TASKS = ("wcet", "services", "jitter", "held_off", "masked", "masked_all", "reload")
OF_INTERRUPTS = ("wcet", "services", "jitter", "masked", "reload", "deferred", "deferred_masked")


@given(
    seeds,
    st.integers(0, 10),
    st.sampled_from(
        [*OF_TASKS, "suspended", "section", "switch", *(f"i {x}" for x in OF_INTERRUPTS)]
    ),
)
def test_more_of_anything_is_never_faster(seed: int, more: int, what: str) -> None:
    system = random_system(seed)
    draw = random.Random(seed)
    if what == "switch":
        larger = replace(system, switch=system.switch + more)
    elif what.startswith("i "):
        assume(system.interrupts)
        handlers = list(system.interrupts)
        which = draw.randrange(len(handlers))
        assume(what != "i masked" or not handlers[which].above_kernel)
        name = what[2:]
        given_more = getattr(handlers[which], name) + more
        handlers[which] = replace(handlers[which], **{name: given_more})
        larger = replace(system, interrupts=tuple(handlers))
    else:
        tasks = list(system.tasks)
        which = draw.randrange(len(tasks))
        one = tasks[which]
        if what == "section":
            assume(one.sections)
            longer = [replace(section, time=section.time + more) for section in one.sections]
            tasks[which] = replace(one, sections=tuple(longer))
        else:
            assume(what != "suspended" or one.suspensions)
            tasks[which] = replace(one, **{what: getattr(one, what) + more})
        larger = replace(system, tasks=tuple(tasks))
    before, after = responses(system), responses(larger)
    for name, time in before.items():
        later = after[name]
        assert later is None or (time is not None and time <= later), (name, what)


@given(seeds, st.integers(2, 4))
def test_interrupts_that_come_more_often_are_never_faster(seed: int, times: int) -> None:
    """Where nothing is released by them, which would be another release."""
    system = random_system(seed)
    assume(system.interrupts and not any(one.released_by for one in system.tasks))
    first, *rest = system.interrupts
    often = replace(system, interrupts=(replace(first, period=first.period / times), *rest))
    before, after = responses(system), responses(often)
    for name, time in before.items():
        later = after[name]
        assert later is None or (time is not None and time <= later)


@given(seeds)
def test_all_of_a_run_is_accounted_for(seed: int) -> None:
    """One thing at a time, in order, and each job is in it from its release on."""
    system = random_system(seed)
    run = simulate(system, F(200), late_within(system, 1), keep=F(200))
    for one, following in zip(run.spans, run.spans[1:], strict=False):
        assert one.begin < one.end <= following.begin
    for job in run.jobs:
        assert job.end is None or job.end >= job.release
    names = {one.name for one in system.tasks} | {one.name for one in system.interrupts}
    assert {span.who for span in run.spans} <= names
    ended = {name: [j for j in run.jobs if j.who == name and j.end is not None] for name in names}
    for name, longest in run.longest.items():
        assert longest == max(j.end - j.release for j in ended[name] if j.end is not None)


def test_hyperperiod() -> None:
    system = System("", (task("a", 2, 12, 1), task("b", 1, 18, 1)))
    assert hyperperiod(system) == 36
    half = (replace(system.tasks[0], period=F(1, 2)), replace(system.tasks[1], period=F(2, 3)))
    assert hyperperiod(System("", half)) == 2
