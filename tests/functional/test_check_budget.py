"""``wcetchar check --budget`` from files to output, files beside it, and exit code.

Of the published rows of walk at N = 4 and of copy at M = 0, figures by hand as in the tests of
estimates; of path models those of the tests of systems.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from test_cli_estimate import EACH, MAP, ONCE, PROFILE, published, row
from test_system_all_paths import BRANCH, with_paths

from wcetchar.cli import main
from wcetchar.model.characterization import (
    Blocking,
    BlockingStretch,
    Characterization,
    Counts,
    Joint,
    NotCharacterized,
    Place,
    ServiceCharacterization,
    StretchKind,
    Word,
)
from wcetchar.model.path_model import Gap
from wcetchar.store import characterization_json

WALK = ONCE + 3 * EACH
HELD = 3 * EACH
COPY = 8 * (30 + 10 + 20 + 7)


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("k.json", published())
    Path("board.yaml").write_text(PROFILE)
    Path("map.yaml").write_text(MAP)


def write(name: str, found: Characterization) -> None:
    Path(name).write_text(characterization_json(found))


def changed(service: str, **what: Any) -> Characterization:
    """That service with something else."""
    found = published()
    services = tuple(replace(one, **what) if one.name == service else one for one in found.services)
    return replace(found, services=services)


def slower() -> Characterization:
    """walk with one more fetch in each turn, 30 ns."""
    masked = Blocking(interrupts=True)
    rows = (row("1", Blocking(), 5, 8, 1), row("N - 1", masked, 3, 3, 1))
    held = BlockingStretch(StretchKind.INTERRUPTS, "walk+4", "walk+20", Counts((rows[1],)))
    return changed("walk", counts=Counts(rows), stretches=(held,))


def budgets(*lines: str, head: str = "") -> None:
    text = f"schema: wcetchar/budget/1\nprofile: board.yaml\nmap: map.yaml\n{head}budgets:\n"
    Path("b.yaml").write_text(text + "".join(f"  - {line}\n" for line in lines))


def check(*options: str) -> Result:
    return CliRunner().invoke(main, ["check", "k.json", "--budget", "b.yaml", *options])


def rows(*options: str, code: int = 0) -> dict[tuple[str, str], dict[str, Any]]:
    """By service and figure."""
    return {(r["service"], r["figure"]): r for r in document(*options, code=code)["rows"]}


def document(*options: str, code: int = 0) -> dict[str, Any]:
    done = check(*options, "--json")
    assert done.exit_code == code, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["passed"] is (code == 0)
    return found


def refused(*options: str) -> str:
    done = check(*options)
    assert done.exit_code == 3, done.output
    assert done.stdout == ""
    return done.stderr


def test_at_the_budget_it_passes_and_a_part_of_a_nanosecond_above_it_fails() -> None:
    budgets(f"{{service: walk, total: {WALK} ns, interrupts: {HELD} ns, preemption: {HELD} ns}}")
    found = rows()
    assert {key: one["ns"] for key, one in found.items()} == {
        ("walk", "total"): WALK,
        ("walk", "interrupts"): HELD,
        ("walk", "preemption"): HELD,
    }
    assert {one["verdict"] for one in found.values()} == {"ok"}
    assert {one["word"] for one in found.values()} == {"high-water mark"}
    budgets(f"{{service: walk, total: {WALK - 1}.999 ns, interrupts: {HELD} ns}}")
    done = check()
    assert done.exit_code == 1
    assert done.stderr == "1 of 2 figures fails: walk\n"
    said = "takes 0.608 us, 0.001 us (0.001 %) over its budget of 0.607 us"
    assert f"FAILED: walk, total at N=4 {said}" in done.stdout
    assert rows(code=1)["walk", "interrupts"]["verdict"] == "ok"


def test_values_of_a_budget_stand_before_those_of_the_file_and_these_before_the_map() -> None:
    budgets("{service: walk, total: 1 ms}", head="set: {N: 2}\n")
    assert rows()["walk", "total"]["ns"] == ONCE + EACH
    budgets("{service: walk, total: 1 ms, set: {N: 0x3}}", head="set: {N: 2}\n")
    assert rows()["walk", "total"]["ns"] == ONCE + 2 * EACH
    # M has no value, and the largest is looked for.
    budgets("{service: copy, total: 1 ms, maximum: true}", "{service: walk, total: 1 ms}")
    found = rows()
    assert found["copy", "total"]["ns"] == COPY
    assert found["copy", "total"]["parameters"] == "M=0"
    assert found["walk", "total"]["parameters"] == "N=4"


def test_one_service_at_several_values() -> None:
    budgets(
        f"{{service: walk, total: {ONCE} ns, set: {{N: 1}}}}",
        f"{{service: walk, total: {ONCE} ns, set: {{N: 2}}}}",
    )
    assert [r["verdict"] for r in document(code=1)["rows"]] == ["ok", "over budget"]


def test_patterns() -> None:
    budgets('{service: "*", but: [copy], total: 1 ms}')
    assert list(rows()) == [("walk", "total")]
    budgets('{service: "?alk", total: 1 ms}')
    assert list(rows()) == [("walk", "total")]
    # No classes of characters: names can have brackets.
    budgets('{service: "[w]*", total: 1 ms}')
    assert "no service has a name like [w]*" in refused()


def test_a_call_in_parts_is_each_of_them() -> None:
    found = published()
    walk, copy = found.services
    parts = (replace(walk, name="walk/call"), replace(walk, name="walk/resume"), copy)
    write("k.json", replace(found, services=parts))
    for name in ("walk", "wal?", '"*/*"', '"walk*"'):
        budgets(f"{{service: {name}, total: 1 ms}}")
        assert list(rows()) == [("walk/call", "total"), ("walk/resume", "total")]
    budgets("{service: walk/call, total: 1 ms}")
    assert list(rows()) == [("walk/call", "total")]
    budgets('{service: "*", but: [walk], total: 1 ms, set: {M: 1}}')
    assert list(rows()) == [("copy", "total")]


@pytest.mark.parametrize(
    ("line", "head", "said"),
    [
        ("{service: wlak, total: 1 us}", "", "5:15: there is no service wlak"),
        ("{service: wlak, total: 1 us}", "", "did you mean `walk`?"),
        ('{service: "x*", total: 1 us}', "", "5:15: no service has a name like x*"),
        ('{service: "w*", but: [copy], total: 1 us}', "", "5:27: w* does not mean copy anyway"),
        ("{service: copy, total: 1 us}", "", "5:15: copy needs a value for M (bytes)"),
        ("{service: copy, total: 1 us}", "", "`set: {M: VALUE}` of the budget"),
        ("{service: walk, total: 1 us, set: {M: 1}}", "", "5:43: walk has no parameter M"),
        ("{service: walk, total: 1 us, set: {N: 17}}", "", "5:43: N of walk (free blocks) is out"),
        ("{service: walk, total: 1 us}", "set: {N: 17}\n", "4:10: N of walk (free blocks) is out"),
        ("{service: walk, total: 1 us}", "set: {K: 17}\n", "4:10: no service has a parameter K"),
        ("{service: walk, may grow: 1 %}", "", "5:31: growth is held against a baseline"),
        ("{service: walk}", "may grow: 1 %\n", "4:11: growth is held against a baseline"),
        ("{service: walk, total: 1 us}", "baseline: no.json\n", "4:11: no such characterization"),
    ],
)
def test_mistakes_have_their_place(line: str, head: str, said: str) -> None:
    budgets(line, head=head)
    assert said in refused()


def test_all_mistakes_of_names_at_once_and_missing_values_once() -> None:
    budgets("{service: a, total: 1 us}", "{service: b, total: 1 us}")
    assert refused().count("there is no service") == 2
    found = published()
    twice = (*found.services, replace(found.services[1], name="copy2"))
    write("k.json", replace(found, services=twice))
    budgets('{service: "c*", total: 1 us}', "{service: walk, total: 1 us, set: {N: 99}}")
    said = refused()
    assert "b.yaml:5:15: 2 services need a value for M: copy, copy2" in said
    assert "b.yaml:6:43: N of walk" in said


def test_hardware() -> None:
    Path("b.yaml").write_text(
        "schema: wcetchar/budget/1\nbudgets: [{service: walk, total: 1 ms, set: {N: 4}}]\n"
    )
    assert "b.yaml:1:1: nothing says on which hardware" in refused()
    assert rows("--profile", "board.yaml", "--map", "map.yaml")["walk", "total"]["ns"] == WALK
    budgets("{service: walk, total: 1 ms}")
    Path("other.yaml").write_text(MAP.replace("N: 4", "N: 1"))
    assert rows("--map", "other.yaml")["walk", "total"]["ns"] == ONCE
    # A profile of its own does not go with the file's map.
    done = check("--profile", "board.yaml")
    assert done.exit_code == 2
    assert "profile board has no default map" in done.stderr


def test_files_that_are_not_there_are_mistakes_of_whoever_names_them() -> None:
    budgets("{service: walk, total: 1 ms}")
    text = Path("b.yaml").read_text()
    Path("b.yaml").write_text(text.replace("board.yaml", "bord.yaml"))
    assert refused().startswith("b.yaml:2:10: no such hardware profile: `bord.yaml`")
    Path("b.yaml").write_text(text.replace("map.yaml", "mop.yaml"))
    assert refused().startswith("b.yaml:3:6: no such section map: `mop.yaml`")
    assert refused("--map", "mup.yaml").startswith("no such section map: `mup.yaml`")


def test_growth_at_the_share_passes_and_above_it_fails() -> None:
    write("k.json", slower())
    write("old.json", published())
    grown = 3 * 30
    budgets("{service: walk}", head=f"baseline: old.json\nmay grow: {100 * grown / HELD} %\n")
    found = rows()
    assert [one["baseline_ns"] for one in found.values()] == [WALK, HELD, HELD]
    assert [one["ns"] for one in found.values()] == [WALK + grown, HELD + grown, HELD + grown]
    assert [one["verdict"] for one in found.values()] == ["ok", "ok", "ok"]
    assert found["walk", "total"]["change_percent"] == pytest.approx(100 * grown / WALK, abs=1e-3)
    share = 100 * grown / HELD - 1e-6
    budgets("{service: walk}", head=f"baseline: old.json\nmay grow: {share:.6f} %\n")
    found = rows(code=1)
    assert [one["verdict"] for one in found.values()] == ["ok", "grew", "grew"]
    assert "grew by" in found["walk", "interrupts"]["said"]


def test_whose_growth_counts() -> None:
    """That of the name before that of patterns, these before the file's; the least of several."""
    write("k.json", slower())
    write("old.json", published())
    file = "baseline: old.json\nmay grow: 1 %\n"
    budgets("{service: walk, may grow: 50 %}", '{service: "w*", may grow: 2 %}', head=file)
    assert {one["may_grow_percent"] for one in rows().values()} == {50}
    budgets("{service: walk, total: 1 ms}", '{service: "w*", may grow: 60 %}', head=file)
    assert {one["may_grow_percent"] for one in rows().values()} == {60}
    patterns = ('{service: "w*", may grow: 60 %}', '{service: "*k", may grow: 3 %}')
    budgets(*patterns, head=file)
    assert {one["may_grow_percent"] for one in rows(code=1).values()} == {3}
    budgets("{service: walk, total: 1 ms}", head=file)
    assert {one["may_grow_percent"] for one in rows(code=1).values()} == {1}


