"""What the tests of bad input share: tiny good inputs, the command line, and what a refusal is."""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from wcetchar.cli import main

PROGRAM = (sys.executable, "-c", "from wcetchar.cli import main; main(prog_name='wcetchar')")
"""Command of a real process."""

SCRIPT = """
ENTRY(reset)
SECTIONS {
  .vectors 0x0 : { *(.vectors) }
  .text : { *(.text .text.*) }
  .bss 0x20000000 (NOLOAD) : { *(.bss) }
  .stack 0x20008000 (NOLOAD) : { *(.stack) }
  .mark 0x20010000 (NOLOAD) : { *(.mark) }
}
"""

SOURCE = """
 .syntax unified
 .thumb
 .section .vectors, "a"
 .word stack_top, reset, fault, skip, fault, fault, fault
 .text
 .macro function name
 .thumb_func
 .global \\name
 .type \\name, %function
 \\name:
 .endm
 function fault                     @ ends the run with status 1
 movs r0, #0x18
 movs r1, #0
 bkpt 0xab
 .size fault, .-fault
 function skip                      @ goes on behind a 32-bit instruction that the core refused
 ldr r0, [sp, #24]
 adds r0, #4
 str r0, [sp, #24]
 bx lr
 .size skip, .-skip
 function reset
 movs r4, #1
1: mov r0, r4
 bl drive
 adds r4, #1
 cmp r4, #6
 bls 1b
 movs r0, #0x18
 ldr r1, =0x20026
 bkpt 0xab
 .pool
 .size reset, .-reset
 function drive
 push {r4, lr}
 mov r4, r0
 ldr r3, =wcet_mark
 movs r2, #0
 add r1, r3, #512
 strb r2, [r1, r0]
 strb r2, [r3, #3]
 bl service
 ldr r3, =wcet_mark+256+3
 movs r2, #0
 strb r2, [r3]
 nop                                @ outside of the service
 pop {r4, pc}
 .pool
 .size drive, .-drive
 function service
 ldr r1, =counter
1: ldr r2, [r1]
 adds r2, #1                        @ inside of the service
 str r2, [r1]
 subs r0, #1
 bne 1b
 bx lr
 .pool
 .size service, .-service
 .bss
 .global counter
 .type counter, %object
counter: .space 16
 .size counter, 16
 .section .stack, "aw", %nobits
 .space 1024
stack_top:
 .section .mark, "aw", %nobits
 .global wcet_mark
 .type wcet_mark, %object
wcet_mark: .space 1024
 .size wcet_mark, 1024
"""
OUTSIDE = " nop                                @ outside of the service\n"
INSIDE = " adds r2, #1                        @ inside of the service\n"

FOREVER = """
 .syntax unified
 .thumb
 .section .vectors, "a"
 .word 0x20008000, reset, reset, reset
 .text
 .thumb_func
 .global reset
reset: movs r0, #4
 ldr r1, =text
 bkpt 0xab
1: b 1b
 .pool
text: .asciz "red \\033[31m <script>\\n"
 .balign 4
"""

SERVICES = """\
schema: wcetchar/services/1
kernel:
  name: tiny
  version: "1"
marks:
  symbol: wcet_mark
  values: 256
sections:
  .text:
    kind: code
    linker sections: [.text]
  vectors:
    kind: data
    linker sections: [.vectors]
  data:
    kind: data
    linker sections: [.bss]
  stack:
    kind: stack
    linker sections: [.stack]
hardware:
  vector section: vectors
  main stack: stack
  task stack: stack
services:
  service:
    mark: 3
    kind: call
    entries: [service]
    parameters:
      N:
        kind: argument
        range: 1..6
        meaning: turns
"""

PROFILE = """\
schema: wcetchar/hardware-profile/1
name: board
core:
  name: core
  clock: 100 MHz
  events:
    alu: 1 cycles
    load: 2 cycles
    store: 2 cycles
regions:
  flash:
    kind: memory
    bus width: 32
    base: 0x0
    size: 64 KiB
    fetch: 30 ns
    read: 30 ns
  sram:
    kind: memory
    bus width: 32
    base: 0x20000000
    size: 64 KiB
    read: 7 ns
    write: 10 ns
"""

MAP = """\
schema: wcetchar/section-map/1
name: placed
sections:
  .text: flash
  data: sram
parameters:
  N: 4
"""

