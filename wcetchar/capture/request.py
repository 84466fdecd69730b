"""What a capture is asked for, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from wcetchar.errors import UsageError
from wcetchar.model.service import AddressRange

DEFAULT_ICOUNT_SHIFT: Final = 5
"""Virtual time of one instruction is 2**5 = 32 ns: the power of two just below the 40 ns of one
cycle at the 25 MHz of the MPS2 boards, so timers fire no sooner than on a board that needs at
least one cycle for each instruction."""

MAX_RANGES: Final = 4096  # room in the plugin, for each kind of range


def _text(ranges: tuple[AddressRange, ...]) -> str:
    return "+".join(f"{r.start:#x}-{r.end:#x}" for r in ranges)


@dataclass(frozen=True)
class CaptureFilter:
    """What to leave out of a trace. Everything left out is counted (GAP events, end record), and
    exceptions are recorded all the same.

    Attributes:
        exclude: program counters of instructions to leave out, an idle loop's for instance. A
            mark that is stored from there is not seen.
        start: recording begins with the instruction that stores to one of these addresses;
            empty: with the first instruction.
        stop: recording ends after the instruction that stores to one of these addresses, until
            the next start.
        keep: program counters of instructions to record whatever the others say: those that mask
            interrupts, whose effect lasts. A mark that is stored from there is not seen.
    """

    exclude: tuple[AddressRange, ...] = ()
    start: tuple[AddressRange, ...] = ()
    stop: tuple[AddressRange, ...] = ()
    keep: tuple[AddressRange, ...] = ()

    def __post_init__(self) -> None:
        for ranges in (self.exclude, self.start, self.stop, self.keep):
            if len(ranges) > MAX_RANGES:
                raise UsageError(
                    f"{len(ranges)} address ranges in one filter",
                    expected=f"at most {MAX_RANGES}",
                    hint="join ranges that touch",
                )
            for r in ranges:
                if not 0 <= r.start < r.end <= 1 << 32:
                    raise UsageError(
                        f"the address range {r.start:#x}-{r.end:#x} is empty or not in 32 bits",
                        expected="start < end, the end not included",
                    )

    def arguments(self) -> tuple[str, ...]:
        """As the plugin takes them."""
        parts = (
            ("exclude", self.exclude),
            ("keep", self.keep),
            ("start", self.start),
            ("stop", self.stop),
        )
        return tuple(f"{name}={_text(ranges)}" for name, ranges in parts if ranges)


@dataclass(frozen=True)
class InitialValue:
    """What a variable holds when the firmware starts, in place of what the file says.

    Attributes:
        name: of the variable, for the trace's header.
        value: as it was asked for.
        address: of its first byte (the address that the program uses).
        data: its bytes, all of them.
    """

    name: str
    value: int
    address: int
    data: bytes

    def argument(self) -> str:
        """As the trace's header has it."""
        return f"initialize={self.name}={self.value}"


@dataclass(frozen=True)
class Until:
    """Where a run ends that the firmware does not end: before the first instruction of a function
    executes for the ``times``-th time, at ``address``."""

    function: str
    address: int
    times: int = 1

    def argument(self) -> str:
        """As the plugin takes it, and the trace's header has it."""
        return f"until={self.address:#x}:{self.times}"

    def __str__(self) -> str:
        return f"{self.function} is entered" + (f" {self.times} times" if self.times > 1 else "")


@dataclass(frozen=True)
class CaptureRequest:
    """One run of a firmware.

    Attributes:
        firmware: ELF file for the machine's core. It ends by the semihosting call
            SYS_EXIT or SYS_EXIT_EXTENDED with status 0, or at ``until``. Semihosting lets it reach
            files of this machine, so run only firmware that you trust.
        image_sha256: ``Image.sha256`` of the same file; the trace carries it.
        output: the trace; replaced only by a complete one.
        machine: name of one of :data:`wcetchar.capture.MACHINES`.
        qemu: emulator to use instead of the machine's own, a name on PATH or a path.
        until: where the run ends, if the firmware does not end it; it is an error then if it
            does so before.
        initial: variables that hold something else than the file says.
        icount_shift: one instruction takes 2**shift ns of virtual time (0..10).
        timeout: seconds of real time after which the run is given up.
        max_instructions: executed instructions after which it is given up.
    """

    firmware: Path
    image_sha256: str
    output: Path
    machine: str = "mps2-an385"
    filter: CaptureFilter = field(default_factory=CaptureFilter)
    initial: tuple[InitialValue, ...] = ()
    until: Until | None = None
    qemu: str | None = None
    icount_shift: int = DEFAULT_ICOUNT_SHIFT
    timeout: float = 600.0
    max_instructions: int = 10_000_000_000

    def __post_init__(self) -> None:
        if not 0 <= self.icount_shift <= 10:
            raise UsageError(f"icount shift {self.icount_shift}", expected="0 to 10")
        if self.timeout <= 0 or self.max_instructions <= 0:
            raise UsageError("a time-out or an instruction limit that lets nothing run")


@dataclass(frozen=True)
class CaptureResult:
    """A complete trace.

    Attributes:
        instructions, accesses, exceptions: recorded.
        filtered, filtered_accesses: executed, but left out by the filter.
        size: bytes of the trace.
        console: what the firmware wrote to its first serial port and by semihosting (the last
            megabyte of it).
    """

    output: Path
    emulator: str
    arguments: tuple[str, ...]
    instructions: int
    accesses: int
    exceptions: int
    filtered: int
    filtered_accesses: int
    size: int
    console: str
