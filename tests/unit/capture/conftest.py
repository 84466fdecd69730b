"""Tiny firmware for the capture tests, assembled on the spot."""

from __future__ import annotations

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
def assemble(toolchain: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Firmware]:
    folder = tmp_path_factory.mktemp("firmware")
    (folder / "link.ld").write_text(LINKER_SCRIPT)
    known: dict[str, Firmware] = {}

    def build(source: str) -> Firmware:
        if source not in known:
            stem = folder / f"f{len(known)}"
            stem.with_suffix(".s").write_text(PRELUDE + source + "\n .pool\n")
            elf = stem.with_suffix(".elf")
            subprocess.run(
                [
                    *(toolchain, "-nostdlib", "-mcpu=cortex-m3", "-mthumb"),
                    *("-T", folder / "link.ld", "-o", elf, stem.with_suffix(".s")),
                ],
                check=True,
                capture_output=True,
            )
            listing = subprocess.run(
                ["arm-none-eabi-nm", elf], check=True, capture_output=True, text=True
            ).stdout
            rows = [line.split() for line in listing.splitlines()]
            known[source] = Firmware(elf, {r[-1]: int(r[0], 16) for r in rows if len(r) == 3})
        return known[source]

    return build


@pytest.fixture
def capture(
    qemu: str, assemble: Callable[[str], Firmware], tmp_path: Path
) -> Callable[..., Captured]:
    def go(source: str, filter: CaptureFilter | None = None, **settings: object) -> Captured:
        output = tmp_path / "run.wct"
        request = CaptureRequest(
            firmware=assemble(source).path,
            image_sha256=SHA,
            output=output,
            filter=filter or CaptureFilter(),
            **settings,  # type: ignore[arg-type]
        )
        return read(run(request))

    return go


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
