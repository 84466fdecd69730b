"""The Make fragment and the CMake functions, on a small FreeRTOS application that both build."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from example_build import EXAMPLE, ROOT, SECTIONS, WCETCHAR, made, make, run
from needs import need

from wcetchar.image import load_image
from wcetchar.store import load_characterization, load_map

__all__ = ["made"]  # a fixture

pytestmark = [pytest.mark.firmware, pytest.mark.xdist_group("build systems")]


def _check(folder: Path, characterization: str, section_map: str, estimates: str) -> None:
    found = load_characterization(str(folder / characterization))
    assert [s.name for s in found.services] == ["xQueueCreate", "xQueueSend", "xQueueReceive"]
    assert [s.evidence.windows for s in found.services] == [1, 8, 8]
    assert load_map(str(folder / section_map)).sections == SECTIONS
    command = ["estimate", folder / characterization, "--profile", "cortex-m3/flash-3ws"]
    by_hand = run(WCETCHAR, *command, "--map", folder / section_map, "--maximum", "--json")
    assert json.loads((folder / estimates).read_text()) == json.loads(by_hand.stdout)


def test_make(made: tuple[Path, str]) -> None:
    folder, printed = made
    _check(folder, "wcet/kernel.json", "wcet/map.yaml", "wcet/estimates.json")
    assert "xQueueReceive" in printed.split("total ns")[1]


def test_make_makes_again_what_has_changed(made: tuple[Path, str]) -> None:
    folder, _ = made
    assert make(folder, "-q", "wcet-map").returncode == 0
    for new, made_again in (
        ("-W" + str(EXAMPLE / "services.yaml"), {"characterize", "map init"}),
        ("-W" + str(EXAMPLE / "FreeRTOSConfig.h"), {"capture", "characterize", "map init"}),
        ("-W" + str(EXAMPLE / "link.ld"), {"capture", "characterize", "map init"}),
    ):
        done = make(folder, "-n", new, "wcet-map")
        verbs = {"capture", "characterize", "map init"}
        assert {v for v in verbs if f"{WCETCHAR} {v} " in done.stdout} == made_again


def test_make_with_a_published_characterization_and_a_map(
    made: tuple[Path, str], tmp_path: Path
) -> None:
    """An integrator's: nothing is emulated; the sections are found by published names."""
    folder, printed = made
    published = f"WCETCHAR_CHARACTERIZATION={folder}/wcet/kernel.json"
    out, linker_map = f"WCETCHAR_OUT={tmp_path}", f"WCETCHAR_LINKER_MAP={folder}/app.map"
    done = make(folder, published, out, linker_map, "WCETCHAR_SERVICES=", "wcet-estimate")
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed[printed.index("total ns") :]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["estimates.json", "map.yaml"]
    by_hand = f"WCETCHAR_MAP={tmp_path}/map.yaml"
    planned = make(folder, "-n", published, out, by_hand, "wcet-estimate")
    assert "map init" not in planned.stdout
    assert "capture" not in planned.stdout


def test_make_report(made: tuple[Path, str]) -> None:
    folder, _ = made
    done = make(folder, "wcet-report")
    assert done.returncode == 0, done.stderr
    assert "xQueueReceive" in (folder / "wcet/report.html").read_text()


def test_make_budget(made: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = made
    for most, status in (("7 us", 0), ("6 us", 2)):
        budget = tmp_path / "budget.yaml"
        budget.write_text(
            "schema: wcetchar/budget/1\nword: high-water mark\n"
            f"budgets: [{{service: xQueueSend, total: {most}}}]\n"
        )
        done = make(folder, f"WCETCHAR_BUDGET={budget}", "wcet-check")
        assert done.returncode == status, done.stderr
    # Not with a map of another build.
    planned = make(folder, "-n", f"-W{EXAMPLE}/link.ld", f"WCETCHAR_BUDGET={budget}", "wcet-check")
    assert f"{WCETCHAR} map init " in planned.stdout


def test_make_says_what_is_not_set(made: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = made
    out = f"WCETCHAR_OUT={tmp_path}"
    for name, goal in (
        ("WCETCHAR_MACHINE", "wcet-characterize"),
        ("WCETCHAR_PROFILE", "wcet-map"),
        ("WCETCHAR_BUDGET", "wcet-check"),
    ):
        published = f"WCETCHAR_CHARACTERIZATION={folder}/wcet/kernel.json"
        given = () if goal == "wcet-characterize" else (published,)
        done = make(folder, out, f"{name}=", *given, goal)
        assert done.returncode == 2
        assert f"{name} is not set: see the head of wcetchar.mk" in done.stderr


def test_cmake(made: tuple[Path, str], tmp_path: Path) -> None:
    """The same image, counts, map and figures."""
    need("cmake", "cmake")
    need("ninja", "ninja-build")
    folder, printed = made
    build = tmp_path / "build"
    toolchain = EXAMPLE / "arm-none-eabi.cmake"
    done = run("cmake", "-G", "Ninja", "-S", EXAMPLE, "-B", build, "--toolchain", toolchain)
    assert done.returncode == 0, done.stderr
    done = run("cmake", "--build", build, "--target", "app-wcet-estimate")
    assert done.returncode == 0, done.stdout + done.stderr
    assert load_image(str(build / "app.elf")).sha256 == load_image(str(folder / "app.elf")).sha256
    _check(build, "wcet/app.json", "wcet/app-map.yaml", "wcet/app-estimates.json")
    assert printed[printed.index("total ns") :].strip() in done.stdout
    for target in ("app-wcet-characterize", "app-wcet-map"):
        again = run("cmake", "--build", build, "--target", target)
        assert "no work to do" in again.stdout
    done = run("cmake", "--build", build, "--target", "app-wcet-report")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "xQueueReceive" in (build / "wcet/app-report.html").read_text()
    # Not part of what is built by itself.
    assert "wcetchar" not in run("ninja", "-C", build, "-n", "all").stdout


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("wcetchar_characterize(app SERVICES s.yaml)", "MACHINE is missing"),
        ("wcetchar_characterize(app FILE x MACHINE m SERVICES s.yaml)", "unknown arguments"),
        ("wcetchar_estimate(app)", "PROFILE is missing"),
        ("wcetchar_estimate(app PROFILE p)", "CHARACTERIZATION is missing"),
    ],
)
def test_cmake_says_what_is_missing(call: str, said: str, tmp_path: Path) -> None:
    need("cmake", "cmake")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(p NONE)\nadd_custom_target(app)\n"
        f'include("{ROOT}/integrations/cmake/wcetchar.cmake")\n{call}\n'
    )
    done = run("cmake", "-S", tmp_path, "-B", tmp_path / "build")
    assert done.returncode == 1
    assert said in " ".join(done.stderr.split())
