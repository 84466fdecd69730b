"""``wcetchar characterize`` given what is no trace, half a trace, or the trace of another image."""

from __future__ import annotations

import importlib
import os
import struct
import subprocess
import zlib
from pathlib import Path

import bad_input
import pytest
from bad_input import PROGRAM, SERVICES, captured, files, linked, process, refused, run, write
from click.testing import Result

FORMATS = (
    "wcetchar",
    "execlog",
    "execlog-7.2",
    "execlog-8.2",
    "qemu-log",
    "renode-text",
    "renode-pc",
    "renode-opcode",
    "renode-binary",
)


def png() -> bytes:
    def chunk(tag: bytes, data: bytes) -> bytes:
        body = tag + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(b"\0\0"))
    return b"\x89PNG\r\n\x1a\n" + header + pixels + chunk(b"IEND", b"")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("s.yaml", SERVICES)


def characterize(*runs: str | Path, firmware: Path | None = None) -> Result:
    """Into ``out.json``, which holds something older."""
    write("out.json", "older")
    elf = firmware or linked()
    result = run("characterize", elf, *runs, "--services", "s.yaml", "-o", "out.json")
    if result.exit_code:
        assert Path("out.json").read_text() == "older"
        assert not [name for name in files(Path()) if "out.json" in name and name != "out.json"]
    return result


def test_the_good_inputs_are_good() -> None:
    result = characterize(captured(linked()))
    assert result.exit_code == 0, result.stderr
    assert "service" in result.stdout
    assert '"repetition"' in Path("out.json").read_text()