def test_a_figure_is_looked_at_once() -> None:
    write("old.json", published())
    budgets(
        "{service: walk, total: 1 ms}",
        '{service: "w*"}',
        head="baseline: old.json\nmay grow: 1 %\n",
    )
    assert [(r["service"], r["figure"]) for r in document()["rows"]] == [
        ("walk", "total"),
        ("walk", "interrupts"),
        ("walk", "preemption"),
    ]


def test_a_baseline_without_a_share_only_shows_changes() -> None:
    write("k.json", slower())
    write("old.json", published())
    budgets("{service: walk, total: 1 ms}")
    found = rows("--baseline", "old.json")
    assert found["walk", "total"]["change_percent"] > 0
    assert found["walk", "total"]["may_grow_percent"] is None


def test_what_is_new_and_what_is_gone_is_said() -> None:
    found = published()
    write("old.json", replace(found, services=(replace(found.services[0], name="wake"),)))
    budgets('{service: "*", maximum: true}', head="baseline: old.json\nmay grow: 0 %\n")
    shown = document()
    assert {r["is_new"] for r in shown["rows"]} == {True}
    assert shown["gone"] == ["wake"]
    assert "in the baseline alone, and in no figure: wake" in check().stdout


def test_from_nothing() -> None:
    found = published()
    nothing = Counts((row("M", Blocking(), 1, 1, 1),))
    old = replace(found.services[1], counts=nothing)
    write("old.json", replace(found, services=(old,)))
    budgets("{service: copy, set: {M: 0}}", head="baseline: old.json\nmay grow: 900 %\n")
    assert rows(code=1)["copy", "total"]["verdict"] == "grew"
    assert "copy, total at M=0 grew from nothing, from 0 us to" in check().stdout


