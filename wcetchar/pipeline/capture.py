"""Firmware -> trace: an emulator runs it, and everything it does is recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wcetchar import capture, store
from wcetchar.capture import CaptureFilter, CaptureRequest, CaptureResult
from wcetchar.errors import UsageError
from wcetchar.image import load_image
from wcetchar.model.image import Image
from wcetchar.model.service import AddressRange


@dataclass(frozen=True)
class Request:
    """What ``wcetchar capture`` is asked for.

    Attributes:
        exclude: functions, or address ranges ``0xSTART-0xEND``, to leave out.
        services: services file; then only what lies between its marks is recorded.
    """

    firmware: str
    output: str
    machine: str
    exclude: tuple[str, ...] = ()
    services: str | None = None
    qemu: str | None = None
    timeout: float = 600.0


def run(request: Request, progress: Callable[[int], None] | None = None) -> CaptureResult:
    """Captures one run of a firmware.

    Raises:
        InputError: the firmware is no executable, it fails, or a name of the filter is not in it.
        ToolMissing: there is no emulator or no C compiler.
    """
    image = load_image(request.firmware)
    start, stop = _between_marks(image, request.services)
    return capture.run(
        CaptureRequest(
            firmware=Path(request.firmware),
            image_sha256=image.sha256,
            output=Path(request.output),
            machine=request.machine,
            filter=CaptureFilter(
                exclude=tuple(_range(image, text) for text in request.exclude),
                start=start,
                stop=stop,
            ),
            qemu=request.qemu,
            timeout=request.timeout,
        ),
        progress,
    )


def _range(image: Image, text: str) -> AddressRange:
    low, dash, high = text.partition("-")
    if dash and low.lower().startswith("0x"):
        try:
            return AddressRange(int(low, 16), int(high, 16))
        except ValueError:
            raise UsageError(
                f"{text!r} is no address range", expected="0xSTART-0xEND, END not included"
            ) from None
    symbol = image.symbol(text)
    if symbol.size == 0:
        raise UsageError(
            f"{text!r} has no size in the image", expected="a function, or 0xSTART-0xEND"
        )
    return AddressRange(symbol.address, symbol.address + symbol.size)


def _between_marks(
    image: Image, services: str | None
) -> tuple[tuple[AddressRange, ...], tuple[AddressRange, ...]]:
    """Address ranges of the marks that start recording (parameters, begin) and stop it (end)."""
    if services is None:
        return (), ()
    marks = store.load_services(services).marks
    array = image.symbol(marks.symbol)
    channels = [
        AddressRange(array.address + k * marks.values, array.address + (k + 1) * marks.values)
        for k in range(array.size // marks.values)
    ]
    start = tuple(r for k, r in enumerate(channels) if k != marks.end)
    return start, (channels[marks.end],)
