"""``wcetchar validate --replay``: FreeRTOS on RV32, through caches of several geometries."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from needs import need
from rtl_bench import ROOT, firmware

from wcetchar.analysis.contexts import Window
from wcetchar.analysis.cut_trace import CutTrace
from wcetchar.cli import main
from wcetchar.pipeline import replay

pytestmark = pytest.mark.xdist_group("replay")

SUITE = ROOT / "rtos_tests" / "freertos"
SERVICES = (
    "xTaskCreate",
    "vTaskDelay",
    "xSemaphoreGive_waiter",
    "xQueueSend",
    "uxListRemove",
    "tick_interrupt",
    "context_switch",
)
"""A loop, calls that another thread cuts, a leaf function, a handler and the switch."""
BASE = "vexriscv/imac-board-d-cached"
GEOMETRIES = [
    ((32, 128, 1), (32, 128, 1)),  # the core's own
    ((32, 128, 2), (32, 4, 2)),
    ((16, 8, 1), (32, 8, 1)),  # in which nothing fits
    ((16, 4, 4), (32, 2, 4)),
    ((64, 4, 2), (32, 1, 3)),
    ((128, 2, 1), (32, 16, 1)),
]
"""Bytes of a line, sets and ways, of instructions and of data."""


@dataclass(frozen=True)
class Vendor:
    """His files, and the integrator's maps: ``here``, where everything lies where it was
    characterized; ``moved``, elsewhere."""

    folder: Path
    elf: Path
    trace: Path
    services: tuple[str, ...]
    characterization: Path
    here: Path
    moved: Path

    def request(self, profile: Path | str, section_map: Path | None = None) -> replay.Request:
        return replay.Request(
            str(self.characterization),
            str(profile),
            str(section_map or self.here),
            (str(self.trace),),
            str(self.elf),
            self.services,
        )

    def run(self, *options: str, characterization: Path | None = None) -> Result:
        files = [word for name in self.services for word in ("--services", name)]
        return CliRunner().invoke(
            main,
            [
                *("validate", str(characterization or self.characterization)),
                *("--profile", BASE, "--map", str(self.here)),
                *("--replay", str(self.trace), "--elf", str(self.elf), *files, *options),
            ],
        )

    def profile(self, code: tuple[int, int, int], data: tuple[int, int, int]) -> Path:
        """The shipped one with other caches."""
        file = self.folder / "profile.yaml"
        caches = "".join(
            f"  {name}: {{line: {line}, size: {line * sets * ways} B, ways: {ways}, "
            "replacement: lru}\n"
            for name, (line, sets, ways) in (("instruction cache", code), ("data cache", data))
        )
        file.write_text(
            "schema: wcetchar/hardware-profile/1\nname: other-caches\ndescription: of a test\n"
            f"based on: {BASE}\ncore:\n{caches}"
        )
        return file


def _invoke(*words: object) -> str:
    result = CliRunner().invoke(main, [*map(str, words)])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def vendor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vendor]:
    need("qemu-system-riscv32", "qemu-system-misc")
    elf, folder = firmware(), tmp_path_factory.mktemp("replay")
    trace, known = folder / "basic.trace", folder / "kernel.json"
    names = ("services.yaml", "config/basic.yaml", "boards/virt/image.yaml")
    services = tuple(str(SUITE / name) for name in names)
    _invoke("capture", elf, "--machine", "virt", "-o", trace)
    files = [word for name in services for word in ("--services", name)]
    counted = ("--successions", "--data-lines", "32")
    _invoke("characterize", elf, trace, *files, *counted, "-o", known)
    document = json.loads(known.read_text())
    document["services"] = [
        s for s in document["services"] if s["name"].partition("/")[0] in SERVICES
    ]
    known.write_text(json.dumps(document))
    begins = {s["name"]: s["address"] for s in document["sections"] if "address" in s}
    shipped = (
        ROOT / "wcetchar" / "hwprofiles" / "vexriscv" / "map-imac-board-d-cached.yaml"
    ).read_text()
    text = re.sub(r"addresses:.*\n", "", shipped)
    maps = []
    for name, by in (("here", 0), ("moved", 0x1000)):
        maps.append(folder / f"{name}.yaml")
        # Code apart from data, so that sections come to lie otherwise to each other.
        at = [f"  {s}: {a + (by if 'text' in s else 3 * by):#x}\n" for s, a in begins.items()]
        maps[-1].write_text(f"{text}\naddresses:\n{''.join(at)}")
    # The same windows for each geometry: to look for them takes the longest.
    kept: list[Window] = []
    look = CutTrace.windows

    def windows(cut: CutTrace) -> Iterator[Window]:
        if not kept:
            for window in look(cut):
                for piece in window.pieces:
                    piece.detach()
                kept.append(window)
        return iter(kept)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CutTrace, "windows", windows)
        yield Vendor(folder, elf, trace, services, known, *maps)


@pytest.mark.firmware
@pytest.mark.parametrize(
    ("section_map", "code", "data"),
    [
        ("here", *GEOMETRIES[0]),
        ("moved", *GEOMETRIES[3]),
        *(pytest.param("here", *each, marks=pytest.mark.long) for each in GEOMETRIES[1:]),
        pytest.param("moved", *GEOMETRIES[1], marks=pytest.mark.long),
    ],
)
def test_no_replay_loads_more_than_a_model_says(
    section_map: str, code: tuple[int, int, int], data: tuple[int, int, int], vendor: Vendor
) -> None:
    profile = vendor.profile(code, data)
    found = replay.run(vendor.request(profile, getattr(vendor, section_map)))
    assert found.unsafe == ()
    names = {row.service.partition("/")[0] for row in found.rows}
    assert names == set(SERVICES)
    for row in found.rows:
        assert len(row.models) == 3, found.notes
        assert row.executed.warm.lines <= row.executed.empty.lines
        assert row.executed.empty.lines > 0
    told = "moved to where the map says" in "\n".join(found.notes)
    assert told == (section_map == "moved")


@pytest.mark.firmware
def test_what_is_printed_and_what_is_counted_are_the_same(vendor: Vendor) -> None:
    result = vendor.run("--service", "xTaskCreate", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["unsafe"] == 0
    rows = vendor.run("--service", "xTaskCreate", "--format", "csv")
    table = list(csv.DictReader(io.StringIO(rows.stdout)))
    assert len(table) == len(document["rows"]) > 0
    for written, row in zip(table, document["rows"], strict=True):
        at = ", ".join(f"{name}={value}" for name, value in row["parameters"].items())
        assert (written["service"], written["parameters"]) == ("xTaskCreate", at)
        assert int(written["cold_lines"]) == row["models"]["cold"]["lines"]
        replayed = row["replay"]["executed"]["empty"]["lines"]
        assert int(written["replay_empty_lines"]) == replayed <= row["models"]["cold"]["lines"]
    shown = vendor.run("--service", "xTaskCreate").stdout
    assert shown.startswith("none unsafe of ")
    assert "instruction cache: 4096 bytes, 1 way, lines of 32 bytes" in shown
    assert "replay of executed instructions is the floor" in " ".join(shown.split())


def _damaged(vendor: Vendor, cache: str) -> Path:
    """A line or more less than the service uses."""
    document: dict[str, Any] = json.loads(vendor.characterization.read_text())
    (service,) = (s for s in document["services"] if s["name"] == "xTaskCreate")
    if cache == "instruction cache":
        for footprint in service["lines"]["footprints"]:
            ranges = footprint["ranges"][".text"].split()
            footprint["ranges"][".text"] = " ".join(ranges[: len(ranges) // 2])
    else:
        for footprint in service["data"]:
            footprint.pop("behind", None)
            for section, lines in footprint["lines"]["32"].items():
                footprint["lines"]["32"][section] = lines.split()[0]
    file = vendor.folder / "damaged.json"
    file.write_text(json.dumps(document))
    return file


@pytest.mark.firmware
@pytest.mark.parametrize("cache", ["instruction cache", "data cache"])
def test_a_characterization_with_fewer_lines_is_exit_1(cache: str, vendor: Vendor) -> None:
    file = _damaged(vendor, cache)
    result = vendor.run("--service", "xTaskCreate", characterization=file)
    assert result.exit_code == 1, result.output
    assert re.match(r"\d+ UNSAFE of \d+ rows", result.stdout)
    assert f"{cache}: UNSAFE, a replay loads more" in result.stdout
    other = {"instruction cache", "data cache"} - {cache}
    assert f"{other.pop()}: UNSAFE" not in result.stdout
    assert re.search(rf"xTaskCreate at .*, {cache}: cold says \d+, replay \d+", result.stderr)


@pytest.mark.firmware
def test_files_that_do_not_belong_together_are_refused(vendor: Vendor) -> None:
    text = vendor.characterization.read_text()
    file = vendor.folder / "other.json"
    sha = json.loads(text)["provenance"]["image_sha256"]
    file.write_text(text.replace(sha, "0" * 64))
    result = vendor.run(characterization=file)
    assert result.exit_code == 3
    assert f"the characterization was made of image {'0' * 64}" in result.stderr
    document = json.loads(text)
    (section,) = (s for s in document["sections"] if s["name"] == "heap")
    section["address"] += 32
    file.write_text(json.dumps(document))
    result = vendor.run(characterization=file)
    assert result.exit_code == 3
    assert "section heap began at" in result.stderr
    (service,) = (s for s in document["services"] if s["name"] == "xTaskCreate")
    section["address"] -= 32
    service["parameters"][0]["maximum"] += 1
    file.write_text(json.dumps(document))
    result = vendor.run(characterization=file)
    assert result.exit_code == 3
    assert "xTaskCreate has other parameters than where it was characterized" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "either --measured FILE or --replay TRACE"),
        (("--measured", "m.csv", "--replay", "t"), "either --measured FILE or --replay TRACE"),
        (("--replay", "t"), "--elf FILE and --services FILE"),
        (("--replay", "t", "--elf", "e"), "--elf FILE and --services FILE"),
        (("--replay", "t", "--plot", "p.svg"), "--plot means nothing with --replay"),
        (("--replay", "t", "--overhead", "x"), "--overhead means nothing with --replay"),
        (("--replay", "t", "--metric", "interrupts"), "--metric means nothing with --replay"),
        (("--measured", "m.csv", "--elf", "e"), "--elf means nothing with --measured"),
        (("--measured", "m.csv", "--set", "N=1"), "--set means nothing with --measured"),
    ],
)
def test_options_that_contradict_each_other(options: tuple[str, ...], message: str) -> None:
    words = ["validate", "renaux2010", "--profile", "renaux2010/platform1", *options]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_profile_without_caches_is_refused() -> None:
    words = ["--replay", "t", "--elf", "e", "--services", "s"]
    result = CliRunner().invoke(
        main,
        [
            *("validate", "renaux2010", "--profile", "renaux2010/platform1"),
            *("--map", "renaux2010/map1", *words),
        ],
    )
    assert result.exit_code == 3
    assert "has no cache that holds anything of this kernel" in result.stderr