CHARACTERIZATION = """\
{
 "kind": "wcetchar characterization",
 "schema_version": 1,
 "kernel": {"name": "tiny", "version": "1"},
 "architecture": "armv7-m",
 "fetch_width": 32,
 "sections": [
  {"name": ".text", "kind": "code"},
  {"name": "data", "kind": "data"}
 ],
 "services": [
  {
   "name": "walk",
   "kind": "call",
   "word": "high-water mark",
   "parameters": [
    {"name": "N", "kind": "state", "minimum": 1, "maximum": 6, "meaning": "turns"}
   ],
   "counts": {
    "rows": [
     {
      "repetition": "N",
      "blocking": {},
      "counts": [
       {"section": ".text", "operation": "fetch", "width": 32, "pattern": "single", "count": 3},
       {"section": "data", "operation": "write", "width": 32, "pattern": "single", "count": 1},
       {"section": ".text", "event": "alu", "count": 2},
       {"section": ".text", "event": "store", "count": 1}
      ]
     }
    ]
   }
  }
 ],
 "conservation": {
  "traced": 12,
  "attributed": [{"name": "walk", "instructions": 12}]
 },
 "provenance": {"tool": "test"}
}
"""
PRICE = 3 * 30 + 10 + 2 * 10 + 20
"""Of one turn of ``walk`` on ``board``, in ns, by hand."""


def run(*arguments: str | Path) -> Result:
    """The command line in this process."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def process(
    *arguments: str | Path, timeout: float = 120, **settings: object
) -> subprocess.CompletedProcess[str]:
    """The command line as a process of its own."""
    settings.setdefault("stdin", subprocess.DEVNULL)
    if "stdout" not in settings and "stderr" not in settings:
        settings["capture_output"] = True
    return subprocess.run(  # type: ignore[no-any-return, call-overload]
        [*PROGRAM, *map(str, arguments)], text=True, check=False, timeout=timeout, **settings
    )


def refused(
    result: Result | subprocess.CompletedProcess[str], code: int, *said: str, advised: bool = True
) -> str:
    """The run ended with ``code``, explained itself on standard error, and printed nothing else.

    Args:
        said: what the message must hold.
        advised: it also says what was expected or what to do next.

    Returns:
        Standard error.
    """
    status = result.exit_code if isinstance(result, Result) else result.returncode
    error = result.stderr
    trouble = f"exit {status}\n{error}\n{getattr(result, 'exception', '')!r}"
    assert status == code, trouble
    assert result.stdout == "", result.stdout
    assert "Traceback" not in error, error
    for text in said:
        assert text in error, f"{text!r} is not in\n{error}"
    if code != 2 and advised:
        assert re.search(r"^  (expected|next): ", error, re.MULTILINE), error
    harmless = [line for line in error.splitlines() if line.isprintable()]
    assert harmless == error.splitlines(), error
    return error


@functools.cache
def workshop() -> Path:
    """A folder for what is built once for all tests; it goes when the tests end."""
    folder = Path(tempfile.mkdtemp(prefix="wcetchar-bad-input-"))
    folder.chmod(0o755)  # so that a process of another user reaches it
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


@functools.cache
def linked(source: str = SOURCE, *options: str, suffix: str = ".s") -> Path:
    """The ELF file of an assembler source; ``options`` are the compiler's."""
    need("arm-none-eabi-gcc")
    folder = Path(tempfile.mkdtemp(dir=workshop()))
    (folder / "link.ld").write_text(SCRIPT)
    (folder / f"source{suffix}").write_text(source)
    command = ["arm-none-eabi-gcc", "-nostdlib", "-mcpu=cortex-m3", "-mthumb", "-T", "link.ld"]
    subprocess.run(
        [*command, *options, f"source{suffix}", "-o", "firmware.elf"],
        check=True,
        cwd=folder,
        capture_output=True,
    )
    return folder / "firmware.elf"


@functools.cache
def captured(firmware: Path) -> Path:
    """A trace of a firmware that ends."""
    need("qemu-system-arm", "cc")
    trace = firmware.with_suffix(".trace")
    with pytest.MonkeyPatch.context() as patch:
        own_cache(patch)
        result = run("capture", firmware, "--machine", "mps2-an385", "-o", trace)
    assert result.exit_code == 0, result.stderr
    return trace


def own_cache(patch: pytest.MonkeyPatch) -> None:
    """Let the plugin be built into a folder of these tests, once."""
    patch.setenv("XDG_CACHE_HOME", str(workshop() / "cache"))
    patch.delenv("WCETCHAR_PLUGIN", raising=False)


def write(path: str | Path, text: str | bytes) -> Path:
    file = Path(path)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def files(folder: Path) -> set[str]:
    return set(os.listdir(folder))


def unprivileged() -> list[str]:
    """Words before a command that take the superuser's rights away, which no permission stops."""
    if os.geteuid():
        return []
    need("setpriv")
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