def test_what_cannot_be_compared_fails() -> None:
    """The baseline needs a value that is not there, or is out of its range."""
    walk = published().services[0]
    fewer = replace(walk.parameters[0], maximum=3)
    write("old.json", changed("walk", parameters=(fewer,)))
    budgets("{service: walk, set: {N: 4}}", head="baseline: old.json\nmay grow: 0 %\n")
    found = rows(code=1)
    assert {one["verdict"] for one in found.values()} == {"not compared"}
    assert "out of range" in found["walk", "total"]["said"]
    budgets("{service: walk, set: {N: 4}, total: 1 ms}")
    assert rows("--baseline", "old.json")["walk", "total"]["verdict"] == "ok"


def test_the_bound_over_all_paths_counts() -> None:
    write("k.json", with_paths())
    budgets(f"{{service: walk, total: {WALK + BRANCH} ns, word: bound}}")
    found = rows()["walk", "total"]
    assert (found["ns"], found["word"], found["verdict"]) == (WALK + BRANCH, "bound", "ok")
    budgets(f"{{service: walk, total: {WALK + BRANCH - 1} ns}}")
    assert rows(code=1)["walk", "total"]["verdict"] == "over budget"


def test_without_a_bound_the_rows_count_and_the_word_says_so() -> None:
    write("k.json", with_paths(gaps=(Gap("loop without a bound", "walk+4"),)))
    budgets(f"{{service: walk, total: {WALK} ns}}")
    assert rows()["walk", "total"]["word"] == "high-water mark"
    assert "no bound over all paths, so the published rows count" in check().stdout
    budgets(f"{{service: walk, total: {WALK} ns}}", head="word: bound\n")
    found = rows(code=1)["walk", "total"]
    assert found["verdict"] == "weaker word"
    assert found["said"] == "is a high-water mark, and a bound is asked for"


