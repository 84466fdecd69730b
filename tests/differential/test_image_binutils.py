"""The image reader against readelf, nm, objdump and strip, on small files and on the firmware."""

from __future__ import annotations

import hashlib
import re
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from needs import need

from wcetchar.errors import InputError
from wcetchar.image import load_image

GCC = ("arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb", "-nostdlib")

SOURCE = """
int counter = 3;
static int small[4];
const char text[] = "text";
static int __attribute__((noinline)) twice(int a) { return a + a; }
int __attribute__((noinline)) choose(int a)
{
    switch (a) {
    case 0: return 7;
    case 1: return counter;
    case 2: return small[counter & 3];
    case 3: return twice(a) * counter;
    case 4: return a / counter;
    case 5: return text[a & 3];
    }
    return -1;
}
void _start(void)
{
    for (;;)
        small[1] = choose(small[0]);
}
"""


def tool(name: str, *arguments: str | Path) -> str:
    need(f"arm-none-eabi-{name}", "binutils-arm-none-eabi")
    command = [f"arm-none-eabi-{name}", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(params=["-gdwarf-4", "-gdwarf-5 -gno-as-loc-support", "firmware"])
def elf(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A compiled file with either form of line table, and the FreeRTOS firmware."""
    if request.param == "firmware":
        return Path(request.getfixturevalue("firmware"))
    need("arm-none-eabi-gcc", "gcc-arm-none-eabi")
    (tmp_path / "a.c").write_text(SOURCE)
    subprocess.run(
        [
            "arm-none-eabi-gcc",
            "-mcpu=cortex-m3",
            "-mthumb",
            "-O2",
            "-nostdlib",
            "-Wl,--build-id",
            *request.param.split(),
            "a.c",
            "-lgcc",
            "-o",
            "a.elf",
        ],
        check=True,
        cwd=tmp_path,
    )
    return tmp_path / "a.elf"


def test_sections_are_those_of_readelf(elf: Path) -> None:
    pattern = re.compile(
        r"^ +\[ *\d+\] (\S+) +(\S+) +([0-9a-f]{8}) [0-9a-f]{6} ([0-9a-f]{6}) \d\d +([A-Z]*) ", re.M
    )
    expected = {
        (name, int(address, 16), int(size, 16), "W" in flags, "X" in flags, kind == "NOBITS")
        for name, kind, address, size, flags in pattern.findall(tool("readelf", "-SW", elf))
        if "A" in flags and int(size, 16)
    }
    found = {
        (s.name, s.address, s.size, s.writable, s.executable, not s.data)
        for s in load_image(str(elf)).sections
    }
    assert found == expected
    assert expected


def test_symbols_are_those_of_readelf(elf: Path) -> None:
    pattern = re.compile(
        r"^ *\d+: ([0-9a-f]{8}) +(\S+) (FUNC|OBJECT|NOTYPE) +(\S+) +\S+ +(\S+) (\S+)$", re.M
    )
    expected = set()
    for value, size, kind, bind, index, name in pattern.findall(tool("readelf", "-sW", elf)):
        if index == "UND" or name.startswith("$"):
            continue
        address = int(value, 16) & (~1 if kind == "FUNC" else ~0)
        expected.add((name, address, int(size, 0), kind == "FUNC", bind == "LOCAL"))
    found = {
        (s.name, s.address, s.size, s.kind == "function", s.local)
        for s in load_image(str(elf)).symbols
    }
    assert found == expected
    assert any(is_function for _, _, _, is_function, _ in expected)


def test_code_ranges_are_what_objdump_disassembles(elf: Path) -> None:
    """objdump prints `.word`, `.short` or `.byte` for what mapping symbols call data."""
    image = load_image(str(elf))
    line = re.compile(r"^ *([0-9a-f]+):\t([0-9a-f ]+?) *\t(\S+)", re.M)
    seen = 0
    for address, _, mnemonic in line.findall(tool("objdump", "-d", elf)):
        inside = any(c.start <= int(address, 16) < c.end for c in image.code)
        assert inside == (mnemonic not in (".word", ".short", ".byte")), address
        seen += 1
    assert seen > 40


def test_mapping_symbols_of_debug_sections_say_nothing_of_code(
    assemble: Callable[..., Path],
) -> None:
    """GNU as marks data in .debug_frame, too; it begins at 0, where code may lie."""
    source = """
    .global _start
    _start: nop
    nop
    nop
    b _start
    .section .debug_frame, "", %progbits
    .word 1
    $d.frame: .word 2
    """
    elf = assemble(
        source, "SECTIONS { .text 0 : { *(.text) } .debug_frame 0 : { *(.debug_frame) } }"
    )
    assert re.search(r" 00000004 .* \$d\.frame$", tool("readelf", "-sW", elf), re.M)
    assert [(c.start, c.end, c.state) for c in load_image(str(elf)).code] == [(0, 10, "thumb")]


def test_lines_are_those_of_objdump(elf: Path) -> None:
    """At every address where objdump's decoded line table has rows, the last row's line."""
    rows: dict[int, tuple[str, int]] = {}
    pattern = re.compile(r"^(\S+) +(\d+|-) +(0x[0-9a-f]+|0)(?: |$)", re.M)
    for file, number, address in pattern.findall(tool("objdump", "--dwarf=decodedline", elf)):
        at = int(address, 16)
        if number == "-":
            rows.setdefault(at, ("", 0))
        else:
            rows[at] = (file, int(number))
    image = load_image(str(elf))
    assert rows
    for address, (file, number) in rows.items():
        found = image.line_at(address)
        if number == 0:
            continue
        assert found is not None
        assert (found.file.rpartition("/")[2], found.line) == (file.rpartition("/")[2], number)


def test_build_id_is_that_of_readelf(elf: Path) -> None:
    found = re.search(r"Build ID: ([0-9a-f]+)", tool("readelf", "-n", elf))
    assert load_image(str(elf)).build_id == (found and found.group(1))


def loadable(elf: Path) -> str:
    """The hash by its documented rule, from the program headers' bytes alone."""
    data = elf.read_bytes()
    offset, size, count = (
        struct.unpack_from("<I", data, 28)[0],
        *struct.unpack_from("<HH", data, 42),
    )
    parts = []
    for k in range(count):
        kind, at, virtual, physical, stored = struct.unpack_from("<5I", data, offset + k * size)
        if kind == 1 and stored:
            parts.append((physical, virtual, data[at : at + stored]))
    digest = hashlib.sha256()
    for physical, virtual, contents in sorted(parts):
        digest.update(struct.pack("<QQQ", virtual, physical, len(contents)) + contents)
    return digest.hexdigest()


def test_the_hash_is_of_what_is_loaded(elf: Path, tmp_path: Path) -> None:
    image = load_image(str(elf))
    assert image.sha256 == loadable(elf)
    stripped = tmp_path / "stripped.elf"
    tool("strip", elf, "-o", stripped)
    bare = load_image(str(stripped))
    assert bare.sha256 == image.sha256
    with pytest.raises(InputError, match="no symbols"):
        bare.symbol("_start")
    patched = bytearray(elf.read_bytes())
    section = next(s for s in image.sections if s.executable)
    at = patched.find(section.data)
    patched[at + 2] ^= 1
    other = tmp_path / "patched.elf"
    other.write_bytes(patched)
    assert load_image(str(other)).sha256 != image.sha256


@pytest.mark.parametrize(
    ("cpu", "architecture"),
    [("cortex-m3", "armv7-m"), ("cortex-m4", "armv7e-m"), ("cortex-m0", "armv6s-m")],
)
def test_the_architecture_is_the_compilers(
    assemble: Callable[..., Path], cpu: str, architecture: str
) -> None:
    elf = assemble(".global _start\n_start: b _start\n", cpu=cpu)
    assert load_image(str(elf)).architecture == architecture
    assert "Tag_CPU_arch" in tool("readelf", "-A", elf)


@pytest.mark.parametrize(
    ("options", "architecture"),
    [
        ("-mcpu=cortex-m4 -mfloat-abi=soft", "armv7e-m"),
        ("-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16", "armv7e-m+fp"),
        ("-mcpu=cortex-m4 -mfloat-abi=softfp -mfpu=fpv4-sp-d16", "armv7e-m+fp"),
        ("-mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-sp-d16", "armv7e-m+fpv5"),
        ("-mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-d16", "armv7e-m+fp.dp"),
    ],
)
def test_the_floating_point_extension_is_the_compilers(
    tmp_path: Path, options: str, architecture: str
) -> None:
    need("arm-none-eabi-gcc", "gcc-arm-none-eabi")
    source, elf = tmp_path / "float.c", tmp_path / "float.elf"
    source.write_text("float f(float a, float b) { return a * b; } int main(void) { return 0; }\n")
    command = ["arm-none-eabi-gcc", *options.split(), "-mthumb", "-nostdlib", "-Wl,-e,main"]
    subprocess.run([*command, "-o", elf, source, "-lgcc"], check=True, capture_output=True)
    assert load_image(str(elf)).architecture == architecture


def test_ambiguous_symbols_are_refused(assemble: Callable[..., Path]) -> None:
    need("arm-none-eabi-gcc", "gcc-arm-none-eabi")
    elf = assemble(".global _start\n_start: b _start\n")
    folder = elf.parent
    for name in ("one", "two"):
        (folder / f"{name}.c").write_text(
            f"static int __attribute__((noinline,used)) same(int a) {{ return a; }}\n"
            f"int {name}(int a) {{ return same(a); }}\n"
        )
    (folder / "start.c").write_text("int one(int), two(int); void _start(void) { one(two(1)); }\n")
    subprocess.run(
        [
            "arm-none-eabi-gcc",
            "-mcpu=cortex-m3",
            "-mthumb",
            "-Og",
            "-nostdlib",
            "one.c",
            "two.c",
            "start.c",
            "-o",
            "both.elf",
        ],
        check=True,
        cwd=folder,
    )
    image = load_image(str(folder / "both.elf"))
    with pytest.raises(InputError, match=r"ambiguous.*0x0000"):
        image.symbol("same")
    with pytest.raises(InputError, match="there is no symbol 'three'"):
        image.symbol("three")