def test_a_truncated_trace() -> None:
    whole = captured(linked()).read_bytes()
    for size in (8, 15, 16, 20, 100, len(whole) // 2, len(whole) - 73, len(whole) - 1):
        write("cut", whole[:size])
        refused(characterize("cut"), 3, "cut: the trace is truncated", "capture it again")
    for size in (0, 1, 7):
        write("cut", whole[:size])
        refused(characterize("cut"), 3, "cut: ")


def test_a_damaged_trace() -> None:
    whole = captured(linked()).read_bytes()
    for place in (30, len(whole) // 2, len(whole) - 5):
        write("damaged", whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        refused(characterize("damaged"), 3, "damaged: ")
    write("two", whole + whole)
    refused(characterize("two"), 3, "two: something follows the end record")


def test_one_bad_trace_among_good_ones() -> None:
    good = captured(linked())
    write("cut", good.read_bytes()[:-1])
    refused(characterize(good, "cut", good), 3, "cut: the trace is truncated")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (png(), "no trace format fits"),
        (b"hello\n", "no trace format fits"),
        (b"\0" * 100_000, "no trace format fits"),
        (SERVICES.encode(), "no trace format fits"),
    ],
)
def test_foreign_files(content: bytes, said: str) -> None:
    write("file", content)
    error = refused(characterize("file"), 3, f"file: {said}", "--trace-format")
    assert all(name in error for name in FORMATS)


def test_an_empty_file_is_of_no_format_whatever_it_is_called() -> None:
    write("file", b"")
    error = refused(characterize("file"), 3, "file: the file is empty", "capture it again")
    assert "--trace-format" not in error


@pytest.mark.parametrize("verb", ["characterize", "check", "export", "validate"])
def test_what_the_message_names_is_an_option_of_every_verb_that_reads_traces(verb: str) -> None:
    """Where ``--format`` is of the output, too."""
    command = importlib.import_module(f"wcetchar.cli.{verb}").command
    options = {word for option in command.params for word in option.opts}
    assert {"--trace-format", "--machine"} <= options


@pytest.mark.parametrize("name", FORMATS)
def test_foreign_files_in_the_name_of_a_format(name: str) -> None:
    for content in (png(), b"hello\n", b"\0" * 1000):
        write("file", content)
        write("out.json", "older")
        result = run(
            *("characterize", linked(), "file", "--services", "s.yaml", "-o", "out.json"),
            *("--format", name, "--machine", "mps2-an385"),
        )
        refused(result, 3, "file:")
        assert Path("out.json").read_text() == "older"


def test_text_traces_are_refused_by_line() -> None:
    write("out.json", "older")
    options = ("--services", "s.yaml", "-o", "out.json", "--format", "execlog-8.2")
    good = '0, 0x20, 0x6a03, "ldr r3, [r0, #0x20]", load, 0x20000000, RAM\n'
    for bad, said in (
        ("0, 0x22, oops\n", "log:9001:"),
        ('0, 0x22, 0x6a03, "ldr r3", load\n', "log:9001:"),
        (good[:-6], f"log:9001:{len(good) - 5}: the last line is cut off"),
    ):
        write("log", good * 9000 + bad)
        refused(run("characterize", linked(), "log", *options), 3, said)
        assert Path("out.json").read_text() == "older"


def test_what_cannot_be_read() -> None:
    Path("folder").mkdir()
    refused(characterize("folder"), 3, "folder: this is no file")
    refused(characterize("missing"), 3, "missing: the trace cannot be read: No such file")
    refused(characterize("x" * 300), 3, "the trace cannot be read: File name too long")
    os.mkfifo("pipe")
    refused(characterize("pipe"), 3, "pipe: this is no file", "write it to a file first")
    refused(characterize("/dev/zero"), 3, "/dev/zero: this is no file")


def test_a_file_without_permission() -> None:
    folder = bad_input.workshop()
    for name in ("secret", "s.yaml", "secret.elf", "secret.yaml"):
        write(folder / name, SERVICES)
    for name in ("secret", "secret.elf", "secret.yaml"):
        (folder / name).chmod(0)

    def nobody(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*bad_input.unprivileged(), *PROGRAM, *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
        )

    if "Permission" in nobody("--version").stderr:
        pytest.skip("the interpreter is out of reach of an unprivileged user")
    linked().parent.chmod(0o755)
    elf = str(linked())
    places = ("--services", "s.yaml", "-o", "/tmp/wcetchar-never-written.json")
    refused(nobody("characterize", elf, "secret", *places), 3, "secret: ", "Permission denied")
    refused(
        nobody("characterize", "secret.elf", "secret", *places),
        3,
        "secret.elf: cannot be read: Permission denied",
    )
    refused(
        nobody("characterize", elf, "secret", "--services", "secret.yaml", "-o", places[-1]),
        3,
        "secret.yaml: cannot be read: Permission denied",
    )
    refused(
        nobody("demo", "-o", str(folder / "out.txt")), 3, "out.txt: cannot be written: permission"
    )


def test_a_trace_of_another_image() -> None:
    other = linked(bad_input.SOURCE.replace("adds r2, #1 ", "adds r2, #2 "))
    trace = captured(linked())
    error = refused(characterize(trace, firmware=other), 3, str(trace), "another image")
    assert "capture the firmware as it is now" in error


def test_a_machine_that_the_trace_was_not_made_on() -> None:
    write("out.json", "older")
    result = run(
        *("characterize", linked(), captured(linked()), "--services", "s.yaml"),
        *("-o", "out.json", "--machine", "z80"),
    )
    refused(result, 3, "not on z80")


def test_an_unknown_format_is_a_matter_of_usage() -> None:
    result = run(
        "characterize", "a.elf", "run", "--services", "s.yaml", "-o", "o", "--format", "vcd"
    )
    refused(result, 2, "vcd", *FORMATS)


def test_the_program_ends_with_the_same_status() -> None:
    write("cut", captured(linked()).read_bytes()[:-1])
    write("out.json", "older")
    arguments = ("characterize", linked(), "cut", "--services", "s.yaml", "-o", "out.json")
    for json in ((), ("--json",)):
        refused(process(*arguments, *json), 3, "cut: the trace is truncated")
    assert files(Path()) == {"cut", "out.json", "s.yaml"}
    assert Path("out.json").read_text() == "older"