def test_like_is_compared_with_like() -> None:
    """A bound where there was none before is no growth; neither is a bound that is lost."""
    for now, before in ((with_paths(), published()), (published(), with_paths())):
        write("k.json", now)
        write("old.json", before)
        budgets("{service: walk}", head="baseline: old.json\nmay grow: 0 %\n")
        found = rows()["walk", "total"]
        assert found["baseline_ns"] == found["compared_ns"] == WALK
        assert found["change_percent"] == 0
        assert "only one of both versions has a bound over all paths" in check().stdout


def test_a_service_that_is_not_characterized_fails() -> None:
    found = published()
    lost = (NotCharacterized("jump", "no trace shows it"),)
    write("k.json", replace(found, not_characterized=lost))
    for name in ("jump", '"j*"'):
        budgets(f"{{service: {name}, total: 1 s, interrupts: 1 s}}")
        shown = rows(code=1)
        assert {one["verdict"] for one in shown.values()} == {"no figure"}
        assert shown["jump", "total"]["ns"] is None
        assert "it is not characterized: no trace shows it" in shown["jump", "total"]["said"]
    # Of growth alone: it had figures, and has none.
    write("old.json", changed("walk", name="jump"))
    budgets("{service: jump}", head="baseline: old.json\nmay grow: 50 %\n")
    assert rows(code=1)["jump", "total"]["verdict"] == "no figure"
    # It never had any: nothing is held, which is no pass.
    write("old.json", published())
    assert "7:15: jump means only what is not characterized" in refused()


