"""A run as plain data, and writers that put it into every trace format.

The writers follow the formats' descriptions and share nothing with the readers. Each takes the
steps of a run and returns the bytes of a file.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from wcetchar.model.image import CodeRange, Image, Section

READ, WRITE = "load", "store"


@dataclass(frozen=True)
class Data:
    """One data access: ``load`` or ``store``, address, width in bytes, device in QEMU's words."""

    what: str
    address: int
    width: int
    device: str = "RAM"


@dataclass(frozen=True)
class Step:
    """One executed instruction; ``enters`` and ``leaves`` are exceptions entered just before and
    left just after it (0: none)."""

    pc: int
    code: bytes
    text: str = "nop"
    data: tuple[Data, ...] = ()
    enters: int = 0
    leaves: int = 0
    exclusive: bool = False


Run = Sequence[Step]


def events(run: Run, phantoms: bool = False) -> list[tuple[str, int, int]]:
    """What a reader of a format that knows everything has to yield; ``phantoms``: with the load
    that execlog lists for a store-exclusive."""
    found = []
    for step in run:
        if step.enters:
            found.append(("EXCEPTION", step.enters, 0))
        found.append(("INSTRUCTION", step.pc, len(step.code)))
        if phantoms and step.exclusive and step.data:
            found.append(("READ", step.data[0].address, step.data[0].width))
        for data in step.data:
            found.append(("READ" if data.what == READ else "WRITE", data.address, data.width))
        if step.leaves:
            found.append(("EXCEPTION_EXIT", step.leaves, 0))
    return found


