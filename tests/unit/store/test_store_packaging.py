"""The shipped files reach an installation: the built package resolves its names anywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import wcetchar
from wcetchar import store

SOURCE = Path(wcetchar.__file__).resolve().parents[1]


VEXRISCV = (
    "cynthion-board-d",
    "imac-board-d",
    "imac-board-d-always-miss",
    "imac-board-d-cached",
    "imac-board-d-cached-shared",
    "imac-board-d-instruction-cached",
    "imac-board-d-instruction-cached-shared",
    "imac-board-d-shared",
    "imac-board-d-uncached",
    "imac-board-d-uncached-shared",
    "imc-board-b",
    "imc-board-b-cached",
    "imc-board-b-cached-shared",
    "imc-board-b-shared",
    "imc-board-c",
    "imc-board-c-cached",
    "imc-board-c-cached-jitter",
    "imc-board-c-cached-refresh",
    "imc-board-c-cached-shared",
    "imc-board-c-jitter",
    "imc-board-c-refresh",
    "imc-board-c-shared",
    "imc-cached",
    "imc-cached-shared",
    "imc-zero-wait",
    "imc-zero-wait-shared",
)
"""Boards are in several states, with one map."""
VEXRISCV_MAPS = [
    name
    for name in VEXRISCV
    if not name.endswith(
        ("-miss", "-shared", "-refresh", "-uncached", "-instruction-cached", "-jitter")
    )
]


@pytest.mark.skipif(not (SOURCE / "setup.cfg").is_file(), reason="not run from a checkout")
def test_a_built_package_resolves_its_names(tmp_path_factory: pytest.TempPathFactory) -> None:
    pytest.importorskip("setuptools")
    folder = tmp_path_factory.mktemp("build")
    tree, library, empty = folder / "tree", folder / "library", folder / "empty"
    tree.mkdir()
    empty.mkdir()
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("wcetchar", "hwprofiles"):
        shutil.copytree(SOURCE / name, tree / name, symlinks=True, ignore=ignored)
    for name in ("setup.cfg", "pyproject.toml"):
        shutil.copy(SOURCE / name, tree)
    build = [sys.executable, "-c", "from setuptools import setup; setup()", "-q", "build_py"]
    subprocess.run([*build, "--build-lib", str(library)], cwd=tree, check=True, capture_output=True)
    assert not (library / "wcetchar" / "hwprofiles").is_symlink()
    shutil.rmtree(tree)
    script = (
        "import wcetchar; from wcetchar import store; print(wcetchar.__file__);"
        "[store.load_profile(n) for n in store.profile_names()];"
        "[store.load_map(n) for n in store.map_names()];"
        "[store.load_characterization(n) for n in store.characterization_names()];"
        "store.load_measurements('renaux2010');"
        "[store.load_measure_plan(n) for n in store.measure_names()];"
        "from wcetchar.capture.host import HEADER, SOURCE; HEADER.read_text(); SOURCE.read_text();"
        "open('a.yaml', 'w').write('schema: wcetchar/services/1\\nkernel: {name: K, version: 1}\\n"
        "services: {s: {kind: call, entries: [f]}}');"
        "[store.load_services('a.yaml', n) for n in store.section_rule_names()];"
        "print(*store.profile_names(), *store.map_names(), *store.characterization_names(),"
        " *store.section_rule_names())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        cwd=empty,
        env={**os.environ, "PYTHONPATH": str(library)},
        check=True,
        capture_output=True,
        text=True,
    )
    where, names = ran.stdout.splitlines()
    assert Path(where).is_relative_to(library)
    assert names.split() == [
        f"{folder}/{name}"
        for kind, vexriscv in (("", VEXRISCV), ("map", VEXRISCV_MAPS))
        for folder, files in (
            ("arm7tdmi", ("external-16bit", "zero-wait-sram")),
            ("cortex-m3", ("external-16bit", "flash-3ws", "zero-wait-sram")),
            (
                "cortex-m4",
                (
                    "art-168mhz",
                    "art-168mhz-each-fetch",
                    "art-168mhz-prefetch",
                    "flash-3ws",
                    "zero-wait-sram",
                ),
            ),
            (
                "muller2007",
                ("",) if kind else ("cached", "expected", "from-cache", "uncached"),
            ),
            ("renaux2010", ("1", "2", "3")),
            ("rv32", ("two-stage",)),
            ("vexriscv", vexriscv),
        )
        for name in (
            (f"{kind or 'platform'}{f}" if folder == "renaux2010" else f"{kind and 'map-'}{f}")
            if f
            else kind
            for f in files
        )
    ] + ["muller2007", "renaux2010", "zephyr-cortex-m", "zephyr-riscv"]
    assert [path.name for path in empty.iterdir()] == ["a.yaml"]


def test_no_name_that_is_imported_when_it_is_used_is_that_of_a_module() -> None:
    """It would be the module as soon as another name of that was used."""
    lazily = {name for name in store.__all__ if name not in ("Locator", "locate")}
    modules = {path.stem for path in Path(store.__file__).parent.glob("*.py")}
    assert not lazily & modules