def chained(**what: Any) -> Characterization:
    """walk keeps interrupts masked through a switch, behind which nothing is known to go on."""
    held = published().services[0].stretches[0]
    goes_on = replace(held, goes_on_from=frozenset(), goes_on_in=frozenset({Joint.THREAD}))
    return changed("walk", stretches=(replace(goes_on, **what),))


def test_what_is_held_off_without_end_fails_its_budget() -> None:
    write("k.json", chained())
    budgets("{service: walk, total: 1 ms, interrupts: 1 s}")
    found = rows(code=1)
    assert found["walk", "total"]["verdict"] == "ok"
    assert found["walk", "interrupts"]["verdict"] == "no figure"
    assert found["walk", "interrupts"]["is_bounded"] is False
    assert found["walk", "interrupts"]["ns"] == HELD
    assert "holds interrupts off for 0.351 us at least, and has no bound" in check().stdout
    # It was as open before: the parts that are known are compared. It was not: that is worse.
    write("old.json", chained())
    budgets("{service: walk}", head="baseline: old.json\nmay grow: 0 %\n")
    assert rows()["walk", "interrupts"]["change_percent"] == 0
    write("old.json", chained(goes_on_in=frozenset()))
    found = rows(code=1)
    assert found["walk", "interrupts"]["verdict"] == "not compared"
    assert "it has no bound any more, and had one" in found["walk", "interrupts"]["said"]


def test_a_formula_that_fails_is_no_pass() -> None:
    broken = Counts((row("N - 3", Blocking(), 1, 1, 1),))
    write("k.json", changed("walk", counts=broken, stretches=()))
    budgets("{service: walk, total: 1 s, set: {N: 1}}")
    found = rows(code=1)["walk", "total"]
    assert found["verdict"] == "no figure"
    assert found["ns"] is None


def test_the_same_bytes_and_whole_files() -> None:
    write("k.json", slower())
    write("old.json", published())
    budgets(
        '{service: "*", maximum: true, total: 1 us}', head="baseline: old.json\nmay grow: 1 %\n"
    )
    options = ("--junit", "j.xml", "--sarif", "s.json", "--markdown", "m.md", "-o", "t.txt")
    assert check(*options).exit_code == 1
    first = {name: Path(name).read_bytes() for name in options[1::2]}
    assert check(*options).exit_code == 1
    assert {name: Path(name).read_bytes() for name in options[1::2]} == first
    # What cannot be checked leaves them as they are.
    budgets("{service: wlak, total: 1 us}")
    refused(*options)
    assert {name: Path(name).read_bytes() for name in options[1::2]} == first


def test_csv_has_what_json_has() -> None:
    write("k.json", slower())
    write("old.json", published())
    budgets("{service: walk, total: 1 us}", head="baseline: old.json\nmay grow: 1 %\n")
    (shown, *_) = document(code=1)["rows"]
    (line, *_) = csv.DictReader(io.StringIO(check("--format", "csv").stdout))

    def text(value: object) -> str:
        return (
            "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        )

    assert line == {key: text(value) for key, value in shown.items()}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("k.json", "run.trace", "--budget", "b.yaml"), "RUN is of replaying traces"),
        (("k.json", "--budget", "b.yaml", "--services", "s.yaml"), "--services is of replaying"),
        (("k.json", "--budget", "b.yaml", "--set", "N=1"), "--set is of replaying"),
        (("k.json", "--budget", "b.yaml", "--call-depth", "0"), "--call-depth is of replaying"),
        (("k.json", "--junit", "j.xml"), "--junit is of budgets"),
        (("k.json", "--baseline", "k.json"), "--baseline is of budgets"),
        (("k.json", "--format", "csv"), "--format is of budgets"),
        (("k.json", "t.trace"), "--services FILE and traces, or --budget FILE"),
        (("k.json",), "--services FILE and traces, or --budget FILE"),
        (("k.json", "--services", "s"), "Missing argument 'RUN...'"),
        (("k.json", "--budget", "b.yaml", "--junit", "b.yaml"), "is also an input"),
        (("k.json", "--budget", "b.yaml", "--junit", "x", "--sarif", "x"), "a file of its own"),
    ],
)
def test_usage(arguments: tuple[str, ...], said: str) -> None:
    budgets("{service: walk, total: 1 us}")
    done = CliRunner().invoke(main, ["check", *arguments])
    assert done.exit_code == 2
    assert said in done.stderr


