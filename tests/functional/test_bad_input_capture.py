"""``wcetchar capture`` where the machine, the tools or the firmware fail, and interrupted runs."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bad_input import (
    FOREVER,
    PROGRAM,
    SERVICES,
    SOURCE,
    captured,
    files,
    linked,
    need,
    own_cache,
    process,
    refused,
    run,
    write,
)
from click.testing import Result

FAILS = SOURCE.replace(" bl service\n", " udf #0\n").replace(
    "fault, skip, fault", "fault, fault, fault"
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_cache(monkeypatch)
    monkeypatch.chdir(tmp_path)
    write("out.trace", "older")


def capture(firmware: Path, *options: str, output: str = "out.trace") -> Result:
    """A capture that must fail and leave the older trace and nothing else."""
    before = files(Path())
    result = run("capture", firmware, "--machine", "mps2-an385", "-o", output, *options)
    assert files(Path()) == before
    assert Path("out.trace").read_text() == "older"
    return result


def test_firmware_that_never_ends() -> None:
    captured(linked())  # the plugin is built
    error = refused(capture(linked(FOREVER), "--timeout", "0.5"), 3, "did not end within 0.5 s")
    assert "SYS_EXIT" in error
    assert "red \\x1b[31m <script>" in error  # its last words, harmless


def test_firmware_that_fails() -> None:
    error = refused(capture(linked(FAILS)), 3, "ended with status 1")
    assert error.startswith(str(linked(FAILS)))


def test_firmware_that_writes_to_the_terminal() -> None:
    ends = FOREVER.replace("1: b 1b", " movs r0, #0x18\n ldr r1, =0x20026\n bkpt 0xab")
    result = run("capture", linked(ends), "--machine", "mps2-an385", "-o", "out.trace")
    assert result.exit_code == 0
    assert result.stderr == "red \\x1b[31m <script>\n"
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("options", [("--machine", "z80"), ("--machine",), ()])
def test_machines_are_listed(options: tuple[str, ...]) -> None:
    result = run("capture", "firmware.elf", "-o", "out.trace", *options)
    error = refused(result, 2, "mps2-an385", "cortex-m3")
    assert ("z80" in error) == ("z80" in options)


@pytest.mark.parametrize(
    ("until", "code", "said"),
    [
        ("", 2, "this is no end of a run"),
        ("reset:", 2, "FUNCTION:TIMES"),
        ("reset:0", 2, "from 1 on"),
        ("reset:-1", 2, "from 1 on"),
        ("reset:1:1", 2, "from 1 on"),
        ("rest", 3, "no symbol 'rest'"),
        ("wcet_mark", 3, "is no function"),
    ],
)
def test_ends_of_a_run_that_are_none(until: str, code: int, said: str) -> None:
    refused(capture(linked(), "--until", until), code, "--until", said)


def test_a_run_that_ends_nowhere_else() -> None:
    """Firmware that never ends, up to its third loop."""
    loops = FOREVER.replace("1: b 1b", " .global again\n .thumb_func\nagain: b again")
    options = ("--machine", "mps2-an385", "-o", "out.trace", "--until", "again:3")
    result = run("capture", linked(loops), *options)
    assert result.exit_code == 0, result.output
    assert result.stderr == "red \\x1b[31m <script>\n"


@pytest.mark.parametrize("seconds", ["nan", "-1", "0", "soon", "-inf"])
def test_times_that_are_none(seconds: str) -> None:
    refused(capture(linked(), "--timeout", seconds), 2, "--timeout")


def test_no_emulator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    elf = linked()
    refused(capture(elf, "--qemu", "qemu-none"), 3, "qemu-none is not installed", "apt-get install")
    refused(capture(elf, "--qemu", sys.executable), 3, "does not look like QEMU", "--qemu")
    monkeypatch.setenv("PATH", "")
    error = refused(capture(elf), 3, "the emulator qemu-system-arm is not installed")
    assert "next: apt-get install qemu-system-arm" in error


@contextlib.contextmanager
def only(monkeypatch: pytest.MonkeyPatch, folder: Path, *programs: str) -> Iterator[None]:
    """PATH holds nothing but some programs."""
    folder.mkdir()
    for program in programs:
        found = shutil.which(program)
        if found is None:
            pytest.skip(f"{program} is not installed")
        (folder / program).symlink_to(found)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(folder))
        yield


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    elf = linked()
    with only(monkeypatch, tmp_path / "bin", "qemu-system-arm"):
        error = refused(capture(elf), 3, "there is no C compiler")
    assert "next: apt-get install gcc libc6-dev" in error


def test_a_compiler_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    elf = linked()
    with only(monkeypatch, tmp_path / "bin", "qemu-system-arm", "sh"):
        cc = write(tmp_path / "bin" / "cc", "#!/bin/sh\necho 'no \033[31mheaders' >&2\nexit 1\n")
        cc.chmod(0o755)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "bin" / "cache"))
        error = refused(capture(elf), 3, "the QEMU plugin does not compile", "libc6-dev")
    assert "no \\x1b[31mheaders" in error
    assert not list((tmp_path / "bin" / "cache").rglob("*.so"))


def test_no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    need("qemu-system-arm", "cc")
    elf = linked()
    write("file", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    refused(capture(elf), 3, "the QEMU plugin cannot be built", "set XDG_CACHE_HOME")
    monkeypatch.setenv("WCETCHAR_PLUGIN", "/nowhere.so")
    refused(capture(elf), 3, "/nowhere.so: $WCETCHAR_PLUGIN names no file")
    monkeypatch.setenv("WCETCHAR_PLUGIN", str(elf))
    refused(capture(elf), 3, "QEMU")


def test_outputs_that_cannot_be_written(tmp_path: Path) -> None:
    elf = linked()
    refused(capture(elf, output="nowhere/run"), 3, "nowhere/run: cannot be written")
    Path("folder").mkdir()
    refused(capture(elf, output="folder"), 3, "folder: is a folder")
    os.mkfifo("pipe")
    refused(capture(elf, output="pipe"), 3, "pipe: the trace cannot be written", "a device")
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)  # no file took its place
    refused(capture(elf, output="/proc/run"), 3, "/proc/run: ")


def test_an_output_that_is_an_input() -> None:
    elf = write("firmware.elf", linked().read_bytes())
    write("s.yaml", SERVICES)
    os.symlink("firmware.elf", "link.elf")
    for output in ("firmware.elf", "./firmware.elf", "link.elf"):
        refused(capture(elf, output=output), 2, "is also an input")
    refused(capture(elf, "--marked", "s.yaml", output="s.yaml"), 2, "s.yaml is also an input")
    assert elf.read_bytes() == linked().read_bytes()


def test_a_full_disk() -> None:
    """A limit on the size of files stands for it: writing fails in the same place."""

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, 1 << 12))

    captured(linked())
    command = ("capture", linked(), "--machine", "mps2-an385", "-o", "out.trace")
    refused(process(*command, preexec_fn=small), 3)
    assert Path("out.trace").read_text() == "older"
    assert files(Path()) == {"out.trace"}


def test_closed_standard_streams() -> None:
    """The numbers of closed streams are not given to the trace, which QEMU's output would spoil.
    What cannot be printed afterwards is an error; the trace is whole all the same."""
    words = [*PROGRAM, "capture", str(linked()), "--machine", "mps2-an385", "-o", "out.trace"]
    good = captured(linked()).read_bytes()
    for closed in (">&-", "2>&-", "<&-", "<&- >&- 2>&-"):
        shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *words]
        result = subprocess.run(shell, capture_output=True, check=False)
        assert result.returncode == (3 if " >&-" in f" {closed}" else 0), result
        assert Path("out.trace").read_bytes() == good
        write("out.trace", "older")


def started(firmware: Path) -> tuple[subprocess.Popen[str], Path]:
    """A capture that never ends, once its trace grows."""
    words = ["capture", str(firmware), "--machine", "mps2-an385", "-o", "out.trace"]
    child = subprocess.Popen(
        [*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and child.poll() is None:
        parts = list(Path().glob(".out.trace.*.part"))
        if parts and parts[0].stat().st_size > 1 << 16:
            return child, parts[0]
        time.sleep(0.02)
    child.kill()
    raise AssertionError(child.communicate())


def emulators(parent: int) -> list[int]:
    listing = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(pid) for pid in listing]


def gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if not any(Path(f"/proc/{pid}/exe").exists() for pid in pids):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(
    ("number", "status", "said"), [(signal.SIGINT, 130, "interrupted\n"), (signal.SIGTERM, 143, "")]
)
def test_an_ended_capture(number: int, status: int, said: str) -> None:
    captured(linked())
    child, _ = started(linked(FOREVER))
    running = emulators(child.pid)
    assert running
    child.send_signal(number)
    out, error = child.communicate(timeout=60)
    assert (child.returncode, out, error) == (status, "", said)
    assert gone(running)
    assert files(Path()) == {"out.trace"}
    assert Path("out.trace").read_text() == "older"


def test_a_killed_capture_is_cleaned_up_by_the_next() -> None:
    captured(linked())
    child, part = started(linked(FOREVER))
    running = emulators(child.pid)
    # Somebody else's capture to the same place, and files that only look like a part.
    other, other_part = started_beside(part)
    for name in (".out.trace.part", ".out.trace.x.part", ".other.trace.1.part"):
        write(name, "mine")
    child.kill()
    child.communicate(timeout=60)
    assert gone(running)
    assert part.exists()
    assert Path("out.trace").read_text() == "older"
    try:
        result = run("capture", linked(), "--machine", "mps2-an385", "-o", "out.trace")
        assert result.exit_code == 0, result.stderr
        assert not part.exists()
        assert other_part.exists()
        assert other.poll() is None
    finally:
        other.send_signal(signal.SIGINT)
        other.communicate(timeout=60)
    assert files(Path()) == {
        *("out.trace", ".out.trace.part", ".out.trace.x.part", ".other.trace.1.part")
    }
    assert Path("out.trace").read_bytes() == captured(linked()).read_bytes()


def started_beside(first: Path) -> tuple[subprocess.Popen[str], Path]:
    hidden = first.rename("aside")  # so that started() sees the new one
    child, part = started(linked(FOREVER))
    hidden.rename(first)
    return child, part
