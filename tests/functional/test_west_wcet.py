"""``west wcet`` in a workspace that is made up: a manifest, this repository's extension as one of
its projects, and build folders that hold what one of Zephyr does."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from example_build import EXAMPLE, ROOT, SECTIONS, WCETCHAR, made, run
from map_init import infos, touching
from needs import need

from wcetchar.model.machine import MACHINES, CapturedMachine
from wcetchar.store import load_characterization, load_map, load_section_rules

__all__ = ["made"]  # a fixture

pytest.importorskip("west")
sys.path.insert(0, str(ROOT / "integrations" / "zephyr"))
import build_folder

pytestmark = pytest.mark.xdist_group("build systems")

DTS = """\
/dts-v1/;
/ {
	#address-cells = < 0x1 >;
	#size-cells = < 0x1 >;
	cpus {
		#address-cells = < 0x1 >;
		#size-cells = < 0x0 >;
		cpu@0 {
			compatible = "arm,cortex-m3";
			reg = < 0x0 >;
		};
	};
	sram0: memory@20000000 {
		compatible = "mmio-sram";
		reg = < 0x20000000 0x10000 >;
	};
	flash0: flash@0 {
		compatible = "soc-nv-flash";
		reg = < 0x0 0x80000 >;
	};
};
"""
CACHE = """\
# This is the CMakeCache file.
//Selected board
CACHED_BOARD:STRING=mps2/an385
BOARD:STRING=mps2/an385
CMAKE_HOME_DIRECTORY:INTERNAL=/nowhere
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As west makes one, of a repository on this machine."""
    need("git", "git")
    top = tmp_path_factory.mktemp("west")
    remote = top / "remote" / "wcetchar"
    for folder in ("zephyr", "integrations/zephyr"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, remote / folder, ignore=ignored)
    author = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    for words in (("init", "-q", "-b", "main"), ("add", "."), (*author, "commit", "-qm", "all")):
        assert run("git", *words, folder=remote).returncode == 0
    application = top / "workspace" / "application"
    application.mkdir(parents=True)
    (application / "west.yml").write_text(
        f"""\
manifest:
  projects:
    - name: wcetchar
      url: file://{remote}
      revision: main
      west-commands: integrations/zephyr/west-commands.yml
