"""Runs a firmware under QEMU with the plugin and puts a complete trace in its place.

The run is repeatable: with ``-icount`` virtual time is the number of executed instructions, and
``sleep=off`` lets it jump to the next timer when the core sleeps, so nothing depends on the
machine that QEMU runs on. QEMU's interrupt log goes to a memory file that the plugin reads as it
is written; both files are handed over as open descriptors, so no path of this machine can get
into the trace.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final

from wcetchar.capture import trace_file
from wcetchar.capture.build import OVERRIDE, plugin_path
from wcetchar.capture.firmware import entry_of, with_values
from wcetchar.capture.machines import find_machine
from wcetchar.capture.part import part_of, unwritable
from wcetchar.capture.request import CaptureRequest, CaptureResult
from wcetchar.capture.signals import deferred_signals
from wcetchar.errors import InputError, Location, ToolMissing
from wcetchar.model.machine import CapturedMachine

_CONSOLE_BYTES: Final = 1 << 20
_MESSAGE_BYTES: Final = 2000
_VERSION_SECONDS: Final = 30
_POLL_SECONDS: Final = 0.05
_LOG_BYTES: Final = 1 << 20  # the plugin keeps the log below 64 KiB as long as anything executes
# The board's Ethernet, which nothing is connected to.
_HARMLESS: Final = ("has no peer",)
_PLUGIN_SAYS: Final = "wcetchar-plugin: "
_API_VARIABLE: Final = "WCETCHAR_PLUGIN_API"
_NO_ROOM: Final = "the trace cannot be written: "
_WANTED: Final = "QEMU 7.2 to 11.1, built with TCG plugins"
# What QEMU says of a plugin that it does not load, and of -plugin where it has no plugins.
_REFUSED: Final = re.compile(r"Could not load plugin .*?: (.*)")
NO_PLUGINS: Final = re.compile(
    r": -plugin: (.*)|(.*plugin(?: interface|s).* disabled.*)", re.IGNORECASE
)


def run(request: CaptureRequest, progress: Callable[[int], None] | None = None) -> CaptureResult:
    """Run the firmware once and write its trace.

    Args:
        progress: called several times a second with the bytes of trace written so far.

    Raises:
        ToolMissing: QEMU or a C compiler is not installed.
        InputError: the firmware cannot be read or ends with an error, not at all, or by a reset;
            QEMU fails; the output cannot be written. The output file is then as it was.
        UsageError: there is no such machine.
    """
    machine = find_machine(request.machine)
    if not sys.platform.startswith("linux"):
        raise ToolMissing(
            "a capture needs Linux: its files are handed to QEMU as open descriptors",
            hint="capture in a Linux container; everything else runs anywhere",
        )
    qemu = _find_qemu(machine, request.qemu)
    emulator = _version(qemu)
    plugin = plugin_path()
    entry = entry_of(request.firmware, machine.image_machine)
    options = _options(machine, request)
    arguments = (
        *(machine.qemu, *options, *request.filter.arguments()),
        *(one.argument() for one in request.initial),
        *_until(request),
    )
    header, crc = trace_file.opening(
        {
            "arguments": list(arguments),
            "emulator": emulator,
            "image_sha256": request.image_sha256,
            "machine": request.machine,
        }
    )
    with _firmware(request) as (firmware, handed), part_of(request.output) as (part, trace):
        with _writing(request.output):
            trace.write(header)
            trace.flush()
        settings = [str(plugin).replace(",", ",,"), f"crc={crc}"]
        if machine.starts_at_entry:
            settings.append(f"entry={entry:#x}")
        if machine.core:
            settings.append(f"core={machine.core}")
        command = [qemu, *options, *_load(machine, firmware)]
        console = _execute(command, settings, emulator, request, (trace, handed), progress)
        with _writing(request.output):
            end = _check_end(part, request)
            os.replace(part, os.path.realpath(request.output))
    return CaptureResult(
        output=request.output,
        emulator=emulator,
        arguments=arguments,
        instructions=end.instructions,
        accesses=end.accesses,
        exceptions=end.exceptions,
        filtered=end.filtered,
        filtered_accesses=end.filtered_accesses,
        size=request.output.stat().st_size,
        console=console,
    )


def emulator_version(machine: str, qemu: str | None = None) -> str:
    """Name and version of the emulator that :func:`run` would use, as the trace will state it.

    Raises:
        ToolMissing: it is not installed.
        InputError: the program is no emulator.
        UsageError: there is no such machine.
    """
    return _version(_find_qemu(find_machine(machine), qemu))


@contextlib.contextmanager
def _writing(output: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritable(output, error.strerror or str(error)) from error


def _find_qemu(machine: CapturedMachine, override: str | None) -> str:
    found = shutil.which(override or machine.qemu)
    if found is None:
        raise ToolMissing(
            f"the emulator {override or machine.qemu} is not installed",
            expected=_WANTED,
            hint=f"apt-get install {machine.package}",
        )
    return found


def _version(qemu: str) -> str:
    """``QEMU 7.2.22 (Debian ...)``."""
    try:
        done = subprocess.run(
            [qemu, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_VERSION_SECONDS,
        )
    except OSError as error:
        raise _not_run(qemu, error) from error
    except subprocess.TimeoutExpired as error:
        raise InputError(
            f"the emulator did not answer --version within {_VERSION_SECONDS} s",
            where=Location(qemu),
            expected=_WANTED,
            hint="check --qemu",
        ) from error
    found = re.match(r"QEMU emulator version (.+)", done.stdout)
    if found is None:
        raise InputError(
            "this does not look like QEMU",
            where=Location(qemu),
            expected="a program that answers --version as qemu-system-arm does",
            hint="check --qemu",
        )
    return "QEMU " + found.group(1).strip()


def _options(machine: CapturedMachine, request: CaptureRequest) -> tuple[str, ...]:
    """Options that decide what is executed, none of them with a path."""
    return (
        *("-M", machine.name, "-cpu", machine.cpu, *machine.options),
        *("-nodefaults", "-no-user-config", "-nic", "none", "-display", "none"),
        *("-no-reboot", "-icount", f"shift={request.icount_shift},sleep=off"),
        *("-chardev", "stdio,id=console,mux=on,signal=off", "-serial", "chardev:console"),
        # arg: else the firmware is told the path of its own file.
        *("-semihosting-config", "enable=on,target=native,chardev=console,arg=firmware"),
        *("-d", "int"),
    )


def _until(request: CaptureRequest) -> tuple[str, ...]:
    return () if request.until is None else (request.until.argument(),)


@contextlib.contextmanager
def _firmware(request: CaptureRequest) -> Iterator[tuple[str, int | None]]:
    """Path of the file that QEMU loads, and the descriptor that it is behind if it is a copy."""
    if not request.initial:
        yield os.path.abspath(request.firmware), None
        return
    copy = os.memfd_create("wcetchar-firmware", 0)
    try:
        with os.fdopen(os.dup(copy), "wb") as file:
            file.write(with_values(request.firmware, request.initial))
        yield f"/proc/self/fd/{copy}", copy
    finally:
        os.close(copy)


def _load(machine: CapturedMachine, path: str) -> tuple[str, str]:
    if machine.starts_at_entry:
        # With -kernel, QEMU's own code in ROM would run first, and then the first byte of RAM.
        return ("-device", "loader,cpu-num=0,file=" + path.replace(",", ",,"))
    return ("-kernel", path)


def _environment(emulator: str) -> dict[str, str]:
    """Of QEMU's process. The plugin finds out the version of QEMU's interface by itself, but 6
    and 7 have the same functions: 11.0 has 6 (docs/reference/trace-format.md)."""
    environment = {name: value for name, value in os.environ.items() if name != _API_VARIABLE}
    if emulator.startswith("QEMU 11.0."):
        environment[_API_VARIABLE] = "6"
    return environment


def _execute(
    command: list[str],
    plugin: list[str],
    emulator: str,
    request: CaptureRequest,
    files: tuple[IO[bytes], int | None],
    progress: Callable[[int], None] | None,
) -> str:
    """Run QEMU to its end; returns the firmware's output. ``files``: the trace, and what QEMU is
    handed beside it."""
    trace, handed = files
    log = os.memfd_create("wcetchar-interrupt-log", 0)
    try:
        settings = (
            *plugin,
            f"out={trace.fileno()}",
            f"log={log}",
            f"limit={request.max_instructions}",
            *request.filter.arguments(),
            *_until(request),
        )
        with tempfile.TemporaryFile() as console, tempfile.TemporaryFile() as messages:
            process = None
            try:
                with deferred_signals():
                    process = _start(
                        [
                            *command,
                            *("-D", f"/proc/self/fd/{log}"),
                            *("-plugin", ",".join(settings)),
                        ],
                        (console, messages),
                        (trace.fileno(), log, *(() if handed is None else (handed,))),
                        _environment(emulator),
                    )
                stopped = _wait(process, request, (trace, log), progress)
            finally:
                if process is not None and process.poll() is None:
                    process.kill()
                    process.wait()
            output, said = _tail(console, _CONSOLE_BYTES), _tail(messages, _MESSAGE_BYTES)
    finally:
        os.close(log)
    if stopped is not None:
        what, hint = stopped
        raise _failed(request, what, output, said, hint)
    if process.returncode:
        raise _not_loaded(command[0], emulator, said) or _explain(
            request, process.returncode, output, said
        )
    return output


def _start(
    command: list[str],
    streams: tuple[IO[bytes], IO[bytes]],
    inherited: tuple[int, ...],
    environment: dict[str, str],
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=streams[0],
            stderr=streams[1],
            pass_fds=inherited,
            env=environment,
        )
    except OSError as error:
        raise _not_run(command[0], error) from error


def _not_run(qemu: str, error: OSError) -> InputError:
    return InputError(
        f"the emulator cannot be run: {error.strerror}",
        where=Location(qemu),
        expected=_WANTED,
        hint="check --qemu, and that it is a program for this machine",
    )


def _wait(
    process: subprocess.Popen[bytes],
    request: CaptureRequest,
    files: tuple[IO[bytes], int],
    progress: Callable[[int], None] | None,
) -> tuple[str, str] | None:
    """Why it has to be stopped, and what to do about it; ``None`` when it ended by itself."""
    trace, log = files
    deadline = time.monotonic() + request.timeout
    while True:
        try:
            process.wait(_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            if time.monotonic() > deadline:
                return f"the firmware did not end within {request.timeout:g} s", _more(
                    request, "time"
                )
            if os.fstat(log).st_size > _LOG_BYTES:
                return (
                    "the firmware traps again and again and executes nothing in between",
                    "let the trap vector name a handler before anything can trap",
                )
            if progress is not None:
                progress(os.fstat(trace.fileno()).st_size)
        else:
            if progress is not None:
                progress(os.fstat(trace.fileno()).st_size)
            return None


def _more(request: CaptureRequest, what: str) -> str:
    if request.until is not None:
        return f"see whether {request.until.function} is called that often, or allow more {what}"
    return (
        "let it end by the semihosting call SYS_EXIT, say with --until in which function the run "
        f"ends, or allow it more {what}"
    )


def _tail(file: IO[bytes], size: int) -> str:
    file.seek(0, os.SEEK_END)
    file.seek(max(0, file.tell() - size))
    return file.read().decode("utf-8", errors="replace")


def _failed(request: CaptureRequest, what: str, output: str, said: str, hint: str) -> InputError:
    lines = []
    for name, text in (("QEMU said", said), ("the firmware's last output", output)):
        shown = [line for line in text.splitlines() if not line.endswith(_HARMLESS)][-20:]
        if shown:
            lines += [f"{name}:", *(f"  {line.expandtabs()}" for line in shown)]
    return InputError(
        what,
        where=Location(str(request.firmware)),
        expected="a firmware that ends by a semihosting exit call with status 0"
        if request.until is None
        else f"a run until {request.until}",
        hint=hint,
        details=tuple(lines),
    )


def _not_loaded(qemu: str, emulator: str, said: str) -> InputError | None:
    """The error where QEMU would not run the plugin; ``None`` where that is not the reason."""
    unknown = f"{_PLUGIN_SAYS}plugin API version "
    for line in said.splitlines():
        if found := _REFUSED.search(line):
            reason = found[1]
        elif line.startswith(unknown):
            reason = line.removeprefix(_PLUGIN_SAYS)
        elif found := NO_PLUGINS.search(line):
            return InputError(
                f"{emulator} has no plugins: {found[1] or found[2]}",
                where=Location(qemu),
                expected=_WANTED,
                hint="use a QEMU that was configured with --enable-plugins (Debian's are)",
            )
        else:
            continue
        own = os.environ.get(OVERRIDE)
        return InputError(
            f"{emulator} and the plugin do not fit: {reason}",
            where=Location(own or qemu),
            expected=_WANTED,
            hint=f"unset {OVERRIDE} to have the plugin built from its source"
            if own
            else "name another emulator with --qemu",
        )
    return None


def _explain(request: CaptureRequest, status: int, output: str, said: str) -> InputError:
    plugin_says = [
        line.removeprefix(_PLUGIN_SAYS)
        for line in said.splitlines()
        if line.startswith(_PLUGIN_SAYS)
    ]
    if plugin_says and plugin_says[-1].startswith("limit: "):
        return _failed(
            request,
            f"the firmware did not end: {plugin_says[-1].removeprefix('limit: ')}",
            output,
            "",
            _more(request, "instructions"),
        )
    if plugin_says and plugin_says[-1].startswith(_NO_ROOM):
        return unwritable(request.output, plugin_says[-1].removeprefix(_NO_ROOM))
    if plugin_says:
        return _failed(
            request,
            f"the capture stopped: {plugin_says[-1]}",
            output,
            said,
            "the trace would not be exact, so nothing was written",
        )
    if status < 0:
        return _failed(
            request,
            f"QEMU was ended by signal {-status}",
            output,
            said,
            "look at QEMU's message: a fault within a fault handler ends in lockup",
        )
    return _failed(
        request,
        f"QEMU or the firmware ended with status {status}",
        output,
        said,
        "run the firmware under the same QEMU by hand to see why",
    )


def _check_end(part: Path, request: CaptureRequest) -> trace_file.EndRecord:
    with open(part, "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - trace_file.END_BYTES))
        end = trace_file.end_record(file.read())
    if end is None:
        raise _failed(
            request, "QEMU ended, but the trace has no end record", "", "", "run it again"
        )
    if request.until is not None and end.ended == trace_file.BY_FIRMWARE:
        raise _failed(
            request,
            f"the firmware ended before {request.until}",
            "",
            "",
            "name a function that is entered before, or fewer times; or leave --until out",
        )
    if end.ended != (trace_file.BY_FIRMWARE if request.until is None else trace_file.WHERE_TOLD):
        raise _failed(
            request,
            "the machine stopped without the firmware's exit call: it was reset or shut down",
            "",
            "",
            "look for a fault handler or a watchdog that resets the chip",
        )
    return end
