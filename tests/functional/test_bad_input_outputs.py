"""Outputs that cannot be written, readers that go away, and runs that are interrupted."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest
from bad_input import (
    CHARACTERIZATION,
    FOREVER,
    MAP,
    PROFILE,
    PROGRAM,
    SERVICES,
    captured,
    files,
    linked,
    own_cache,
    process,
    refused,
    run,
    write,
)

ESTIMATE = ("estimate", "k.json", "--profile", "p.yaml", "--map", "m.yaml")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_cache(monkeypatch)
    monkeypatch.chdir(tmp_path)
    write("k.json", CHARACTERIZATION)
    write("p.yaml", PROFILE)
    write("m.yaml", MAP)
    write("s.yaml", SERVICES)
    write("out", "older")


def characterize(*options: str | Path) -> tuple[str | Path, ...]:
    return ("characterize", linked(), captured(linked()), "--services", "s.yaml", *options)


def test_folders_and_missing_folders() -> None:
    Path("folder").mkdir()
    before = files(Path())
    for verb in (ESTIMATE, ("demo",), characterize()):
        refused(run(*verb, "-o", "nowhere/out"), 3, "nowhere/out: cannot be written", "create the")
        refused(run(*verb, "-o", "out/out"), 3, "out/out: cannot be written")
        refused(run(*verb, "-o", "folder"), 3, "folder: is a folder, not a file")
        refused(run(*verb, "-o", ""), 3, "empty name")
        assert files(Path()) == before
    assert files(Path("folder")) == set()


def test_the_output_is_checked_before_the_work() -> None:
    """A characterization can take minutes; a wrong folder shows before it begins."""
    result = run("characterize", "no.elf", "no.trace", "--services", "no.yaml", "-o", "no/out")
    error = refused(result, 3, "no/out: cannot be written")
    assert "no.elf" not in error


def test_outputs_that_are_inputs() -> None:
    trace = captured(linked())
    content = trace.read_bytes()
    os.symlink("k.json", "link")
    for output in ("k.json", "./k.json", "p.yaml", "m.yaml", "link", str(Path("k.json").resolve())):
        refused(run(*ESTIMATE, "-o", output), 2, f"the output {output} is also an input")
    for output in (trace, linked(), "s.yaml"):
        refused(run(*characterize("-o", output)), 2, "is also an input")
    assert Path("k.json").read_text() == CHARACTERIZATION
    assert trace.read_bytes() == content
    assert Path("s.yaml").read_text() == SERVICES


def test_a_full_disk() -> None:
    for output in ("/dev/full",):
        refused(run(*ESTIMATE, "-o", output), 3, "/dev/full: cannot be written: No space left")
        refused(run(*characterize("-o", output)), 3, "/dev/full: cannot be written: No space left")
    with open("/dev/full", "w") as full:
        for verb in ((*ESTIMATE, "--json"), ("--help",)):
            result = process(*verb, stdout=full, stderr=subprocess.PIPE)
            assert result.returncode == 3
            assert result.stderr == "standard output cannot be written: No space left on device\n"
        result = process("estimate", "no", "--profile", "x", stdout=subprocess.PIPE, stderr=full)
        assert (result.returncode, result.stdout) == (3, "")


def test_a_full_disk_while_writing() -> None:
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    before = files(Path())
    refused(process(*ESTIMATE, "-o", "out", preexec_fn=small), 3, "out: cannot be written")
    assert Path("out").read_text() == "older"
    assert files(Path()) == before


def test_a_disk_that_fills_up(tmp_path: Path) -> None:
    """A file system of 64 KiB in a name space of its own, where the system lets us have one."""
    linked_forever = str(linked(FOREVER))
    captured(linked())  # the plugin is built outside of it
    Path("small").mkdir()
    script = (
        "mount -t tmpfs -o size=64k tmpfs small || exit 99\n"
        'echo older >small/run; "$@" capture "$FIRMWARE" --machine mps2-an385 -o small/run\n'
        "echo status $?; cat small/run; ls -A small | wc -l\n"
    )
    result = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", *PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "FIRMWARE": linked_forever},
    )
    if result.returncode in (1, 99):
        pytest.skip("there are no name spaces for ordinary users here")
    assert result.stdout.split() == ["status", "3", "older", "1"]
    assert "small/run: the trace cannot be written: No space left on device" in result.stderr


def test_standard_output_is_closed() -> None:
    shell = ["sh", "-c", 'exec "$@" >&-', "sh", *PROGRAM, *ESTIMATE]
    result = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert result.returncode == 3
    assert result.stderr == "standard output cannot be written: it is closed\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_broken_pipe(unbuffered: str) -> None:
    # More than a pipe holds, so that the writer is still at it when the reader goes.
    many = ESTIMATE[2:4] * 300 + ESTIMATE[4:]
    child = subprocess.Popen(
        [*PROGRAM, "estimate", "k.json", *many, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    assert child.stdout is not None
    assert child.stderr is not None
    assert child.stdout.read(1) == b"{"
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait(60) == 141  # 128 + SIGPIPE, as for any other program


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_result_that_only_a_part_of_fits(unbuffered: str) -> None:
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    with open("part", "w") as part:
        result = process(
            *(*ESTIMATE, "--json"),
            stdout=part,
            stderr=subprocess.PIPE,
            preexec_fn=small,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert result.returncode == 3
    assert result.stderr == "standard output cannot be written: File too large\n"


def long_characterization() -> subprocess.Popen[str]:
    """One that reads the same trace many times, once it has begun to."""
    trace = captured(linked())
    words = ["characterize", str(linked()), *[str(trace)] * 20_000, "--services", "s.yaml"]
    child = subprocess.Popen(
        [*PROGRAM, *words, "-o", "out"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and child.poll() is None:
        for descriptor in Path(f"/proc/{child.pid}/fd").iterdir():
            try:
                if os.readlink(descriptor) == str(trace):
                    return child
            except OSError:
                continue
    child.kill()
    raise AssertionError(child.communicate())


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [
        (signal.SIGINT, 130, "interrupted\n"),
        (signal.SIGTERM, 143, ""),
        (signal.SIGHUP, 129, ""),
        (signal.SIGKILL, -signal.SIGKILL, ""),
    ],
)
def test_an_ended_characterization(number: int, status: int, said: str) -> None:
    before = files(Path())
    child = long_characterization()
    child.send_signal(number)
    out, error = child.communicate(timeout=60)
    assert (child.returncode, out, error) == (status, "", said)
    assert Path("out").read_text() == "older"
    assert files(Path()) == before


def test_whoever_ignores_a_hangup_is_not_hung_up() -> None:
    child = subprocess.run(
        ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", *PROGRAM, "demo", "--json"],
        capture_output=True,
        check=False,
    )
    assert child.returncode == 0
