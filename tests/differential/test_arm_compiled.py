"""Whole Armv4T programs from GCC with its run-time library, in Arm state, in Thumb state and mixed:
nothing undecodable, and instruction by instruction the boundaries and targets of objdump's
listing."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from arm_objdump import GCC, MISSING, Line, dump
from test_thumb_compiled import PROGRAM as THUMB_PROGRAM

from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.model.instruction import Flow, Instruction

NEEDED = [*MISSING, *([] if shutil.which(GCC) else [GCC])]
pytestmark = pytest.mark.skipif(bool(NEEDED), reason=f"not installed: {', '.join(NEEDED)}")

ARM = '__attribute__((target("arm"), noinline)) '
STATUS = r"""
ARM u32 masked(u32 priority)
{
    u32 old;
    __asm volatile("mrs %0, cpsr\n\torr r12, %0, #0xc0\n\tmsr cpsr_c, r12" : "=r"(old) :: "r12");
    __asm volatile("swp %0, %1, [%2]" : "=&r"(sink) : "r"(priority), "r"(&sink));
    __asm volatile("swi 7\n\tmsr cpsr_c, %0" :: "r"(old) : "memory", "lr");
    return old;
}
ARM u32 (*chosen)(u32, u32);
ARM u32 through(u32 a) { return chosen(a, 3) + 1; }
ARM __attribute__((interrupt("IRQ"))) void interrupted(void) { sink++; }
ARM __attribute__((naked)) void software(void)
{
    __asm volatile("stmdb sp!, {r0-r3, r12, lr}\n\tmrs r0, spsr\n\tmov lr, pc\n\tldr pc, [r1]\n\t"
                   "ldmia sp!, {r0-r3, r12, pc}^");
}
"""
HEAD, _, REST = THUMB_PROGRAM.partition("u32 masked")
PROGRAM = (
    HEAD
    + STATUS.replace("ARM u32 (*", "u32 (*").replace("ARM ", ARM)
    + "int main"
    + REST.partition("int main")[2]
).replace("return 0;\n}\n", "sink = through(sink); interrupted(); software(); return 0;\n}\n")


def build(folder: Path, state: str, optimization: str) -> Path:
    source, program = folder / "program.c", folder / "program.elf"
    source.write_text(PROGRAM)
    subprocess.run(
        [
            *(GCC, "-mcpu=arm7tdmi", state, "-mthumb-interwork", optimization, "-w"),
            *("-o", program, source, "-nostdlib", "-Wl,--whole-archive", "-lgcc"),
            *("-Wl,--no-whole-archive", "-Wl,--unresolved-symbols=ignore-all", "-Wl,-e,main"),
        ],
        check=True,
        capture_output=True,
    )
    return program


@pytest.mark.parametrize(
    ("state", "optimization"),
    [("-marm", "-O2"), ("-marm", "-Os"), ("-mthumb", "-O2"), ("-mthumb", "-Os"), ("-marm", "-O0")],
)
def test_arm_compiled_program(tmp_path: Path, state: str, optimization: str) -> None:
    program = build(tmp_path, state, optimization)
    image = load_image(str(program))
    assert image.architecture == "armv4t"
    table = decode_image(image)
    for refused in table.undecodable:
        function = image.function_at(refused.address)
        assert function is not None
        before = table.at(refused.address - 2)
        if refused.code == b"\x00\xbf" and before and before.target == refused.address + 2:
            continue  # a call of a weak function that is missing: the linker jumps over its rest
        # libgcc's unwinder saves coprocessor registers on cores that have them.
        assert re.search("VFP|WMMX", function.name), refused
    listing = {
        address: line
        for address, line in dump(program).items()
        if any(r.start <= address < r.end for r in image.code)
    }
    refusals = {refused.address for refused in table.undecodable}
    assert {i.address for i in table.instructions} | refusals == set(listing)
    flows: Counter[Flow] = Counter()
    for found in table.instructions:
        line = listing[found.address]
        flows[found.flow] += 1
        where = next(r for r in image.code if r.start <= found.address < r.end)
        check(found, line, where.state)
    states = {r.state for r in image.code}
    assert states == {"arm", "thumb"} or state == "-marm"
    assert (table.fetch_bytes, table.granule) == (4, 2)
    for flow in (Flow.CALL, Flow.JUMP, Flow.RETURN, Flow.CALL_INDIRECT, Flow.SUPERVISOR_CALL):
        assert flows[flow], flow
    assert flows[Flow.JUMP_INDIRECT]
    returns = [i for i in table.instructions if i.flow is Flow.RETURN and i.masks]
    texts = {i.text.split()[0] for i in returns}
    assert {"subs", "pop"} & texts
    assert len(table) > 5_000


CONDITION = "eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"


def check(found: Instruction, line: Line, state: str) -> None:
    assert found.length == line.length
    assert found.fetch is not None
    assert found.fetch.bytes == found.fetch.granule == {"arm": 4, "thumb": 2}[state]
    shown = re.search(rf"^bl?(?:{CONDITION})?(?:\.n)? ([0-9a-f]+) <", line.text)
    if shown:
        assert found.target == int(shown[1], 16), (found, line)
    else:
        assert found.target is None or line.text.startswith("bx pc"), (found, line)
    assert found.conditional == predicated(line.text), (found, line)
    name = line.name
    if name.startswith(("swi", "svc")):
        assert found.flow is Flow.SUPERVISOR_CALL
    loads = re.match(r"ldr|ldm|pop", name)
    stores = re.match(r"str|stm|push", name)
    memory = found.memory
    assert bool(loads) == (memory is not None and memory.reads > 0 and not memory.writes), line
    assert bool(stores) == (memory is not None and memory.writes > 0 and not memory.reads), line


NOT_PREDICATED = {
    # Names that end like a condition.
    "bls", "bics", "lsls", "muls", "mls", "teq", "svc", "adcs", "sbcs", "movs", "rscs", "bcs",
    "smulls", "umulls",
}  # fmt: skip


def predicated(text: str) -> bool:
    name = text.split()[0].removesuffix(".n")
    if re.fullmatch(f"b({CONDITION})", name):
        return True
    return name not in NOT_PREDICATED and bool(re.fullmatch(rf"\w\w+({CONDITION})", name))
