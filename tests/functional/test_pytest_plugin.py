"""The pytest plugin, in runs of pytest of its own: marks, the fixture, the ini file."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from test_cli_estimate import EACH, MAP, ONCE, PROFILE, published

from wcetchar.store import characterization_json

pytest_plugins = ["pytester"]

WALK = ONCE + 3 * EACH
INI = """\
[pytest]
addopts = --strict-markers --strict-config
wcet_characterization = data/k.json
wcet_profile = data/board.yaml
wcet_map = data/map.yaml
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    folder = pytester.mkdir("data")
    (folder / "k.json").write_text(characterization_json(published()))
    (folder / "board.yaml").write_text(PROFILE)
    (folder / "map.yaml").write_text(MAP)
    pytester.makeini(INI)
    return pytester


def mark(arguments: str) -> str:
    return f"""
        import pytest

        @pytest.mark.wcet_budget({arguments})
        def test_it():
            pass
    """


def test_pytest_finds_it_where_wcetchar_is_installed() -> None:
    (found,) = entry_points(group="pytest11", name="wcetchar")
    assert found.value == "wcetchar.pytest_plugin"


def test_it_imports_little_until_a_budget_is_checked(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import sys

        def test_nothing():
            assert "wcetchar.pytest_plugin" in sys.modules
            assert "wcetchar.errors" not in sys.modules
            assert "numpy" not in sys.modules
        """
    )
    project.runpytest_subprocess().assert_outcomes(passed=1)


def test_at_the_budget_it_passes(project: pytest.Pytester) -> None:
    project.makepyfile(mark(f'service="walk", at_most="{WALK} ns"'))
    project.runpytest_inprocess().assert_outcomes(passed=1)


def test_above_it_fails_with_figure_budget_and_by_how_much(project: pytest.Pytester) -> None:
    project.makepyfile(mark(f'"walk", "{WALK - 1} ns"'))
    done = project.runpytest_inprocess()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "walk, total at N=4 on board (map placed) takes 0.608 us, 0.001 us (0.165 %) over its "
            "budget of 0.607 us"
        ]
    )


def test_the_test_itself_does_not_run_then(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        from pathlib import Path

        @pytest.mark.wcet_budget("walk", "1 ns")
        def test_it():
            Path("ran").touch()
        """
    )
    project.runpytest_inprocess().assert_outcomes(failed=1)
    assert not Path("ran").exists()


def test_marks_of_class_and_test_both_hold(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.wcet_budget("walk", "1 ms")
        class TestIt:
            @pytest.mark.wcet_budget("walk", interrupts="1 ns")
            def test_one(self): ...

            def test_other(self): ...

        @pytest.mark.wcet_budget("walk", "1 ns")
        class TestOther:
            @pytest.mark.wcet_budget("walk", "1 ms")
            def test_one(self): ...
        """
    )
    project.runpytest_inprocess().assert_outcomes(passed=1, failed=2)


def test_the_fixture_returns_figures(project: pytest.Pytester) -> None:
    project.makepyfile(
        f"""
        import pytest

        def test_it(wcet_budget):
            held = wcet_budget("walk", at_most="1 ms", interrupts="1 ms", set={{"N": 2}})
            total, interrupts = held
            assert total.time == {ONCE + EACH}
            assert interrupts.time == {EACH}
            assert total.word.value == "high-water mark"

        def test_above(wcet_budget):
            with pytest.raises(pytest.fail.Exception, match="over its budget of 0.001 us"):
                wcet_budget("walk", at_most="1 ns")

        @pytest.mark.parametrize("n", [1, 4, 16])
        def test_growing(wcet_budget, n):
            wcet_budget("walk", f"{{{ONCE} + {EACH} * (n - 1)}} ns", set={{"N": n}})
        """
    )
    project.runpytest_inprocess().assert_outcomes(passed=5)


def test_the_mark_says_everything_itself(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        mark(
            'service="CreateThread", at_most="56.728 us", set={"N": 13}, '
            'characterization="renaux2010", profile="renaux2010/platform1", map="renaux2010/map1"'
        )
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_what_the_ini_file_says(project: pytest.Pytester) -> None:
    """Files from its folder, whichever pytest runs in; values of those that have them."""
    project.makeini(INI + "wcet_set =\n    N=2\n    M = 0x1\nwcet_word = high-water mark\n")
    tests = project.mkdir("tests")
    text = f"""
import pytest

def test_it(wcet_budget):
    wcet_budget("walk", "{ONCE + EACH} ns")
    wcet_budget("copy", "1 ms")
    wcet_budget("walk", "{ONCE} ns", set={{"N": 1}})

@pytest.mark.wcet_budget("walk", "1 ms", word="bound")
def test_word(): ...
"""
    (tests / "test_it.py").write_text(text)
    done = project.runpytest_inprocess("--rootdir", str(project.path), "tests")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*is a high-water mark, and a bound is asked for"])


def test_growth(project: pytest.Pytester) -> None:
    project.makeini(INI + "wcet_baseline = data/k.json\nwcet_may_grow = 5 %\n")
    project.makepyfile(
        """
        def test_it(wcet_budget):
            assert [one.baseline.change for one in wcet_budget("walk")] == [0, 0, 0]
        """
    )
    project.runpytest_inprocess().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('"wlak", "1 us"', "*there is no service wlak"),
        ('"wlak", "1 us"', "  next: did you mean `walk`?"),
        ('"copy", "1 us"', "*copy needs a value for M (bytes)"),
        ('"walk", "1 kg"', "*at_most: `kg` is not a unit*"),
        ('"walk", preemption="1"', "*preemption: `1` has no unit"),
        ('"walk"', "*this budget permits everything"),
        ('"walk", "1 us", may_grow="1 %"', "*growth is held against a baseline*"),
        ('"walk", "1 us", set={"N": "4"}', "*is no mapping to whole numbers"),
        ('"walk", "1 us", set={"N": 99}', "*N of walk (free blocks) is out of range: 99"),
        ('"walk", "1 us", word="sure"', "*'sure' is not known here"),
        ('"walk", "1 us", profile="no/where"', "*no such hardware profile: `no/where`"),
        ('"walk", atmost="1 us"', "*unexpected keyword argument 'atmost'"),
        ("7, '1 us'", "*7 is no service"),
    ],
)
def test_what_cannot_be_checked_fails(project: pytest.Pytester, arguments: str, said: str) -> None:
    project.makepyfile(mark(arguments))
    done = project.runpytest_inprocess()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([said])


@pytest.mark.parametrize("left_out", ["characterization", "profile"])
def test_what_nothing_says(project: pytest.Pytester, left_out: str) -> None:
    lines = [line for line in INI.splitlines() if not line.startswith(f"wcet_{left_out}")]
    project.makeini("\n".join(lines))
    project.makepyfile(mark('"walk", "1 us"'))
    done = project.runpytest_inprocess()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([f"*wcet_{left_out} in the ini file"])


def test_the_mark_is_told(project: pytest.Pytester) -> None:
    done = project.runpytest_inprocess("--markers")
    done.stdout.fnmatch_lines(["@pytest.mark.wcet_budget(service, at_most, interrupts, *"])


def test_wcetchar_needs_no_pytest() -> None:
    code = (
        "import sys, wcetchar.cli.check, wcetchar.pipeline.budget; print('pytest' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