def image_of(run: Run, ram: int = 0x20000000) -> Image:
    """An image that holds the run's instructions, and a variable in RAM."""
    code = {step.pc: step.code for step in run}
    start = min(code)
    end = max(pc + len(data) for pc, data in code.items())
    text = bytearray(b"\x00\xbf" * ((end - start + 2) // 2))
    for pc, data in code.items():
        text[pc - start : pc - start + len(data)] = data
    sections = (
        Section(".text", start, len(text), False, True, bytes(text)),
        Section(".bss", ram, 64, True, False, b""),
    )
    ranges = (CodeRange(start, start + len(text), "thumb"),)
    return Image("test.elf", "arm", "armv7-m", 32, start, sections, (), ranges, (), "00" * 32)


def halves(code: bytes) -> list[int]:
    return [int.from_bytes(code[i : i + 2], "little") for i in range(0, len(code), 2)]


# The plugin's own stream.


def _event_chunks(words: list[int], operands: list[int]) -> Iterator[tuple[bytes, bytes]]:
    """Of no more than 65,536 events each, with the operands of those below 32."""
    left = iter(operands)
    for start in range(0, len(words), 65536):
        some = words[start : start + 65536]
        held = [next(left) for word in some if word < 32]
        counts = struct.pack("<II", len(some), len(held))
        yield b"EVNT", counts + struct.pack(f"<{len(some) + len(held)}I", *some, *held)


def stream(run: Run) -> bytes:
    shift = {1: 0, 2: 1, 4: 2, 8: 3}
    numbers: dict[tuple[int, bytes], int] = {}
    words: list[int] = []
    operands: list[int] = []
    for step in run:
        if step.enters:
            words.append(16)
            operands.append(step.enters)
        words.append(32 + numbers.setdefault((step.pc, step.code), len(numbers)))
        for data in step.data:
            words.append((0 if data.what == READ else 8) + shift[data.width])
            operands.append(data.address)
        if step.leaves:
            words.append(17)
            operands.append(step.leaves)
    chunks = [
        (b"HEAD", json.dumps({"arguments": []}).encode()),
        (b"CODE", b"".join(struct.pack("<QI12s", pc, len(c), c) for pc, c in numbers)),
        *_event_chunks(words, operands),
        (
            b"DONE",
            struct.pack(
                "<7QII",
                len(run),
                sum(len(s.data) for s in run),
                sum(1 for s in run if s.enters),
                sum(1 for s in run if s.leaves),
                0,
                0,
                len(numbers),
                1,
                0,
            ),
        ),
    ]
    file = struct.pack("<8sII", b"\x89WCT\r\n\x1a\n", 1, 4)
    crc = zlib.crc32(file)
    for tag, payload in chunks:
        chunk = tag + struct.pack("<I", len(payload)) + payload
        crc = zlib.crc32(chunk, crc)
        file += chunk + struct.pack("<I", crc)
    return file


# QEMU's execlog.


def shown_an385(address: int) -> int:
    """Address as QEMU 7.2 prints it on mps2-an385: code RAM, SRAM and the system control space,
    offsets as measured."""
    if 0xE000E400 <= address < 0xE000F000:
        return address + 0x400
    if 0x20000000 <= address < 0x20400000:
        return address + 0x1410000
    if address < 0x400000:
        return address + 0x1010000
    return address


def execlog(run: Run, shown: Callable[[int], int] = lambda a: a, garbage: bool = False) -> bytes:
    rows = []
    for number, step in enumerate(run):
        opcode = int.from_bytes(step.code, "little")
        if garbage and len(step.code) == 2:
            opcode |= (number * 0x9E37 & 0xFFFF) << 16
        row = f'0, 0x{step.pc:x}, 0x{opcode:x}, "{step.text}"'
        listed = list(step.data)
        if step.exclusive and listed:
            listed.insert(0, Data(READ, listed[0].address, listed[0].width))
        for data in listed:
            row += f", {data.what}, 0x{shown(data.address):08x}, {data.device}"
        rows.append(row)
    return "".join(row + "\n" for row in rows).encode()


# QEMU's own log.


def blocks(run: Run) -> list[list[Step]]:
    """Stretches that follow each other in memory and are not parted by an exception."""
    found: list[list[Step]] = []
    for i, step in enumerate(run):
        before = run[i - 1] if i else None
        joined = (
            before is not None
            and before.pc + len(before.code) == step.pc
            and not before.leaves
            and not step.enters
            and len(found[-1]) < 12
        )
        if joined:
            found[-1].append(step)
        else:
            found.append([step])
    return found


def qemu_log(run: Run, digits: int = 8, listings: bool = True) -> bytes:
    out = ["Loaded reset SP 0x20001000 PC 0x41 from vector table"]
    listed: dict[str, tuple[int, ...]] = {}
    handlers = 0
    for block in blocks(run):
        if block[0].enters:
            handlers += 1
            out += [
                f"Taking exception {2 if block[0].enters == 11 else 5} [X] on CPU 0",
                f"...taking pending nonsecure exception {block[0].enters}",
                f"...loading from element {block[0].enters} of non-secure vector table at 0x2c",
                "...loaded new PC 0x9d",
            ]
        key = f"00800400/{block[0].pc:0{digits}x}/{0x110 + (handlers > 0):08x}/ff000200"
        content = tuple(step.pc for step in block)
        if listings and listed.get(key) != content:
            listed[key] = content
            out += ["----------------", "IN: reset"]
            for step in block:
                code = " ".join(f"{half:04x}" for half in halves(step.code))
                out.append(f"0x{step.pc:08x}:  {code:<9}  {step.text.replace(' ', '  ', 1)}")
            out.append("")
        out.append(f"Trace 0: 0x7f{0xB4000100 + block[0].pc:08x} [{key}] reset")
        for step in block:
            if step.leaves:
                handlers -= 1
                out += [
                    "Taking exception 8 [QEMU v7M exception exit] on CPU 0",
                    f"Exception return: magic PC fffffff9 previous exception {step.leaves}",
                    "...successful exception return",
                ]
    return "".join(row + "\n" for row in out).encode()


# Renode.


def renode_text(form: str) -> Callable[[Run], bytes]:
    def write(run: Run) -> bytes:
        rows = []
        for step in run:
            printed = "".join(f"{half:04X}" for half in halves(step.code))
            rows.append(
                {
                    "PC": f"0x{step.pc:X}",
                    "Opcode": f"0x{printed}",
                    "PCAndOpcode": f"0x{step.pc:X}: 0x{printed}",
                    "Disassembly": f"0x{step.pc:08x}:   {printed.lower():<14} {step.text}"
                    + (" [reset]" if step.pc % 8 == 0 else ""),
                }[form]
            )
            rows += [_renode_access(data) for data in step.data]
        return "".join(row + "\n" for row in rows).encode()

    return write


def _renode_access(data: Data) -> str:
    io = "" if data.device == "RAM" else "IO"
    what = "Read" if data.what == READ else "Write"
    return f"Memory{io}{what} with address 0x{data.address:X}, value 0x{data.address * 7:X}"


def renode_binary(
    version: int, pc_width: int = 4, opcodes: bool = True, multi: bool = False, extras: bool = False
) -> Callable[[Run], bytes]:
    """``extras``: every third record carries items that are no events."""

    def record(number: int, step: Step) -> bytes:
        out = step.pc.to_bytes(8, "little")[:pc_width]
        if opcodes:
            out += bytes([len(step.code)]) + step.code
        if extras and number % 3 == 0:
            out += b"\x04\x01\x02" + b"\x02R0\x04\x01\x00\x00\x00" + b"\x03R15\x08" + bytes(8)
            out += b"\x02" + struct.pack("<QQ", 1, 2)
        for data in step.data:
            operation = (0 if data.device != "RAM" else 2) + (data.what == WRITE)
            out += b"\x01" + struct.pack("<BQQQ", operation, data.address, 0x0101, data.address)
        if extras and number % 3 == 0:
            out += b"\x03\x01\x02\x04" + bytes(16) + b"\x03\x00\x03\x04" + bytes(32)
        return out + b"\x00"

    def write(run: Run) -> bytes:
        out = bytearray(b"ReTrace" + bytes([version, pc_width, opcodes]))
        if opcodes:
            texts = [b"thumbv7m cortex-m3"] + [b"armv7a cortex-a9"] * multi
            if version == 4:
                out += bytes([multi, len(texts[0])]) + texts[0]
            else:
                out += bytes([len(texts)]) + b"".join(bytes([len(t)]) + t for t in texts)
        number = 0
        for block in blocks(run):
            if multi:
                out += b"\x00" + struct.pack("<Q", len(block))
            for step in block:
                out += record(number, step)
                number += 1
        return bytes(out)

    return write