"""
    )
    west = (sys.executable, "-m", "west")
    assert run(*west, "init", "-l", application, folder=top).returncode == 0
    done = run(*west, "update", folder=application.parent)
    assert done.returncode == 0, done.stderr
    return application.parent


@pytest.fixture
def west(workspace: Path) -> Callable[..., str]:
    """Runs `west wcet`; returns what it printed, its error if it ends with another code."""

    def call(*words: str | Path, code: int = 0) -> str:
        done = run(sys.executable, "-m", "west", "wcet", *words, folder=workspace)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    return call


def _folder(folder: Path, elf: Path, cache: str = CACHE, dts: str = DTS) -> Path:
    """A build folder of Zephyr."""
    (folder / "zephyr").mkdir(parents=True)
    (folder / "CMakeCache.txt").write_text(cache)
    (folder / "zephyr" / "zephyr.dts").write_text(dts)
    shutil.copy(elf, folder / "zephyr" / "zephyr.elf")
    return folder


def test_it_is_a_module_and_a_command(west: Callable[..., str]) -> None:
    assert yaml.safe_load((ROOT / "zephyr/module.yml").read_text()) == {"name": "wcetchar"}
    text = west("--help")
    for verb in ("characterize", "profile", "map", "estimate", "report"):
        assert f"west wcet {verb} " in text
        assert "--build-dir" in west(verb, "--help")


@pytest.mark.firmware
def test_the_current_build(
    west: Callable[..., str], workspace: Path, made: tuple[Path, str], tmp_path: Path
) -> None:
    """The firmware stands in for one of Zephyr; its services file has its linker sections."""
    folder, printed = made
    build = _folder(workspace / "build", folder / "app.elf")
    services = ("--services", EXAMPLE / "services.yaml", "--rules", "none")
    try:
        west("characterize", *services)
        own, others = build / "wcet" / "kernel.json", folder / "wcet" / "kernel.json"
        plain = [json.loads(path.read_text()) for path in (own, others)]
        for document in plain:
            del document["provenance"]["traces"]
        assert plain[0] == plain[1]
        # Names alone suffice then.
        prices = ("--profile", "cortex-m3/flash-3ws", "--rules", "none")
        said = west("map", *prices)
        assert load_map(str(build / "wcet" / "map.yaml")).sections == SECTIONS
        assert "heap: sram" in said
        assert west("estimate", *prices) == printed[printed.index("total ns") :]
        estimates = json.loads((build / "wcet/estimates.json").read_text())["estimates"]
        assert [e["service"] for e in estimates] == ["xQueueCreate", "xQueueSend", "xQueueReceive"]
        # Options behind -- are those of the command line; exit codes are its own.
        only = west("estimate", *prices, "--service", "xQueueSend", "--", "--format", "csv")
        assert only.startswith("service,")
        assert "xQueueCreate" not in only
        west("report", *prices, "--no-open")
        assert "xQueueReceive" in (build / "wcet" / "report.html").read_text()
        listed = ("--service", "xQueueSend", "-o", tmp_path / "report.md", "--no-open")
        assert west("report", *prices, *listed).splitlines()[-1] == str(tmp_path / "report.md")
        assert "xQueueSend" in (tmp_path / "report.md").read_text()
        refused = west("estimate", *prices, "--place", "heap=nothing", code=2)
        assert "has no region 'nothing'" in refused
    finally:
        shutil.rmtree(build)


@pytest.mark.firmware
def test_a_run_for_each_value(west: Callable[..., str], tmp_path: Path) -> None:
    """As docs/howto/without-marks.md does by hand."""
    need("arm-none-eabi-gcc", "gcc-arm-none-eabi")
    need("qemu-system-arm", "qemu-system-arm")
    vendor = ROOT / "docs/howto/vendor-example"
    built = run("make", "-s", "-C", vendor, f"OUT={tmp_path}/out", "MAIN=application")
    assert built.returncode == 0, built.stderr
    build = _folder(tmp_path / "b", tmp_path / "out/example.elf")
    services = ("--services", vendor / "unmarked.yaml", "--rules", "none")
    sweep = ("--sweep", "N=timer_count:1,2,4,8")
    west("characterize", "-d", build, *services, *sweep, "-o", tmp_path / "k.json")
    (service,) = load_characterization(str(tmp_path / "k.json")).services
    assert service.evidence.windows == 4
    assert service.counts.is_formula
    # The end that the application does not have by itself, as far as this is asked.
    first = ("--until", "timer_next:1", "--", "--partial")
    assert "shows any service" in west("characterize", "-d", build, *services, *first, code=3)
    refused = west("characterize", "-d", build, *services, "--sweep", "N:1,2", code=1)
    assert "is not PARAMETER=VARIABLE:VALUE,VALUE..." in refused


def test_a_profile_of_the_devicetree(
    west: Callable[..., str], tmp_path: Path, assemble: Callable[..., Path]
) -> None:
    build = _folder(tmp_path / "b", assemble(".global _start\n_start: bx lr\n"))
    west("profile", "-d", build, "--", "--core", "cortex-m3/flash-3ws", "--clock", "25 MHz")
    text = (build / "wcet" / "mps2-an385.yaml").read_text()
    assert "base: 0x20000000" in text
    assert "size: 512 KiB" in text


ZEPHYR_LIKE = """\
.section rom_start, "a"
.word 0
.section text, "ax"
.global _start
.type _start, %function
_start: bx lr
.size _start, . - _start
.section rodata, "a"
.word 1
.section bss, "aw", %nobits
.space 16
.section noinit, "aw", %nobits
.global z_interrupt_stacks
.type z_interrupt_stacks, %object
z_interrupt_stacks: .space 64
.size z_interrupt_stacks, 64
.space 64
"""
ZEPHYR_SCRIPT = """\
SECTIONS {
  rom_start 0x0 : { *(rom_start) }
  text : { *(text) }
  rodata : { *(rodata) }
  bss 0x20000000 : { *(bss) }
  noinit : { *(noinit) }
}
"""


def test_zephyrs_linker_sections_are_those_of_the_build(
    west: Callable[..., str], tmp_path: Path, assemble: Callable[..., Path]
) -> None:
    build = _folder(tmp_path / "b", assemble(ZEPHYR_LIKE, ZEPHYR_SCRIPT))
    rules = load_section_rules("zephyr-cortex-m").sections
    kernel = tmp_path / "kernel.json"
    kernel.write_text(
        touching(infos(rules), untouched=("ramfunc", "kernel.objects", "kernel.lists"))
    )
    profile = ("--profile", "cortex-m3/flash-3ws")
    west("map", "-d", build, "--characterization", kernel, *profile, "-o", tmp_path / "map.yaml")
    assert load_map(str(tmp_path / "map.yaml")).sections == {
        "text": "flash",
        "vectors": "flash",
        "rodata": "flash",
        "kernel.data": "sram",
        "stack.task": "sram",
        "stack.interrupt": "sram",
        "scs": "scs",
    }


def test_what_is_missing_is_said(
    west: Callable[..., str], workspace: Path, tmp_path: Path, assemble: Callable[..., Path]
) -> None:
    assert "there is no build folder build" in west("map", code=1)
    elf = assemble(ZEPHYR_LIKE, ZEPHYR_SCRIPT)
    build = _folder(tmp_path / "b", elf)
    at = ("-d", build)
    assert "which services" in west("characterize", *at, code=1)
    assert "which hardware" in west("map", *at, "--characterization", "renaux2010", code=1)
    missing = west("estimate", *at, "--profile", "cortex-m3/flash-3ws", code=1)
    assert "west wcet characterize first" in missing
    other = _folder(tmp_path / "c", elf, CACHE.replace("mps2/an385", "nrf52dk/nrf52832"))
    said = west("characterize", "-d", other, "--services", "s.yaml", code=1)
    assert "no emulated machine is known for the board 'nrf52dk/nrf52832'" in said


def test_a_setting_holds_in_every_folder_of_the_workspace(
    workspace: Path, tmp_path: Path, assemble: Callable[..., Path]
) -> None:
    build = _folder(tmp_path / "b", assemble(ZEPHYR_LIKE, ZEPHYR_SCRIPT))
    shutil.copy(ROOT / "hwprofiles/cortex-m3/flash-3ws.yaml", workspace / "board.yaml")
    west = (sys.executable, "-m", "west")
    assert run(*west, "config", "wcet.profile", "board.yaml", folder=workspace).returncode == 0
    words = ("wcet", "map", "-d", build, "--characterization", "renaux2010", "--rules", "none")
    try:
        for folder in (workspace, workspace / "application"):
            said = run(*west, *words, folder=folder).stderr
            # The profile has been read: these are its regions.
            assert "nothing says what belongs to the logical section" in said
            assert "code ram" in said
    finally:
        assert run(*west, "config", "-d", "wcet.profile", folder=workspace).returncode == 0


def test_build_folders(tmp_path: Path, assemble: Callable[..., Path]) -> None:
    read = build_folder.read_build_folder
    elf = assemble(ZEPHYR_LIKE, ZEPHYR_SCRIPT)
    found = read(_folder(tmp_path / "a", elf))
    assert (found.board, found.machine) == ("mps2/an385", "mps2-an385")
    assert found.rules == "zephyr-cortex-m"
    # A build for several domains.
    several = tmp_path / "several"
    _folder(several / "app", elf)
    _folder(several / "boot", elf, CACHE.replace("mps2/an385", "qemu_cortex_m3"))
    (several / "domains.yaml").write_text(
        f"default: app\nbuild_dir: {several}\ndomains:\n"
        f"- {{name: boot, build_dir: {several}/boot}}\n- {{name: app, build_dir: {several}/app}}\n"
    )
    assert read(several).elf == several / "app/zephyr/zephyr.elf"
    assert read(several, "boot").machine == "lm3s6965evb"
    for folder, domain, said in (
        (several, "other", "has no domain 'other'; there are: boot, app"),
        (tmp_path / "a", "app", "has no domains"),
        (tmp_path / "gone", None, "there is no build folder"),
        (_folder(tmp_path / "d", elf, "BOARD_DIR:PATH=x\n"), None, "names no BOARD"),
        (_folder(tmp_path / "e", Path(__file__)), None, "is no ELF file"),
        (
            _folder(tmp_path / "f", elf, dts=DTS.replace("cortex-m3", "cortex-a9")),
            None,
            "the processor is arm,cortex-a9; of Arm, Cortex-M is known",
        ),
    ):
        with pytest.raises(build_folder.NotKnown, match=said):
            read(folder, domain)


def test_machines_are_those_that_are_captured_on() -> None:
    known = {machine.name for machine in MACHINES if isinstance(machine, CapturedMachine)}
    assert set(build_folder.MACHINES.values()) <= known
    campaign = yaml.safe_load((ROOT / "rtos_tests/zephyr/campaign.yaml").read_text())
    for board in campaign["axes"]["board"].values():
        assert build_folder.MACHINES[board["zephyr_board"]] == board["machine"]
    assert WCETCHAR.is_file()
