"""QEMU's own account of the same run: ``-d in_asm,exec,nochain,int,cpu``, without any plugin.

``in_asm`` lists what a block holds, ``exec`` says when it is entered, ``int`` where exceptions come
and go, and ``cpu`` prints the registers at each block's start: the stack pointer tells threads
apart, which a trace without registers cannot.
"""

from __future__ import annotations

import re
import subprocess
from bisect import bisect_left
from dataclasses import dataclass, field
from pathlib import Path

# As wcetchar.capture runs it, spelled out again: the run must be the very same one.
CORES = {"mps2-an385": "cortex-m3", "mps2-an386": "cortex-m4"}
ARGUMENTS = (
    *("-M", "mps2-an385", "-cpu", "cortex-m3"),
    *("-nodefaults", "-no-user-config", "-nic", "none", "-display", "none"),
    *("-no-reboot", "-icount", "shift=5,sleep=off"),
    *("-chardev", "stdio,id=console,mux=on,signal=off", "-serial", "chardev:console"),
    *("-semihosting-config", "enable=on,target=native,chardev=console,arg=firmware"),
)


def record(
    elf: Path,
    log: Path,
    items: str = "in_asm,exec,nochain,int,cpu",
    *more: str,
    board: str = "mps2-an385",
) -> None:
    machine = ("-M", board, "-cpu", CORES[board])
    command = ["qemu-system-arm", *machine, *ARGUMENTS[4:], *more, "-d", items, "-D", str(log)]
    subprocess.run(
        [*command, "-kernel", str(elf)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=600,
    )


_ITEM = re.compile(
    rb"^(?:Trace 0: (?P<block>0x[0-9a-f]+) \[[0-9a-f]+/(?P<pc>[0-9a-f]{8})/.*\n"
    rb"(?P<cpu>(?:R\d\d=.*\n)+)XPSR=.*"
    rb"|IN: .*\n(?P<listing>(?:0x.*\n)+)"
    rb"|Stopped execution of TB chain before 0x[0-9a-f]+ \[(?P<stopped>[0-9a-f]+)\].*"
    rb"|cpu_io_recompile: rewound execution of TB to (?P<rewound>[0-9a-f]+)"
    rb"|\.\.\.taking pending nonsecure exception (?P<entered>\d+)"
    rb"|Exception return: magic PC (?P<magic>[0-9a-f]+) previous exception (?P<left>\d+)"
    rb"|(?:\.\.\.(?:loading|loaded|successful|tailchaining|handling)|Taking|Loaded reset|-----).*"
    rb"|)\n",
    re.MULTILINE,
)


@dataclass
class Log:
    """A run in parallel lists.

    Attributes:
        pcs: address of each executed instruction.
        first: index of the first instruction of each executed block.
        cpu: where the registers at each block's start stand in ``text``.
        exceptions: (index of the next instruction, entered, number), in order.
        returns: EXC_RETURN of each exception that was left, by index of the next instruction.
        code: bytes of each instruction, as ``in_asm`` listed them.
    """

    text: bytes
    pcs: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    cpu: list[int] = field(default_factory=list)
    exceptions: list[tuple[int, bool, int]] = field(default_factory=list)
    returns: dict[int, int] = field(default_factory=dict)
    code: dict[int, bytes] = field(default_factory=dict)

    def starts_block(self, index: int) -> bool:
        block = bisect_left(self.first, index)
        return block < len(self.first) and self.first[block] == index

    def register(self, index: int, number: int) -> int:
        """A register at the start of the first block from instruction ``index`` on."""
        at = self.cpu[bisect_left(self.first, index)] + number // 4 * 52 + number % 4 * 13
        assert self.text[at : at + 4] == b"R%02d=" % number
        return int(self.text[at + 4 : at + 12], 16)


def read(path: Path) -> Log:
    """Raises AssertionError at anything in the log that is not understood."""
    text = path.read_bytes()
    log = Log(text)
    pcs = log.pcs
    blocks: dict[bytes, list[int]] = {}  # by QEMU's own address of the block
    listed: dict[int, list[int]] = {}  # by start, the newest listing
    pending: list[int] = []  # the block that was entered, until it is known to have run
    at = 0

    def ran(part: list[int]) -> None:
        if part:
            pcs.extend(part)
        else:
            del log.first[-1:], log.cpu[-1:]

    while at < len(text):
        found = _ITEM.match(text, at)
        assert found is not None, text[at : at + 200]
        at = found.end()
        if found["block"]:
            pcs += pending
            pc = int(found["pc"], 16)
            if pc in listed:
                blocks[found["block"]] = listed.pop(pc)
            pending = blocks[found["block"]]
            assert pending[0] == pc
            log.first.append(len(pcs))
            log.cpu.append(found.start("cpu"))
        elif found["listing"]:
            listing = []
            for row in found["listing"].splitlines():
                listing.append(int(row[2:10], 16))
                halves = row[12:22].decode().split()
                log.code[listing[-1]] = b"".join(bytes.fromhex(half)[::-1] for half in halves)
            listed[listing[0]] = listing
        elif found["stopped"]:
            # The block was entered, but nothing of it ran.
            assert pending[0] == int(found["stopped"], 16)
            ran([])
            pending = []
        elif found["rewound"]:
            # It ran up to the instruction named here.
            ran(pending[: pending.index(int(found["rewound"], 16))])
            pending = []
        elif found["entered"] or found["left"]:
            pcs += pending
            pending = []
            number = int(found["entered"] or found["left"])
            log.exceptions.append((len(pcs), bool(found["entered"]), number))
            if found["left"]:
                log.returns[len(pcs)] = int(found["magic"], 16)
    pcs += pending
    return log
