"""Random systems, and random runs of each that keep to what the system says."""

from __future__ import annotations

import random
from fractions import Fraction

from wcetchar.engine.simulation import Do, Scenario, Step
from wcetchar.model.system import CriticalSection, Interrupt, System, Task

PERIODS = (10, 15, 20, 24, 30, 40, 60)


def random_system(seed: int) -> System:
    """Times are whole nanoseconds. What is switched on is drawn, so that simple ones are as likely
    as those with everything."""
    draw = random.Random(seed)
    names = ("locks", "held", "irq", "waits", "late", "alike", "caches")
    has = {name: draw.random() < 0.5 for name in names}
    switch = draw.choice((0, 0, 1, 2, 3))
    interrupts = []
    for number in range(draw.randint(1, 2) if has["irq"] else 0):
        period = draw.choice((5, 8, 10, 20))
        time = draw.randint(1, 2)
        masked = draw.randint(0, time) if has["held"] else 0
        jitter = draw.choice((0, 3, 12)) if has["late"] else 0
        above = not masked and draw.random() < 0.2
        deferred = draw.choice((0, 1, 1)) if has["held"] and not above else 0
        interrupts.append(
            Interrupt(
                f"i{number}",
                3 if above else draw.randint(1, 2),
                Fraction(period),
                Fraction(period),
                Fraction(time),
                offset=Fraction(draw.choice((0, 0, 1, 2, 3, 5, 7)), 2),
                jitter=Fraction(jitter),
                masked=Fraction(masked),
                above_kernel=above,
                reload=Fraction(draw.choice((0, 0, 1)) if has["caches"] else 0),
                deferred=Fraction(deferred),
                deferred_masked=Fraction(draw.randint(0, deferred)),
            )
        )
    tasks = [_task(draw, number, has, interrupts) for number in range(draw.randint(2, 4))]
    alike = any(a is not b and a.priority == b.priority for a in tasks for b in tasks)
    return System(
        str(seed),
        tuple(tasks),
        tuple(interrupts),
        Fraction(switch),
        Fraction(draw.randint(0, switch)),
        Fraction(draw.choice((4, 7))) if alike and draw.random() < 0.5 else None,
        nested=draw.random() < 0.5,
    )


def _task(
    draw: random.Random, number: int, has: dict[str, bool], interrupts: list[Interrupt]
) -> Task:
    period = draw.choice(PERIODS)
    by = draw.choice(interrupts) if interrupts and draw.random() < 0.4 else None
    if by is not None:
        period = int(by.period) * draw.randint(2, 4)
    wcet = draw.randint(1, 6)
    sections: list[CriticalSection] = []
    left = wcet
    for resource in draw.sample("abc", 3) if has["locks"] else ():
        time = draw.randint(0, left)
        if time and draw.random() < 0.6:
            left -= time
            sections.append(CriticalSection(resource, Fraction(time)))
            # What is within another one comes later in the alphabet, so there is no circle.
            inner = [r for r in "abc" if r > resource]
            if inner and draw.random() < 0.4:
                nested = Fraction(draw.randint(1, time))
                sections.append(CriticalSection(draw.choice(inner), nested, within=resource))
    waits = draw.randint(1, 2) if has["waits"] and draw.random() < 0.4 else 0
    held, masked, masked_all = (
        draw.randint(0, 3) if has["held"] and draw.random() < 0.5 else 0 for _ in range(3)
    )
    return Task(
        f"t{number}",
        draw.randint(1, 3) if has["alike"] else number + 1,
        Fraction(period),
        Fraction(period),
        Fraction(wcet),
        offset=by.offset if by else Fraction(draw.choice((0, 0, 1, 2, 5, 8, 13)), 2),
        jitter=Fraction(draw.choice((0, 2, 12)) if has["late"] and by is None else 0),
        released_by="" if by is None else by.name,
        held_off=Fraction(held),
        masked=Fraction(masked),
        masked_all=Fraction(masked_all),
        sections=tuple(sections),
        suspended=Fraction(waits * draw.randint(1, 4)),
        suspensions=waits,
        reload=Fraction(draw.choice((0, 1, 1, 2)) if has["caches"] else 0),
    )


def late_within(system: System, seed: int) -> Scenario:
    """Jobs that take up to their time, with sections, stretches and waits anywhere, and releases
    and interrupts that are late by what they may be, or less."""
    draw = random.Random(seed)
    most = {one.name: int(one.jitter) for one in system.tasks}
    most |= {one.name: int(one.jitter) for one in system.interrupts}
    return Scenario(
        lambda task, number: random_body(draw, task),
        lambda name, number: Fraction(draw.choice((0, most[name], draw.randint(0, most[name])))),
        lambda one, number: Fraction(draw.choice((int(one.time), draw.randint(0, int(one.time))))),
    )


def random_body(draw: random.Random, task: Task) -> list[Step]:
    """Blocks in any order: sections with what is within them, stretches, plain code and waits."""
    left = int(task.wcet) if draw.random() < 0.7 else draw.randint(0, int(task.wcet))
    blocks: list[list[Step]] = []

    def run(time: int) -> list[Step]:
        nonlocal left
        time = min(time, left)
        left -= time
        return [Step(Do.RUN, Fraction(time))] if time else []

    def stretch(most: int, kind: Do, inside: int) -> list[Step]:
        time = min(draw.choice((most, draw.randint(0, most))), inside)
        return [Step(kind), *run(time), Step(Do.ALLOW)] if time else []

    def some(most: int) -> list[Step]:
        """Code of at most so long, part of which may hold something off."""
        before = left
        found = []
        for kind, time in (
            (Do.HOLD_OFF, task.held_off),
            (Do.MASK, task.masked),
            (Do.MASK_ALL, task.masked_all),
        ):
            if time and draw.random() < 0.3:
                found += stretch(int(time), kind, most - (before - left))
        return found + run(max(0, most - (before - left)))

    def section(one: CriticalSection) -> list[Step]:
        most = int(one.time)
        before = left
        found = [Step(Do.LOCK, resource=one.resource)]
        if draw.random() < 0.5:
            found += some(draw.randint(0, most))
        for inner in task.sections:
            if inner.within == one.resource and inner.time <= most - (before - left):
                found += section(inner)
        found += some(most - (before - left))
        return [*found, Step(Do.UNLOCK, resource=one.resource)]

    ending = run(1)
    blocks.append(ending)
    for one in task.sections:
        if not one.within and draw.random() < 0.8:
            blocks.append(section(one))
    for _ in range(task.suspensions):
        if draw.random() < 0.8:
            blocks.append([Step(Do.WAIT, task.suspended / task.suspensions)])
    while left:
        blocks.append(some(draw.randint(1, left)) or run(left))
    draw.shuffle(blocks)
    # A job ends with its code: one that ended with a wait would need the processor for no time.
    blocks.sort(key=lambda block: block is ending)
    return [step for block in blocks for step in block]
