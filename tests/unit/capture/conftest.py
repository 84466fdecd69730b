"""Tiny firmware for the capture tests, assembled on the spot."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from wcetchar.capture import CaptureFilter, CaptureRequest, CaptureResult, run
from wcetchar.model.trace import Event
from wcetchar.readers.stream import StreamReader

LINKER_SCRIPT = """
ENTRY(reset)
SECTIONS {
  .vectors 0x0 : { *(.vectors) }
  .text : { *(.text) }
  .data 0x20000000 (NOLOAD) : { *(.data) }
}
"""

PRELUDE = """
 .syntax unified
 .cpu cortex-m3
 .thumb
 .weak nmi, svc, pendsv, systick, hard, irq0
 .section .vectors, "a"
 .word 0x20010000, reset, nmi, hard, fault, fault, fault, 0, 0, 0, 0, svc, fault, 0
 .word pendsv, systick, irq0
 .text
 .thumb_func
fault:
 movs r0, #0x18
 movs r1, #0
 bkpt 0xab
 .thumb_func
finish:
 movs r0, #0x18
 ldr r1, =0x20026
 bkpt 0xab
 .pool
 .macro function name
 .thumb_func
 .global \\name
 \\name:
 .endm
"""

RISCV_LINKER_SCRIPT = """
ENTRY(reset)
SECTIONS {
  .text 0x80000000 : { *(.text) }
  .data 0x80100000 (NOLOAD) : { *(.data) }
}
"""

# The entry is not the first instruction of the RAM: finish and fault stand before it.
RISCV_PRELUDE = """
 .text
 .macro semihost
 .balign 16
 .option push
 .option norvc
 slli x0, x0, 0x1f
 ebreak
 srai x0, x0, 7
 .option pop
 .endm
 .macro function name
 .balign 4
 .globl \\name
 \\name:
 .endm
 function fault
 li a0, 0x18
 li a1, 0
 j exit_call
 function finish
 li a0, 0x18
 li a1, 0x20026
exit_call:
 .option push
 .option norvc
 slli x0, x0, 0x1f
exit_break: ebreak
 srai x0, x0, 7
 .option pop
"""

ARMV4T_LINKER_SCRIPT = """
ENTRY(start)
SECTIONS {
  .vectors 0x0 : { *(.vectors) }
  .text 0x400 : { *(.text) }
  .data 0x100000 (NOLOAD) : { *(.data) }
}
"""

ARMV4T_PRELUDE = """
 .syntax unified
 .cpu arm7tdmi
 .arm
 .weak undefined, software, prefetch, data, interrupt, fast
 .section .vectors, "ax"
 .global start
start: ldr pc, =reset
 ldr pc, =undefined
 ldr pc, =software
 ldr pc, =prefetch
 ldr pc, =data
 nop
 ldr pc, =interrupt
 ldr pc, =fast
 .pool
 .text
 .macro function name
 .global \\name
 \\name:
 .endm
 function fault
 mov r0, #0x18
 mov r1, #0
 swi 0x123456
 function finish
 mov r0, #0x18
 ldr r1, =0x20026
 swi 0x123456
 .pool
"""

SHA = "5a" * 32


@dataclass(frozen=True)
class Firmware:
    path: Path
    symbols: dict[str, int]

    def __getitem__(self, name: str) -> int:
        return self.symbols[name] & ~1


@dataclass(frozen=True)
class Captured:
    """A trace as a list of (kind, address, size), with what the capture said."""

    result: CaptureResult
    events: list[tuple[Event, int, int]]

    def pcs(self) -> list[int]:
        return [address for kind, address, _ in self.events if kind is Event.INSTRUCTION]

    def accesses_of(self, pc: int) -> list[list[tuple[str, int, int]]]:
        """For each execution of an instruction: its accesses."""
        found: list[list[tuple[str, int, int]]] = []
        inside = False
        for kind, address, size in self.events:
            if kind is Event.INSTRUCTION:
                inside = address == pc
                if inside:
                    found.append([])
            elif inside and kind in (Event.READ, Event.WRITE):
                found[-1].append((kind.name, address, size))
        return found


@pytest.fixture(scope="session")
def toolchain() -> str:
    compiler = shutil.which("arm-none-eabi-gcc")
    if compiler is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    return compiler


@pytest.fixture(scope="session")
def qemu() -> str:
    found = shutil.which("qemu-system-arm")
    if found is None:
        pytest.skip("qemu-system-arm is not installed")
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler to build the plugin with")
    return found


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    """The tests build the plugin as a first use would, and leave the user's cache alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("WCETCHAR_PLUGIN", raising=False)
        yield None


@pytest.fixture(scope="session")
def riscv_toolchain() -> str:
    compiler = shutil.which("riscv64-unknown-elf-gcc")
    if compiler is None:
        pytest.skip("riscv64-unknown-elf-gcc is not installed")
    return compiler


@pytest.fixture(scope="session")
def riscv_qemu() -> str:
    """``$WCETCHAR_RISCV_QEMU`` runs the same tests under another QEMU."""
    program = os.environ.get("WCETCHAR_RISCV_QEMU", "qemu-system-riscv32")
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler to build the plugin with")
    return found


