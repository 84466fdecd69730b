"""``wcetchar measure``: measuring well, step by step; one module per verb."""

from __future__ import annotations

from typing import Final

import click

from wcetchar.cli.common import OnDemand

VERBS: Final = {
    "expect": "What a plan needs and expects, before anything is measured.",
    "host": "Measure this machine: calls, processes, threads, memory.",
    "target": "What readings of a target say, held against a plan.",
    "header": "Write the C header with which firmware makes readings.",
}
"""Verbs, and what `--help` lists of each."""


@click.group(
    "measure",
    cls=OnDemand,
    package=__name__,
    verbs=VERBS,
)
def command() -> None:
    """Measure well, step by step. A plan (a YAML file) holds the first two steps, before anything
    is measured; the others are carried out on readings of a clock around each operation.

    \b
      1 accuracy     what the question needs: 10 %, or a time
      2 expectation  from a model of hardware and software: `measure expect PLAN`
      3 overhead     end_outer - start_outer - (end_inner - start_inner)
      4 resolution   the smallest step of the clock
      5 repetitions  how many the accuracy needs, by the spread
      6 outliers     told apart and shown; the maximum keeps them
      7 sanity       measured against expected, with a verdict in words

    `measure host` measures this machine, without a board. On a target, include what
    `measure header` writes, keep what it prints, and give that to `measure target`.

    \b
    Examples:
      wcetchar measure expect muller-arm9
      wcetchar measure host --only memory --plot staircase.svg
      wcetchar measure header -o wcet_measure.h
      wcetchar measure target plan.yaml readings.csv --clock 168MHz
    """
