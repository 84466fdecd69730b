"""Firmware -> trace: an emulator runs it, and everything it does is recorded."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wcetchar import capture, isa, store
from wcetchar.capture import CaptureFilter, CaptureRequest, CaptureResult, InitialValue, Until
from wcetchar.errors import InputError, Location, UsageError
from wcetchar.image import load_image
from wcetchar.model.image import Image
from wcetchar.model.service import AddressRange
from wcetchar.pipeline.assignments import whole_number

MACHINES = {machine.name: f"{machine.qemu}, {machine.cpu}" for machine in capture.MACHINES}
"""Names of the machines there are, and what stands behind each."""


@dataclass(frozen=True)
class Request:
    """What ``wcetchar capture`` is asked for.

    Attributes:
        exclude: functions, or address ranges ``0xSTART-0xEND``, to leave out.
        services: services files that are read as one; if there is any, only what lies between
            the marks that they name is recorded.
        initialize: ``VARIABLE=VALUE``, what a variable holds when the firmware starts.
        until: ``FUNCTION`` or ``FUNCTION:TIMES``, where the run ends.
    """

    firmware: str
    output: str
    machine: str
    exclude: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    initialize: tuple[str, ...] = ()
    qemu: str | None = None
    timeout: float = 600.0
    until: str | None = None


def run(request: Request, progress: Callable[[int], None] | None = None) -> CaptureResult:
    """Captures one run of a firmware.

    Raises:
        InputError: the firmware is no executable for such a machine, it fails, or a name of the
            filter is not in it.
        ToolMissing: there is no emulator or no C compiler.
    """
    image = load_image(request.firmware)
    _check_core(image, request.machine)
    start, stop = _between_marks(image, request.services)
    exclude = tuple(_range(image, text) for text in request.exclude)
    return capture.run(
        CaptureRequest(
            firmware=Path(request.firmware),
            image_sha256=image.sha256,
            output=Path(request.output),
            machine=request.machine,
            filter=CaptureFilter(
                exclude=exclude,
                start=start,
                stop=stop,
                keep=_lasting(image, request.services) if exclude or start else (),
            ),
            initial=_initial(image, request.initialize),
            until=None if request.until is None else _until(image, request.until),
            qemu=request.qemu,
            timeout=request.timeout,
        ),
        progress,
    )


def _check_core(image: Image, machine: str) -> None:
    """Else QEMU would run it into a fault, or refuse it without a word."""
    isa.find(image)
    found = capture.find_machine(machine)
    core = found.core or found.image_machine
    own = "armv4t" if image.architecture == "armv4t" else image.machine
    if own != core:
        named = {"arm": "an Arm Cortex-M", "armv4t": "an Armv4T", "riscv": "a RISC-V"}[core]
        raise InputError(
            f"the image is for {own}, but {machine} has {named} core",
            where=Location(image.path),
            expected="an image for " + MACHINES.get(machine, machine),
            hint="name another machine, or compile for its core",
        )


def _range(image: Image, text: str) -> AddressRange:
    low, _, high = text.partition("-")
    if low.lower().startswith("0x"):
        try:
            return AddressRange(int(low, 16), int(high, 16))
        except ValueError:
            raise UsageError(
                f"--exclude {text}: this is no address range",
                expected="0xSTART-0xEND, END not included",
            ) from None
    try:
        symbol = image.symbol(text)
    except InputError as error:
        raise InputError(
            f"--exclude: {error.message}",
            where=error.where,
            expected="a function of the image, or 0xSTART-0xEND",
            hint=error.hint,
        ) from error
    if symbol.size == 0:
        raise InputError(
            f"--exclude: the size of {text!r} is not stated in the image",
            where=Location(image.path),
            expected="a function with a size",
            hint="give its addresses: 0xSTART-0xEND",
        )
    return AddressRange(symbol.address, symbol.address + symbol.size)


def _until(image: Image, text: str) -> Until:
    """What ``--until`` asks for."""
    name, colon, digits = text.partition(":")
    times = whole_number(digits) if colon else 1
    if not name or times is None or times < 1:
        raise UsageError(
            f"--until {text}: this is no end of a run",
            expected="FUNCTION, or FUNCTION:TIMES with a whole number from 1 on",
        )
    wanted = "a function of the image, at whose beginning the run ends"
    try:
        symbol = image.symbol(name)
    except InputError as error:
        raise InputError(
            f"--until: {error.message}", where=error.where, expected=wanted, hint=error.hint
        ) from error
    section = image.section_at(symbol.address)
    if section is None or not section.executable:
        raise InputError(
            f"--until: {name!r} is no function", where=Location(image.path), expected=wanted
        )
    return Until(name, symbol.address, times)


_VARIABLE = re.compile(r"[^=\s]+")
_WIDTHS = (1, 2, 4, 8)


def _initial(image: Image, assignments: tuple[str, ...]) -> tuple[InitialValue, ...]:
    """What ``--initialize`` asks for."""
    found: list[InitialValue] = []
    for text in assignments:
        name, _, digits = (part.strip() for part in text.partition("="))
        value = whole_number(digits)
        if value is None or not _VARIABLE.fullmatch(name):
            raise UsageError(
                f"--initialize {text}: this is no assignment",
                expected="VARIABLE=VALUE, the value a whole number such as 8 or 0x20",
            )
        one = _initial_value(image, name, value)
        if any(
            one.address < other.address + len(other.data)
            and other.address < one.address + len(one.data)
            for other in found
        ):
            raise UsageError(
                f"--initialize {text}: the variable was given a value before",
                expected="one value for each variable",
            )
        found.append(one)
    return tuple(found)


def _initial_value(image: Image, name: str, value: int) -> InitialValue:
    def wrong(problem: str, expected: str, hint: str | None = None) -> InputError:
        return InputError(
            f"--initialize {name}: {problem}",
            where=Location(image.path),
            expected=expected,
            hint=hint,
        )

    wanted = "a variable of the image with an initial value, of 1, 2, 4 or 8 bytes"
    try:
        symbol = image.symbol(name)
    except InputError as error:
        raise wrong(error.message, wanted, error.hint) from error
    section = image.section_at(symbol.address)
    if symbol.kind != "object" or section is None or section.executable:
        raise wrong("this is no variable", wanted)
    if symbol.size not in _WIDTHS:
        raise wrong(
            f"this variable has {symbol.size} bytes",
            wanted,
            "arrays and structures cannot be given: let the firmware read a variable of its own",
        )
    offset = symbol.address - section.address
    if offset + symbol.size > len(section.data):
        raise wrong(
            "this variable has no initial value in the file, so start-up code clears it",
            wanted,
            "define it `const volatile`, or with an initial value other than 0",
        )
    bits = 8 * symbol.size
    if not -(1 << (bits - 1)) <= value < 1 << bits:
        raise wrong(f"{value} does not fit", f"a value of {symbol.size} bytes")
    return InitialValue(
        name, value, symbol.address, (value % (1 << bits)).to_bytes(symbol.size, "little")
    )


SMALL_FUNCTION = 128
BYTES_BEFORE = 16


def _lasting(image: Image, services: tuple[str, ...]) -> tuple[AddressRange, ...]:
    """Code whose effect outlasts it, which no filter may leave out: writes of interrupt masks, with
    what computes the written value (a small function whole, else the bytes before), and the entries
    of functions that lock the scheduler."""
    table = isa.decode_image(image)
    ranges = []
    for instruction in table.instructions:
        if not instruction.masks:
            continue
        function = image.function_at(instruction.address)
        if function is not None and 0 < function.size <= SMALL_FUNCTION:
            ranges.append((function.address, function.address + function.size))
        else:
            start = instruction.address - BYTES_BEFORE
            if function is not None:
                start = max(start, function.address)
            ranges.append((start, instruction.end))
    lock = store.load_services(*services).scheduler_lock if services else None
    for name in (*lock.lock, *lock.unlock) if lock is not None else ():
        address = image.symbol(name).address
        ranges.append((address, address + 2))
    joined: list[AddressRange] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1].end:
            joined[-1] = AddressRange(joined[-1].start, max(high, joined[-1].end))
        else:
            joined.append(AddressRange(max(0, low), high))
    return tuple(joined)


def _between_marks(
    image: Image, services: tuple[str, ...]
) -> tuple[tuple[AddressRange, ...], tuple[AddressRange, ...]]:
    """Address ranges of the marks that start recording (parameters, begin) and stop it (end)."""
    if not services:
        return (), ()
    described = store.load_services(*services)
    marks = described.marks
    if marks is None:
        raise InputError(
            "the firmware has no marks, so there is nothing between them to be recorded",
            where=Location(described.path),
            expected="`marks:` in the services file",
            hint="capture the whole run: leave --marked out; --exclude leaves out an idle loop",
        )
    try:
        array = image.symbol(marks.symbol)
    except InputError as error:
        raise InputError(
            f"mark array: {error.message} ({image.path})",
            where=described.where("marks", "symbol"),
            expected=error.expected,
            hint=error.hint,
        ) from error
    marked = [s for s in described.services if s.mark is not None]
    used = max(
        marks.begin,
        marks.end,
        *(marks.first_parameter + len(s.parameters) - 1 for s in marked),
    )
    if array.size < (used + 1) * marks.values:
        raise InputError(
            f"the mark array {array.name} has {array.size} bytes ({image.path})",
            where=described.where("marks", "values"),
            expected=f"at least {used + 1} channels of {marks.values} values, a byte each",
            hint="`marks: values:` must be the second dimension of the array in the firmware",
        )
    channels = [
        AddressRange(array.address + k * marks.values, array.address + (k + 1) * marks.values)
        for k in range(array.size // marks.values)
    ]
    start = tuple(r for k, r in enumerate(channels) if k != marks.end)
    return start, (channels[marks.end],)
