"""``wcetchar profile init``: a skeleton is refused until it is filled in, and then it prices."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from wcetchar.cli import main
from wcetchar.model.access import EventKind, Operation
from wcetchar.store import load_characterization, load_profile

DTS = """\
/dts-v1/;
/ {
	#address-cells = <1>;
	#size-cells = <1>;
	sram0: memory@20000000 { device_type = "memory"; reg = <0x20000000 0x8000>; };
	flash0: flash@0 { compatible = "soc-nv-flash"; reg = <0x0 0x10000>; };
	uart0: serial@40001000 { reg = <0x40001000 0x100>; };
	uart1: serial@40002000 { reg = <0x40002000 0x100>; };
	"""
DTS = DTS.rstrip("\t ") + "};\n"


def _init(folder: Path, *options: str) -> Path:
    path = folder / "p.yaml"
    result = CliRunner().invoke(main, ["profile", "init", "my: board", *options, "-o", str(path)])
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture
def dts(tmp_path: Path) -> str:
    path = tmp_path / "x.dts"
    path.write_text(DTS)
    return str(path)


@pytest.mark.parametrize("core", [None, "cortex-m3/flash-3ws", "rv32/two-stage"])
def test_each_todo_is_named_and_nothing_else(tmp_path: Path, dts: str, core: str | None) -> None:
    options = ("--core", core) if core else ()
    path = _init(tmp_path, "--clock", "72 MHz", "--devicetree", dts, *options)
    result = CliRunner().invoke(main, ["profile", "check", str(path)])
    assert result.exit_code == 3
    named = {int(n) for n in re.findall(r"p\.yaml:(\d+):", result.stderr)}
    lines = path.read_text().splitlines()
    open_lines = {
        n
        for n, line in enumerate(lines, start=1)
        if re.search(r": .*TODO", line.split("#")[0])
        and not re.match(r" *(description|name):", line)
    }
    assert named == open_lines
    path.write_text(path.read_text().replace("TODO", "1 cycle"))
    profile = load_profile(str(path))
    assert profile.name == "my: board"
    assert float(profile.core.clock.high) == 72e6
    if core:
        assert profile.core.events == load_profile(core).core.events
        assert profile.core.discarded_fetches == load_profile(core).core.discarded_fetches
    else:
        assert EventKind.LOAD in profile.core.events


def test_regions_of_a_devicetree(tmp_path: Path, dts: str) -> None:
    path = _init(tmp_path, "--clock", "8 MHz", "--devicetree", dts, "--to-fit")
    regions = load_profile(str(path)).regions
    assert {n: (r.base, r.size) for n, r in regions.items()} == {
        "flash0": (0, 0x10000),
        "sram0": (0x20000000, 0x8000),
        "peripherals 4": (0x40001000, 0x1100),
    }
    assert Operation.WRITE not in regions["flash0"].times
    assert set(regions["peripherals 4"].times) == {Operation.READ, Operation.WRITE}
    each = _init(tmp_path, "--clock", "8 MHz", "--devicetree", dts, "--to-fit", "--each-peripheral")
    assert set(load_profile(str(each)).regions) == {"flash0", "sram0", "uart0", "uart1"}


def test_a_skeleton_to_fit_can_be_fitted(tmp_path: Path) -> None:
    """From nothing: ranges everywhere, then measurements."""
    path = _init(tmp_path, "--clock", "72 MHz", "--to-fit")
    sections = load_characterization("renaux2010").sections
    board = tmp_path / "map.yaml"
    board.write_text(
        "schema: wcetchar/section-map/1\nname: m\nsections:\n"
        + "".join(f"  {section.name}: memory\n" for section in sections)
    )
    measured = tmp_path / "m.csv"
    measured.write_text("service,N,ns\nCreateThread,13,51111\nCreateThread,5,30000\n")
    fitted = tmp_path / "fitted.yaml"
    hardware = ("--map", str(board), "--profile")
    fit = ["profile", "fit", str(measured), "--characterization", "renaux2010", *hardware]
    result = CliRunner().invoke(main, [*fit, str(path), "-o", str(fitted)])
    assert result.exit_code == 0, result.stderr
    check = ["validate", "renaux2010", "--measured", str(measured), *hardware, str(fitted)]
    again = CliRunner().invoke(main, check)
    assert again.exit_code == 0, again.output


def test_a_file_that_is_not_one(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["profile", "init", "x", "--svd", str(tmp_path / "none")])
    assert result.exit_code == 3
    assert "cannot be read" in result.stderr
