"""``wcetchar map init``: the maps that ship come out of firmware that is linked as they say, and
what cannot be placed is refused."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from map_init import built, infos, relinked, section, services_of, touching, with_names
from needs import need

from wcetchar.analysis.characterize import heading
from wcetchar.analysis.contents import with_contents
from wcetchar.analysis.resolve import resolve
from wcetchar.cli import main
from wcetchar.image import load_image, with_linker_map
from wcetchar.isa import decode_image
from wcetchar.model.characterization import Contents, SectionInfo
from wcetchar.model.section_map import Assumption
from wcetchar.model.service import SectionKind
from wcetchar.store import (
    characterization_json,
    load_map,
    load_profile,
    load_section_rules,
    load_services,
)

BOARDS = {
    "cortex-m3": "mps2-an385",
    "cortex-m4": "mps2-an386",
    "arm7tdmi": "versatilepb",
    "rv32": "virt",
    "vexriscv": "virt",
}
MAPS = [
    "cortex-m3/zero-wait-sram",
    "cortex-m3/flash-3ws",
    "cortex-m3/external-16bit",
    "cortex-m4/zero-wait-sram",
    "cortex-m4/flash-3ws",
    "cortex-m4/art-168mhz",
    "arm7tdmi/zero-wait-sram",
    "arm7tdmi/external-16bit",
    "rv32/two-stage",
    "vexriscv/imc-zero-wait",
    "vexriscv/imc-board-b",
    "vexriscv/imc-board-c",
    "vexriscv/imc-board-c-cached",
    "vexriscv/imac-board-d",
]
"""Profiles, each with a map beside it; those that are left out have the regions of one of these."""


def _init(application: Path, characterization: Path, *options: str) -> Result:
    return CliRunner().invoke(
        main,
        ["map", "init", str(application), "--characterization", str(characterization), *options],
    )


def _services(board: str) -> list[str]:
    return [word for path in services_of(board) for word in ("--services", path)]


@pytest.fixture
def kernel(tmp_path: Path) -> Callable[..., Path]:
    """A characterization of these sections."""

    def write(sections: list[SectionInfo], **more: object) -> Path:
        path = tmp_path / "kernel.json"
        path.write_text(touching(sections, **more))  # type: ignore[arg-type]
        return path

    return write


@pytest.mark.firmware
@pytest.mark.parametrize("profile", MAPS)
def test_shipped_maps_come_out_of_what_is_linked_so(
    profile: str, kernel: Callable[..., Path], tmp_path: Path
) -> None:
    board = BOARDS[profile.partition("/")[0]]
    if not (built(board) / "measured/kernel/tasks.o").is_file():
        pytest.skip(f"the firmware is not built: make -C rtos_tests/freertos BOARD={board}")
    need("arm-none-eabi-gcc", "gcc-arm-none-eabi")
    need("riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf")
    by_hand = load_map(profile.replace("/", "/map-")).sections
    application = relinked(board, load_profile(profile), by_hand, tmp_path)
    path = kernel(infos(load_section_rules(*services_of(board)).sections))
    output = tmp_path / "map.yaml"
    options = ("--profile", profile, *_services(board), "-o", str(output))
    result = _init(application, path, *options)
    assert result.exit_code == 0, result.output
    derived = load_map(str(output))
    assert derived.sections == dict(by_hand)
    assert not derived.assumptions
    assert not derived.addresses

    # By names alone, which do not ask what linker sections are called: those of what was
    # characterized, where it was another link.
    rules = load_section_rules(*services_of(board)).sections
    names = with_names(infos(rules), rules, built(board) / "freertos.elf")
    result = _init(application, kernel(names), "--profile", profile, "-o", str(output))
    assert result.exit_code == 0, result.output
    assert load_map(str(output)).sections == dict(by_hand)


def _linker_sections(elf: Path) -> dict[str, tuple[int, int]]:
    """Name -> address and size, as binutils have it."""
    text = subprocess.run(
        ["arm-none-eabi-readelf", "-SW", str(elf)], capture_output=True, text=True, check=True
    ).stdout
    found = re.findall(r"\] (\.\S+) +\S+ +([0-9a-f]{8}) [0-9a-f]+ ([0-9a-f]+) 00 +[WAX]+ ", text)
    return {name: (int(address, 16), int(size, 16)) for name, address, size in found}


@pytest.mark.firmware
def test_the_very_image_that_was_characterized(kernel: Callable[..., Path], tmp_path: Path) -> None:
    """Its code is aligned as it was; readelf says where everything lies."""
    elf = built("mps2-an385") / "freertos.elf"
    if not elf.is_file():
        pytest.skip("the firmware is not built: make -C rtos_tests/freertos")
    rules = load_section_rules(*services_of("mps2-an385")).sections
    path = kernel(infos(rules), sha256=load_image(str(elf)).sha256)
    output = tmp_path / "map.yaml"
    options = ("--profile", "cortex-m3/zero-wait-sram", *_services("mps2-an385"))
    assert _init(elf, path, *options, "-o", str(output)).exit_code == 0
    derived = load_map(str(output))
    regions = load_profile("cortex-m3/zero-wait-sram").regions
    assert derived.assumptions == {Assumption.CODE_ALIGNMENT}
    assert derived.sections == load_map("cortex-m3/map-zero-wait-sram").sections
    places = _linker_sections(elf)
    for rule in rules:
        for name in rule.linker_sections:
            address, size = places[name]
            region = regions[derived.sections[rule.name]]
            assert region.base is not None
            assert region.size is not None
            assert region.base <= address <= address + size <= region.base + region.size
    # A place that somebody says is not the image's, and promises nothing.
    options += ("--place", ".fast_text=data sram", "-o", str(output))
    assert _init(elf, path, *options).exit_code == 0
    assert not load_map(str(output)).assumptions
    assert load_map(str(output)).sections[".fast_text"] == "data sram"


SCRIPT = """\
SECTIONS {
  .text 0x00000100 : { *(.text) }
  .data 0x20000000 : { *(.data) }
  .far 0x10000000 : { *(.far) }
  .nowhere 0x50000000 : { *(.nowhere) }
  .edge 0x2000fff8 : { *(.edge) }
}
"""
SOURCE = """\
.text
.global run
.type run, %function
run: bx lr
.size run, . - run
.data
.global one
.type one, %object
.size one, 4
one: .word 1
.global two
.type two, %object
.size two, 4
two: .word 2
.section .far, "aw"
.global far
.type far, %object
.size far, 4
far: .word 3
.section .nowhere, "aw"
.word 4
.section .edge, "aw"
.space 16
"""
SECTIONS = [
    section("code", SectionKind.CODE, "what runs"),
    section("data"),
    section("other"),
]


@pytest.fixture
def rules(tmp_path: Path) -> Callable[..., str]:
    def write(**sections: str) -> str:
        path = tmp_path / "rules.yaml"
        lines = [f"  {name}: {{{rule}}}" for name, rule in sections.items()]
        path.write_text("\n".join(["schema: wcetchar/services/1", "sections:", *lines, ""]))
        return str(path)

    return write


CODE = "kind: code, linker sections: [.text]"
DATA = "kind: data, linker sections: [.data]"


def test_symbols_go_before_linker_sections(
    assemble: Callable[..., Path],
    kernel: Callable[..., Path],
    rules: Callable[..., str],
    tmp_path: Path,
) -> None:
    elf = assemble(SOURCE, SCRIPT)
    path = kernel(SECTIONS)
    file = rules(code=CODE, data=DATA, other="kind: data, symbols: [two]")
    result = _init(elf, path, "--profile", "cortex-m3/flash-3ws", "--services", file)
    assert result.exit_code == 0, result.output
    lines = [re.sub(r"\s+", " ", line) for line in result.output.splitlines()]
    assert " data: sram # linker section .data 0x20000000..0x20000003" in lines
    assert " other: sram # symbol two 0x20000004..0x20000007" in lines


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("kind: data, symbols: [two, far]", "is in 2 regions, in code ram: symbol far"),
        ("kind: data, linker sections: [.nowhere]", "is in no region as a whole"),
        ("kind: data, linker sections: [.edge]", "is in no region as a whole"),
        ("kind: data, linker sections: [.gone]", "names linker section '.gone'"),
        ("kind: data, optional linker sections: [.gone]", "has nothing of the logical section"),
        ("kind: data, symbols: [gone]", "there is no symbol 'gone'"),
        (None, "nothing says what belongs to the logical section 'other'"),
    ],
)
def test_what_cannot_be_placed_is_refused(
    other: str | None,
    said: str,
    assemble: Callable[..., Path],
    kernel: Callable[..., Path],
    rules: Callable[..., str],
    tmp_path: Path,
) -> None:
    elf = assemble(SOURCE, SCRIPT)
    path = kernel(SECTIONS)
    file = rules(code=CODE, data=DATA, **({} if other is None else {"other": other}))
    options = ("--profile", "cortex-m3/flash-3ws", "--services", file)
    result = _init(elf, path, *options)
    assert result.exit_code == 3
    assert said in result.stderr
    assert "--place 'other=REGION', one of code ram, flash, scs, sram" in result.stderr
    assert "'data'" not in result.stderr

    output = tmp_path / "map.yaml"
    assert _init(elf, path, *options, "--partial", "-o", str(output)).exit_code == 0
    assert load_map(str(output)).sections == {"code": "flash", "data": "sram"}
    assert re.search(f"^#   other: .*{re.escape(said)}", output.read_text(), re.M)
    estimate = ["estimate", str(path), "--profile", "cortex-m3/flash-3ws", "--map", str(output)]
    refused = CliRunner().invoke(main, estimate)
    assert refused.exit_code == 3
    assert "no region holds section other" in refused.stderr

    placed = _init(elf, path, *options, "--place", "other=sram", "-o", str(output))
    assert placed.exit_code == 0, placed.output
    assert load_map(str(output)).sections["other"] == "sram"


def test_what_nothing_touches_may_be_left_out(
    assemble: Callable[..., Path],
    kernel: Callable[..., Path],
    rules: Callable[..., str],
) -> None:
    path = kernel(SECTIONS, untouched=("other",))
    file = rules(code=CODE, data=DATA)
    elf = assemble(SOURCE, SCRIPT)
    result = _init(elf, path, "--profile", "cortex-m3/flash-3ws", "--services", file)
    assert result.exit_code == 0
    assert "#   other: nothing says what belongs" in result.output


def test_sections_that_are_either_of_others_lie_where_these_do(
    assemble: Callable[..., Path],
    kernel: Callable[..., Path],
    rules: Callable[..., str],
) -> None:
    joint = SectionInfo("lists", SectionKind.DATA, either_of=("data", "other"))
    path = kernel([*SECTIONS, joint])
    file = rules(
        code=CODE,
        data=DATA,
        other="kind: data, symbols: [two]",
        lists="kind: data, either of: [data, other]",
    )
    elf = assemble(SOURCE, SCRIPT)
    options = ("--profile", "cortex-m3/flash-3ws", "--services", file)
    result = _init(elf, path, *options)
    assert result.exit_code == 0
    assert "lists" not in result.output
    result = _init(elf, path, *options, "--place", "lists=sram")
    assert result.exit_code == 2
    assert "lies where these do: data, other" in result.stderr


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--place", "heap=sram"), 2, "no logical section 'heap'"),
        (("--place", "data=ram"), 2, "has no region 'ram'"),
        (("--place", "data"), 2, "is not SECTION=REGION"),
        (("--place", "data=sram", "--place", "data=flash"), 2, "has two places"),
    ],
)
def test_places_that_are_said_are_checked(
    options: tuple[str, ...],
    code: int,
    said: str,
    assemble: Callable[..., Path],
    kernel: Callable[..., Path],
) -> None:
    elf = assemble(SOURCE, SCRIPT)
    result = _init(elf, kernel(SECTIONS), "--profile", "cortex-m3/flash-3ws", *options)
    assert result.exit_code == code
    assert said in result.stderr


def test_rules_for_sections_that_are_not_there(
    assemble: Callable[..., Path],
    kernel: Callable[..., Path],
    rules: Callable[..., str],
) -> None:
    file = rules(code=CODE, data=DATA, heap="kind: data, symbols: [two]")
    elf = assemble(SOURCE, SCRIPT)
    options = ("--profile", "cortex-m3/flash-3ws", "--services", file)
    result = _init(elf, kernel(SECTIONS), *options)
    assert result.exit_code == 3
    assert "rules.yaml:5:3: the characterization has no logical section heap" in result.stderr


def test_mistakes_in_rules_are_those_of_services_files(
    assemble: Callable[..., Path],
    kernel: Callable[..., Path],
    rules: Callable[..., str],
) -> None:
    elf = assemble(SOURCE, SCRIPT)
    options = ("--profile", "cortex-m3/flash-3ws", "--services")
    file = rules(code=CODE, data="kind: data, linker section: [.data]")
    result = _init(elf, kernel(SECTIONS), *options, file)
    assert result.exit_code == 3
    assert "rules.yaml:4:22: " in result.stderr
    Path(file).write_text(Path(file).read_text().replace("sections:\n", "section:\n", 1))
    result = _init(elf, kernel(SECTIONS), *options, file)
    assert result.exit_code == 3
    assert "`section`" in result.stderr
    twice = "kind: data, address ranges: [{base: 0x20000000, size: 1 KiB}]"
    result = _init(elf, kernel(SECTIONS), *options, rules(code=CODE, data=twice, other=twice))
    assert result.exit_code == 3
    assert "both claim 0x20000000" in result.stderr


def _named(**names: str) -> list[SectionInfo]:
    """The sections with published contents: names, and a linker section where there is none."""
    return [
        replace(s, contents=Contents((f".{s.name}",), (), tuple(names.get(s.name, "").split())))
        for s in SECTIONS
    ]


@pytest.mark.parametrize(
    ("names", "sections"),
    [
        ({"code": "run", "data": "one two", "other": "far"}, "flash, sram, code ram"),
        # What is not linked is nowhere; numbers of the compiler tell nothing.
        ({"code": "run gone", "data": "one", "other": "far.3"}, "flash, sram, code ram"),
    ],
)
def test_published_names_are_found_wherever_they_are(
    names: dict[str, str],
    sections: str,
    assemble: Callable[..., Path],
    kernel: Callable[..., Path],
    tmp_path: Path,
) -> None:
    elf = assemble(SOURCE + STATIC, SCRIPT)
    output = tmp_path / "map.yaml"
    options = ("--profile", "cortex-m3/flash-3ws", "-o", str(output))
    result = _init(elf, kernel(_named(**names)), *options)
    assert result.exit_code == 0, result.output
    assert list(load_map(str(output)).sections.values()) == sections.split(", ")


STATIC = """\
.text
.type own, %function
own: bx lr
.size own, . - own
"""


@pytest.mark.parametrize(
    ("names", "source", "said"),
    [
        ("two far", STATIC, "is in 2 regions, in code ram: far (linker section .far)"),
        ("gone away", STATIC, "2 of 2 functions and objects of the logical section 'other' are"),
        # A linker section of that name alone says nothing where names are known.
        ("", STATIC, "was linker section .other, which is not there"),
        ("two gone", "", "names no static ones: it is stripped"),
    ],
)
def test_published_names_that_do_not_say_one_region(
    names: str,
    source: str,
    said: str,
    assemble: Callable[..., Path],
    kernel: Callable[..., Path],
) -> None:
    elf = assemble(SOURCE + source, SCRIPT)
    sections = _named(code="run", data="one", other=names)
    result = _init(elf, kernel(sections), "--profile", "cortex-m3/flash-3ws")
    assert result.exit_code == 3
    assert said in result.stderr


def test_rules_and_published_names_have_to_agree(
    assemble: Callable[..., Path],
    kernel: Callable[..., Path],
    rules: Callable[..., str],
) -> None:
    """A rule by linker sections that the kernel is not in is no place of the kernel."""
    elf = assemble(SOURCE + STATIC, SCRIPT)
    sections = _named(code="run", data="one", other="two far")
    file = rules(other="kind: data, linker sections: [.data]")
    options = ("--profile", "cortex-m3/flash-3ws", "--services", file)
    result = _init(elf, kernel(sections), *options)
    assert result.exit_code == 3
    assert "'other' is in 2 regions" in result.stderr


@pytest.mark.firmware
def test_a_stripped_application_and_its_linker_map(
    kernel: Callable[..., Path], tmp_path: Path
) -> None:
    elf = built("mps2-an385") / "freertos.elf"
    linker_map = elf.with_suffix(".map")
    if not linker_map.is_file():
        pytest.skip("the firmware is not built: make -C rtos_tests/freertos")
    need("arm-none-eabi-strip", "binutils-arm-none-eabi")
    rules = load_section_rules(*services_of("mps2-an385")).sections
    path = kernel(with_names(infos(rules), rules, elf))
    options = ("--profile", "cortex-m3/zero-wait-sram", "-o", str(tmp_path / "map.yaml"))
    by_hand = load_map("cortex-m3/map-zero-wait-sram").sections
    for strip in ("--strip-all", "--discard-all"):
        stripped = tmp_path / "application.elf"
        command = ["arm-none-eabi-strip", strip, str(elf), "-o", str(stripped)]
        subprocess.run(command, check=True)
        refused = _init(stripped, path, *options)
        assert refused.exit_code == 3
        assert "it is stripped" in refused.stderr
        done = _init(stripped, path, *options, "--linker-map", str(linker_map), "--partial")
        assert done.exit_code == 0, done.output
        derived = load_map(str(tmp_path / "map.yaml")).sections
        assert derived.items() <= by_hand.items()
        # Objects in sections that their source names have no name in the map.
        unnamed = {".const", ".vectors", "kernel.objects", "caller.data", "stack.task"}
        assert by_hand.keys() - derived.keys() == unnamed

    # All that the map names is where the symbol table of the file has it.
    named = with_linker_map(load_image(str(stripped)), str(linker_map))
    found = {(s.name, s.address) for s in named.symbols}
    there = {(s.name, s.address) for s in load_image(str(elf)).symbols}
    functions = {(s.name, s.address) for s in load_image(str(elf)).symbols if s.kind == "function"}
    sections = {linker for rule in rules for linker in rule.linker_sections}
    ours = {(s.name, s.address) for s in load_image(str(elf)).symbols if s.section in sections}
    assert {pair for pair in found if pair in ours} >= functions & ours
    # Input sections of the suite's own, and of its assembler sources, are called as it likes.
    strange = {name for name, _ in found - there}
    assert strange <= {
        "kernel_objects",
        "caller_data",
        "task_stacks",
        "wcet_mark",
        "heap",
        "caller",
        "gnu.build-id",
    }


def test_a_linker_map_of_another_link(
    assemble: Callable[..., Path], kernel: Callable[..., Path], tmp_path: Path
) -> None:
    elf = assemble(SOURCE, SCRIPT)
    other = tmp_path / "other.map"
    text = "Linker script and memory map\n\n.text           0x00000200       0x2\n"
    options = ("--profile", "cortex-m3/flash-3ws", "--linker-map", str(other))
    other.write_text(text)
    result = _init(elf, kernel(_named()), *options)
    assert result.exit_code == 3
    assert f"{other}:3: the linker map has section .text at 0x200 with 0x2 bytes" in result.stderr
    other.write_text("Memory map\n")
    result = _init(elf, kernel(_named()), *options)
    assert result.exit_code == 3
    assert "this is no linker map of GNU ld" in result.stderr


@pytest.mark.firmware
def test_published_contents_are_those_of_objdump() -> None:
    elf = built("mps2-an385") / "freertos.elf"
    if not elf.is_file():
        pytest.skip("the firmware is not built: make -C rtos_tests/freertos")
    image = load_image(str(elf))
    services = load_services(*services_of("mps2-an385"))
    resolved = resolve(services, image, decode_image(image))
    found = with_contents(heading(resolved, tool="test"), resolved).sections
    bare = [replace(s, contents=None) for s in found]
    assert list(found) == with_names(bare, services.sections, elf)
    text = characterization_json(replace(heading(resolved, tool="test"), sections=tuple(found)))
    assert '"symbols"' in text
