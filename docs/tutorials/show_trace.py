"""Prints the beginning of one xTaskCreate window of a FreeRTOS trace, and two turns of its loop.

python docs/tutorials/show_trace.py FIRMWARE TRACE N
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import dropwhile, islice

from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.model.trace import Event
from wcetchar.readers import open_trace

XTASKCREATE = 1  # its mark in services.yaml
LOOP = 0x32  # from pvPortMalloc to the loop over the free blocks


def main(firmware: str, trace: str, n: int) -> None:
    image = load_image(firmware)
    table = decode_image(image)
    begin_mark = (Event.WRITE, image.symbol("wcet_mark").address + XTASKCREATE)
    malloc = image.symbol("pvPortMalloc").address

    def events() -> Iterator[tuple[Event, int, int]]:
        for batch in open_trace(trace, image=image).batches():
            columns = (batch.kind.tolist(), batch.address.tolist(), batch.size.tolist())
            for kind, address, size in zip(*columns, strict=True):
                yield Event(kind), address, size

    def show(several: Iterator[tuple[Event, int, int]], count: int) -> None:
        for kind, address, size in islice(several, count):
            if kind is Event.INSTRUCTION:
                instruction = table.at(address)
                print(f"{address:08x}  {instruction.text if instruction else '?'}")
            else:
                print(f"            {kind.name.lower()} of {size} bytes at {address:08x}")

    rest = events()
    # The driver calls it with 1, 2, 3 ... free blocks, each time in two cases; the first is shown.
    for _ in range(2 * n - 1):
        rest = dropwhile(lambda event: event[:2] != begin_mark, rest)
        mark = next(rest)
    print(f"begin mark   {mark[0].name.lower()} of {mark[2]} byte at {mark[1]:08x}")
    print("the window opens:")
    entry = (Event.INSTRUCTION, image.symbol("xTaskCreate").address)
    rest = dropwhile(lambda event: event[:2] != entry, rest)
    show(rest, 11)
    print("the loop in pvPortMalloc:")
    rest = dropwhile(lambda event: event[:2] != (Event.INSTRUCTION, malloc + LOOP), rest)
    show(rest, 18)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
