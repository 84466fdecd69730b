"""Simulated runs against those of SimSo (Chéramy, Hladik, Déplanche 2014), and both against the
analysis: periodic tasks without a kernel, which is all that both tools know."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from wcetchar.engine.response_time import analyse
from wcetchar.engine.simulation import simulate
from wcetchar.model.system import System, Task

core = pytest.importorskip("simso.core", reason="simso is not installed")
configuration = pytest.importorskip("simso.configuration")

MS = 300


def tasks_of(seed: int) -> list[Task]:
    """Rate monotonic, whole milliseconds, a load of up to 1; deadlines are not what it is about."""
    draw = random.Random(seed)
    periods = sorted(draw.sample((5, 6, 8, 10, 12, 15, 20, 24, 30, 40), draw.randint(2, 5)))
    left = Fraction(1)
    tasks = []
    for number, period in enumerate(periods):
        most = int(left * period)
        if most < 1:
            break
        wcet = draw.randint(1, max(1, most // 2))
        left -= Fraction(wcet, period)
        offset = draw.choice((0, 0, draw.randint(0, period)))
        tasks.append(
            Task(
                f"t{number}",
                len(periods) - number,
                Fraction(period),
                Fraction(period),
                Fraction(wcet),
                offset=Fraction(offset),
            )
        )
    return tasks


def of_simso(tasks: list[Task]) -> dict[str, list[tuple[Fraction, Fraction | None]]]:
    """Release and end of each job, by task, in milliseconds."""
    given: Any = configuration.Configuration()
    given.duration = MS * given.cycles_per_ms
    for number, task in enumerate(tasks):
        assert task.period is not None
        given.add_task(
            name=task.name,
            identifier=number + 1,
            period=int(task.period),
            activation_date=int(task.offset),
            wcet=int(task.wcet),
            deadline=10 * int(task.period),
            abort_on_miss=False,
        )
    given.add_processor(name="cpu", identifier=1)
    given.scheduler_info.clas = "simso.schedulers.RM_mono"
    given.check_all()
    model: Any = core.Model(given)
    model.run_model()
    return {
        one.name: [
            (
                Fraction(job.activation_date).limit_denominator(1000),
                None if job.end_date is None else Fraction(job.end_date, given.cycles_per_ms),
            )
            for job in one.jobs
        ]
        for one in model.task_list
    }


@pytest.mark.parametrize("seed", range(40))
def test_each_job_ends_when_simso_says(seed: int) -> None:
    tasks = tasks_of(seed)
    system = System("", tuple(tasks))
    run = simulate(system, Fraction(MS), keep=Fraction(MS))
    ours: dict[str, list[tuple[Fraction, Fraction | None]]] = {task.name: [] for task in tasks}
    for job in run.jobs:
        ours[job.who].append((job.release, job.end))
    theirs = of_simso(tasks)
    bound = {one.name: one.time for one in analyse(system).tasks}
    for name, jobs in theirs.items():
        ended = [(release, end) for release, end in jobs if end is not None]
        assert ended == [(release, end) for release, end in ours[name] if end is not None]
        assert ended
        limit = bound[name]
        assert limit is not None
        assert all(end - release <= limit for release, end in ended)