class Assembler:
    """Firmware of one instruction set, each source assembled once."""

    def __init__(
        self, folder: Path, command: list[str], script: str, prelude: str, end: str
    ) -> None:
        self._folder = folder
        self._command = command
        self._prelude = prelude
        self._end = end
        self._known: dict[str, Firmware] = {}
        (folder / "link.ld").write_text(script)

    def __call__(self, source: str) -> Firmware:
        if source not in self._known:
            stem = self._folder / f"f{len(self._known)}"
            stem.with_suffix(".s").write_text(self._prelude + source + self._end)
            elf = stem.with_suffix(".elf")
            files = ["-T", self._folder / "link.ld", "-o", elf, stem.with_suffix(".s")]
            subprocess.run([*self._command, *files], check=True, capture_output=True)
            nm = self._command[0].removesuffix("gcc") + "nm"
            listing = subprocess.run([nm, elf], check=True, capture_output=True, text=True).stdout
            rows = [line.split() for line in listing.splitlines()]
            symbols = {r[-1]: int(r[0], 16) for r in rows if len(r) == 3}
            self._known[source] = Firmware(elf, symbols)
        return self._known[source]


@pytest.fixture(scope="session")
def assemble(toolchain: str, tmp_path_factory: pytest.TempPathFactory) -> Assembler:
    command = [toolchain, "-nostdlib", "-mcpu=cortex-m3", "-mthumb"]
    return Assembler(
        tmp_path_factory.mktemp("firmware"), command, LINKER_SCRIPT, PRELUDE, "\n .pool\n"
    )


@pytest.fixture(scope="session")
def armv4t_assemble(toolchain: str, tmp_path_factory: pytest.TempPathFactory) -> Assembler:
    return Assembler(
        tmp_path_factory.mktemp("armv4t"),
        [toolchain, "-nostdlib", "-mcpu=arm7tdmi"],
        ARMV4T_LINKER_SCRIPT,
        ARMV4T_PRELUDE,
        "\n .pool\n",
    )


@pytest.fixture
def armv4t_capture(
    qemu: str, armv4t_assemble: Callable[[str], Firmware], tmp_path: Path
) -> Callable[..., Captured]:
    def go(
        source: str | Firmware, filter: CaptureFilter | None = None, **settings: object
    ) -> Captured:
        firmware = source if isinstance(source, Firmware) else armv4t_assemble(source)
        settings = {"machine": "versatilepb", "timeout": 60, **settings}
        return captured(firmware, tmp_path, filter, **settings)

    return go


@pytest.fixture(scope="session")
def assemblers(
    riscv_toolchain: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Assembler]:
    """By architecture, with compressed instructions and without."""
    return {
        architecture: Assembler(
            tmp_path_factory.mktemp(architecture),
            [riscv_toolchain, "-nostdlib", f"-march={architecture}", "-mabi=ilp32"],
            RISCV_LINKER_SCRIPT,
            RISCV_PRELUDE,
            "\n",
        )
        for architecture in ("rv32imac_zicsr_zifencei", "rv32ima_zicsr_zifencei")
    }


@pytest.fixture(scope="session")
def riscv_assemble(assemblers: dict[str, Assembler]) -> Assembler:
    return assemblers["rv32imac_zicsr_zifencei"]


@pytest.fixture
def request_for(
    assemble: Callable[[str], Firmware], tmp_path: Path
) -> Callable[..., CaptureRequest]:
    def make(source: str, **settings: object) -> CaptureRequest:
        output = tmp_path / "run.wct"
        settings.setdefault("output", output)
        return CaptureRequest(
            firmware=assemble(source).path,
            image_sha256=SHA,
            **settings,  # type: ignore[arg-type]
        )

    return make


@pytest.fixture
def capture(
    qemu: str, assemble: Callable[[str], Firmware], tmp_path: Path
) -> Callable[..., Captured]:
    def go(source: str, filter: CaptureFilter | None = None, **settings: object) -> Captured:
        return captured(assemble(source), tmp_path, filter, **settings)

    return go


@pytest.fixture
def riscv_capture(
    riscv_qemu: str, riscv_assemble: Callable[[str], Firmware], tmp_path: Path
) -> Callable[..., Captured]:
    def go(
        source: str | Firmware, filter: CaptureFilter | None = None, **settings: object
    ) -> Captured:
        firmware = source if isinstance(source, Firmware) else riscv_assemble(source)
        settings = {"machine": "virt", "qemu": riscv_qemu, "timeout": 60, **settings}
        return captured(firmware, tmp_path, filter, **settings)

    return go


def captured(
    firmware: Firmware, folder: Path, filter: CaptureFilter | None = None, **settings: object
) -> Captured:
    request = CaptureRequest(
        firmware=firmware.path,
        image_sha256=SHA,
        output=folder / "run.wct",
        filter=filter or CaptureFilter(),
        **settings,  # type: ignore[arg-type]
    )
    return read(run(request))


def read(result: CaptureResult) -> Captured:
    trace = StreamReader().open(str(result.output))
    events = [
        (Event(kind), address, size)
        for batch in trace.batches()
        for kind, address, size in zip(
            batch.kind.tolist(), batch.address.tolist(), batch.size.tolist(), strict=True
        )
    ]
    assert trace.totals.complete is True
    assert trace.totals.instructions == result.instructions
    assert trace.totals.filtered == result.filtered
    return Captured(result, events)
