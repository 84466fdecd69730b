"""A kernel, two boards and another version of the kernel, for the tests of datasheets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from path_models import OUT, constraint, number
from test_cli_estimate import MAP, PROFILE, row
from test_system_all_paths import with_paths

from wcetchar import formula
from wcetchar.model.characterization import (
    Blocking,
    Characterization,
    Counts,
    Evidence,
    NotCharacterized,
    ServiceCharacterization,
    TablePoint,
    Word,
)
from wcetchar.model.path_model import PathEdge, PathModel, PathNode
from wcetchar.model.service import Kernel, LeftOut, Parameter, ParameterKind, ServiceKind
from wcetchar.store import characterization_json

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \"'` \x1b[31m ]]> <!--"
SLOW = PROFILE.replace("name: board", "name: slow").replace("fetch: 30 ns", "fetch: 43.7 ns")
ARGUMENTS = (
    *("k.json", "--profile", "board.yaml", "--map", "map.yaml"),
    *("--profile", "slow.yaml", "--map", "free.yaml"),
)


def kernel(evil: str = "") -> Characterization:
    """Services with formulas, path models, a table of observed values, cases, and a chain;
    ``evil``: stands in every text that people read."""
    found = with_paths()
    case = Parameter("case", ParameterKind.CASE, 0, 2, f"0: of three{evil}")
    n = Parameter("N", ParameterKind.STATE, 1, 8, f"blocks{evil}")
    masked, none = Blocking(interrupts=True), Blocking()
    cases = ServiceCharacterization(
        f"cases{evil}",
        ServiceKind.CALL,
        Word.BOUND,
        (n, case),
        Counts(
            (
                row("1", none, 3, 5, 1),
                row("(case == 0) * N", masked, 4, 3, 2),
                row("case == 1", none, 40, 3, 0),
                row("case == 2", masked, 2, 30, 1),
            )
        ),
        description=f"of three cases{evil}",
        worst_state=f"one of them{evil}",
        stretches_known=False,
    )
    table = ServiceCharacterization(
        "table",
        ServiceKind.HANDLER,
        Word.HIGH_WATER_MARK,
        (n,),
        Counts(
            points=tuple(
                TablePoint((value,), (row("1", masked, fetches, 7, 2),))
                for value, fetches in ((1, 4), (3, 19), (8, 23))
            )
        ),
        evidence=Evidence(5, ((1,), (3,), (8,))),
        notes=(f"of a table{evil}",),
    )
    return replace(
        found,
        paths=(*found.paths, paths_of_cases(cases)),
        kernel=Kernel(f"k{evil}", "1", {f"option{evil}": f"on{evil}"}),
        services=(*found.services, cases, table),
        assumptions=(f"a thing{evil}",),
        not_characterized=(NotCharacterized(f"lost{evil}", f"no trace{evil}"),),
        left_out=(LeftOut(f"they are macros{evil}", (f"other{evil}",)),),
    )


def paths_of_cases(cases: ServiceCharacterization) -> PathModel:
    """Which case is the dearest hangs on N and on prices. In case 0 what case 2 does may follow,
    which no trace showed; it and the loop are masked."""
    ends = ((OUT, 0), (0, 1), (1, 1), (1, OUT), (0, 2), (2, OUT), (0, 3), (3, OUT), (1, 3))
    return PathModel(
        cases.name,
        tuple(one.vector for one in cases.counts.rows),
        (Blocking(), Blocking(interrupts=True)),
        tuple(PathNode(vector, masked) for vector, masked in enumerate((0, 1, 0, 1))),
        tuple(PathEdge(*one) for one in ends),
        (
            constraint("loop", {2: 1, 1: number(formula.parse("-(N - 1)"))}, each=True),
            *(
                constraint(f"case {case}", {edge: 1}, formula.parse(f"case == {case}"))
                for case, edge in enumerate((1, 4, 6))
            ),
        ),
        follows_masks=True,
    )


def newer() -> Characterization:
    """Another version: ``walk`` is dearer, ``copy`` is gone, ``added`` is new."""
    found = kernel()
    walk, _, *others = found.services
    rows = (walk.counts.rows[0], row("N - 1", Blocking(interrupts=True), 3, 3, 1))
    dearer = replace(walk, counts=Counts(rows))
    added = replace(others[0], name="added", description="new")
    return replace(found, kernel=Kernel("k", "2"), services=(dearer, *others, added), paths=())


def write_files(evil: str = "") -> None:
    """Into the current folder."""
    Path("k.json").write_text(characterization_json(kernel(evil)))
    Path("newer.json").write_text(characterization_json(newer()))
    Path("board.yaml").write_text(PROFILE)
    Path("slow.yaml").write_text(SLOW)
    Path("map.yaml").write_text(MAP)
    Path("free.yaml").write_text(MAP.partition("parameters")[0].replace("placed", "free"))
