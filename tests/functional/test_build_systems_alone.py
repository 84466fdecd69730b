"""The Make fragment and the CMake functions in an otherwise empty folder, with what ships: as
someone begins who has neither this repository's example nor a firmware."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import example_build
import pytest
from example_build import ROOT
from needs import need

FRAGMENT = ROOT / "integrations" / "make" / "wcetchar.mk"
FUNCTIONS = ROOT / "integrations" / "cmake" / "wcetchar.cmake"
SHIPPED = ("renaux2010", "renaux2010/platform3", "renaux2010/map3")
PUBLISHED = "148,988"
"""Nanoseconds of CreateThread there, as the founding paper has it."""
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return partial(example_build.run, folder=tmp_path)


def _budget(folder: Path, most: str) -> None:
    (folder / "budget.yaml").write_text(
        "schema: wcetchar/budget/1\nmaximum: true\n"
        f"budgets: [{{service: CreateThread, total: {most}}}]\n"
    )


def _makefile(folder: Path) -> None:
    characterization, profile, section_map = SHIPPED
    (folder / "Makefile").write_text(
        f"WCETCHAR_CHARACTERIZATION := {characterization}\nWCETCHAR_PROFILE := {profile}\n"
        f"WCETCHAR_MAP := {section_map}\nWCETCHAR_BUDGET := budget.yaml\ninclude {FRAGMENT}\n"
    )


def test_make_takes_shipped_names(run: Run, tmp_path: Path) -> None:
    need("make", "make")
    _makefile(tmp_path)
    for goal in ("wcet-characterize", "wcet-map", "wcet-estimate", "wcet-report"):
        done = run("make", goal)
        assert done.returncode == 0, done.stderr
        assert (PUBLISHED in done.stdout) == (goal == "wcet-estimate")
    assert PUBLISHED in (tmp_path / "build/wcet/report.html").read_text()


@pytest.mark.parametrize(("most", "status"), [("148988 ns", 0), ("148987 ns", 2)])
def test_make_holds_budgets_on_its_own_hardware(
    run: Run, tmp_path: Path, most: str, status: int
) -> None:
    need("make", "make")
    _makefile(tmp_path)
    _budget(tmp_path, most)
    done = run("make", "wcet-check", "WCETCHAR_CHECK_OPTIONS=--junit found.xml")
    assert done.returncode == status, done.stderr
    assert "on renaux2010/platform3 (map renaux2010/map3)" in done.stdout
    assert (tmp_path / "found.xml").is_file()


def test_make_says_which_file_is_missing(run: Run, tmp_path: Path) -> None:
    need("make", "make")
    _makefile(tmp_path)
    done = run("make", "wcet-estimate", "WCETCHAR_CHARACTERIZATION=vendors.json")
    assert done.returncode == 2
    assert "vendors.json" in done.stderr


def test_without_the_program(run: Run, tmp_path: Path) -> None:
    need("make", "make")
    need("cmake", "cmake")
    _makefile(tmp_path)
    done = run("make", "wcet-estimate", "WCETCHAR=wcetchar-that-is-not-there")
    assert done.returncode == 2
    assert "no program wcetchar-that-is-not-there: install wcetchar with pip" in done.stderr
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(p NONE)\n"
        "set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)\n"
        f'set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)\ninclude("{FUNCTIONS}")\n'
    )
    done = run("cmake", "-S", ".", "-B", "b")
    assert done.returncode != 0
    assert "install it with pip" in " ".join(done.stderr.split())  # which is wrapped


def test_cmake_takes_shipped_names_and_holds_budgets(run: Run, tmp_path: Path) -> None:
    """In a folder whose name has a space."""
    need("cmake", "cmake")
    need("ninja", "ninja-build")
    characterization, profile, section_map = SHIPPED
    source = tmp_path / "a project"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(p NONE)\n"
        f'include("{FUNCTIONS}")\nadd_executable(app IMPORTED)\n'
        f"wcetchar_estimate(app PROFILE {profile} CHARACTERIZATION {characterization}\n"
        f"    MAP {section_map} BUDGET budget.yaml CHECK_OPTIONS --junit found.xml)\n"
    )
    build = source / "build"
    done = run("cmake", "-G", "Ninja", "-S", source, "-B", build)
    assert done.returncode == 0, done.stderr
    done = run("cmake", "--build", build, "--target", "app-wcet-estimate")
    assert done.returncode == 0, done.stdout + done.stderr
    assert PUBLISHED in done.stdout
    for most, passes in (("148988 ns", True), ("148987 ns", False)):
        _budget(source, most)
        done = run("cmake", "--build", build, "--target", "app-wcet-check")
        assert (done.returncode == 0) == passes, done.stdout + done.stderr
        assert (build / "found.xml").is_file()
        (build / "found.xml").unlink()