def sarif(*options: str, code: int = 1) -> list[Mapping[str, Any]]:
    done = check("--sarif", "s.json", *options)
    assert done.exit_code == code, done.output
    results: list[Mapping[str, Any]] = json.loads(Path("s.json").read_text())["runs"][0]["results"]
    return results


def places(result: Mapping[str, Any]) -> list[tuple[str, int]]:
    found = [*result["locations"], *result.get("relatedLocations", ())]
    physical = [one["physicalLocation"] for one in found]
    return [(p["artifactLocation"]["uri"], p["region"]["startLine"]) for p in physical]


def test_sources_of_failures() -> None:
    """The service's own line; without it that of the first block of its path model, of a stretch
    in its function, of the stretch; the budget's line else, and beside."""
    budgets("{service: walk, total: 1 ns, interrupts: 1 ns}")
    total, interrupts = sarif()
    assert places(total) == places(interrupts) == [("b.yaml", 5)]
    held = published().services[0].stretches[0]
    inside = replace(held, begin_place=Place("lock", 4, "src/port.c", 7))
    write("k.json", changed("walk", stretches=(inside,)))
    total, interrupts = sarif()
    assert places(total) == [("b.yaml", 5)]
    assert places(interrupts) == [("src/port.c", 7), ("b.yaml", 5)]
    own = replace(held, begin_place=Place("walk", 4, "src/walk.c", 12))
    write("k.json", changed("walk", stretches=(own,)))
    assert [places(one)[0] for one in sarif()] == [("src/walk.c", 12)] * 2
    node, *others = with_paths().paths[0].nodes
    entry = replace(node, place=Place("walk", 0, "src/walk.c", 11))
    write("k.json", with_paths(nodes=(entry, *others)))
    assert places(sarif()[0]) == [("src/walk.c", 11), ("b.yaml", 5)]
    write("k.json", changed("walk", stretches=(inside,), place=Place("walk", 0, "src/walk.c", 10)))
    total, interrupts = sarif()
    assert places(total) == [("src/walk.c", 10), ("b.yaml", 5)]
    assert places(interrupts) == [("src/walk.c", 10), ("b.yaml", 5), ("src/port.c", 7)]


def test_sources_are_named_from_here() -> None:
    budgets("{service: walk, total: 1 ns}")
    write("k.json", changed("walk", place=Place("walk", 0, "src/walk.c", 10)))
    Path("third_party/kernel/src").mkdir(parents=True)
    Path("third_party/kernel/src/walk.c").write_text("")
    assert places(sarif()[0])[0] == ("src/walk.c", 10)
    (found,) = sarif("--sources", "nowhere", "--sources", "third_party/kernel")
    assert places(found)[0] == ("third_party/kernel/src/walk.c", 10)
    here = str(Path.cwd() / "src/walk.c")
    write("k.json", changed("walk", place=Place("walk", 0, here, 10)))
    assert places(sarif()[0])[0] == ("src/walk.c", 10)
    write("k.json", changed("walk", place=Place("walk", 0, "/usr/src/a b.c", 10)))
    assert places(sarif()[0])[0] == ("file:///usr/src/a%20b.c", 10)


def test_a_service_of_a_kernel_without_any() -> None:
    found: tuple[ServiceCharacterization, ...] = ()
    write("k.json", replace(published(), services=found))
    budgets("{service: walk, total: 1 us}")
    assert "there is no service walk" in refused()


def test_words_of_each_row() -> None:
    budgets('{service: "*", total: 1 ms, maximum: true}', head="word: high-water mark\n")
    assert {key: one["word"] for key, one in rows().items()} == {
        ("walk", "total"): "high-water mark",
        ("copy", "total"): "bound",
    }
    write("k.json", changed("walk", word=Word.ESTIMATE))
    found = rows(code=1)
    assert found["walk", "total"]["said"] == ("is an estimate, and a high-water mark is asked for")
