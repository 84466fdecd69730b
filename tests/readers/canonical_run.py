"""A small run, written by hand from an objdump listing of the source in traces/small.s.

Forty-odd instructions: literal load, single and double stores, push and pop, an exclusive pair, an
instruction skipped by IT, peripheral accesses, a loop, a supervisor call and an interrupt.
"""

from __future__ import annotations

from trace_writers import READ, WRITE, Data, Step

S = 0x20000100


def _step(pc: int, code: str, text: str, *data: Data, **more: int) -> Step:
    """``code``: halfwords as objdump prints them."""
    memory = b"".join(int(half, 16).to_bytes(2, "little") for half in code.split())
    return Step(pc, memory, text, data, **more)  # type: ignore[arg-type]


def _words(what: str, address: int, count: int) -> tuple[Data, ...]:
    return tuple(Data(what, address + 4 * i, 4) for i in range(count))


def _loop(address: int) -> list[Step]:
    return [
        _step(0x70, "c006", "stm r0!, {r1, r2}", *_words(WRITE, address, 2)),
        _step(0x72, "3901", "subs r1, #1"),
        _step(0x74, "d1fc", "bne #0x70"),
    ]


RUN: tuple[Step, ...] = (
    _step(0x40, "481b", "ldr r0, [pc, #0x6c]", Data(READ, 0xB0, 4)),
    _step(0x42, "2105", "movs r1, #5"),
    _step(0x44, "6001", "str r1, [r0]", Data(WRITE, S, 4)),
    _step(0x46, "7101", "strb r1, [r0, #4]", Data(WRITE, S + 4, 1)),
    _step(0x48, "e9c0 0102", "strd r0, r1, [r0, #8]", *_words(WRITE, S + 8, 2)),
    _step(0x4C, "e9d0 2302", "ldrd r2, r3, [r0, #8]", *_words(READ, S + 8, 2)),
    _step(0x50, "b507", "push {r0, r1, r2, lr}", *_words(WRITE, 0x20000FF0, 4)),
    _step(0x52, "bc0f", "pop {r0, r1, r2, r3}", *_words(READ, 0x20000FF0, 4)),
    _step(0x54, "e850 4f00", "ldrex r4, [r0]", Data(READ, S, 4)),
    _step(0x58, "e840 4500", "strex r5, r4, [r0]", Data(WRITE, S, 4), exclusive=True),
    _step(0x5C, "2900", "cmp r1, #0"),
    _step(0x5E, "bf08", "it eq"),
    _step(0x60, "6001", "str r1, [r0]"),
    _step(0x62, "f04f 2640", "mov.w r6, #0x40004000"),
    _step(0x66, "2201", "movs r2, #1"),
    _step(0x68, "60b2", "str r2, [r6, #8]", Data(WRITE, 0x40004008, 4, "uart")),
    _step(0x6A, "2241", "movs r2, #0x41"),
    _step(0x6C, "6032", "str r2, [r6]", Data(WRITE, 0x40004000, 4, "uart")),
    _step(0x6E, "6873", "ldr r3, [r6, #4]", Data(READ, 0x40004004, 4, "uart")),
    *_loop(0x20000100),
    *_loop(0x20000108),
    *_loop(0x20000110),
    _step(0x76, "df03", "svc #3"),
    _step(0x9C, "b510", "push {r4, lr}", *_words(WRITE, 0x20000FD8, 2), enters=11),
    _step(0x9E, "f000 f801", "bl #0xa4"),
    _step(0xA4, "2001", "movs r0, #1"),
    _step(0xA6, "4770", "bx lr"),
    _step(0xA2, "bd10", "pop {r4, pc}", *_words(READ, 0x20000FD8, 2), leaves=11),
    _step(0x78, "480e", "ldr r0, [pc, #0x38]", Data(READ, 0xB4, 4)),
    _step(0xAA, "3401", "adds r4, #1", enters=15),
    _step(0xAC, "4770", "bx lr", leaves=15),
    _step(0x7A, "f04f 5180", "mov.w r1, #0x10000000"),
    _step(0x7E, "6001", "str r1, [r0]", Data(WRITE, 0xE000ED04, 4, "nvic_sysregs")),
    _step(0x80, "f3bf 8f6f", "isb sy"),
)

# Counted in the listing, not by a program.
INSTRUCTIONS = 40
READS = 12
WRITES = 20
EXCEPTIONS = 2
