"""What a run leaves behind: the same bytes each time, or a plain error and the old file."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from wcetchar.capture import CaptureRequest, find_machine, run
from wcetchar.errors import InputError, ToolMissing, UsageError
from wcetchar.readers.stream import StreamReader

HELLO = """
 function reset
 ldr r1, =text
 movs r0, #4
 bkpt 0xab
 ldr r0, =0x40004000
 movs r1, #1
 str r1, [r0, #8]
 movs r1, #'U'
 str r1, [r0]
 b finish
text: .asciz "hello\\n"
 .balign 4
"""
FOREVER = """
 function reset
 b .
"""
STATUS = """
 function reset
 movs r0, #4
 ldr r1, =text
 bkpt 0xab
 movs r0, #0x20
 ldr r1, =block
 bkpt 0xab
block: .word 0x20026, 7
text: .asciz "about to fail\\n"
 .balign 4
"""
RESET = """
 function reset
 ldr r0, =0xE000ED0C
 ldr r1, =0x05FA0004
 str r1, [r0]
 b .
"""
LOCKUP = """
 function reset
 udf #0
 function hard
 udf #1
"""


def fails(request: CaptureRequest, match: str) -> InputError:
    """The run fails with that message, and leaves the old output and nothing else."""
    request.output.write_bytes(b"the old trace")
    with pytest.raises(InputError, match=match) as caught:
        run(request)
    assert request.output.read_bytes() == b"the old trace"
    assert os.listdir(request.output.parent) == [request.output.name]
    assert caught.value.exit_code == 3
    assert caught.value.where is not None
    return caught.value


def test_two_runs_in_different_folders_give_the_same_bytes(qemu, request_for, tmp_path):
    traces = []
    for name in ("first-place", "second,with=signs"):
        (tmp_path / name).mkdir()
        request = request_for(HELLO)
        firmware = tmp_path / name / f"{name}.elf"
        firmware.write_bytes(request.firmware.read_bytes())
        result = run(
            CaptureRequest(firmware, request.image_sha256, tmp_path / name / f"{name}.wct")
        )
        assert result.console == "hello\nU"
        traces.append(result.output.read_bytes())
        assert str(tmp_path).encode() not in traces[-1]
        assert name.encode() not in traces[-1]
    assert traces[0] == traces[1]


def test_header_says_where_it_came_from(qemu, request_for):
    result = run(request_for(HELLO, icount_shift=3))
    data = result.output.read_bytes()
    size = int.from_bytes(data[20:24], "little")
    header = json.loads(data[24 : 24 + size])
    said = subprocess.run([qemu, "--version"], capture_output=True, text=True, check=True).stdout
    assert header["emulator"].removeprefix("QEMU ") in said.splitlines()[0]
    assert header["image_sha256"] == "5a" * 32
    assert header["machine"] == "mps2-an385"
    assert "shift=3,sleep=off" in header["arguments"]
    assert set(header) == {"emulator", "image_sha256", "machine", "arguments"}
    assert stat.S_IMODE(result.output.stat().st_mode) & 0o600 == 0o600


def test_progress_tells_bytes(qemu, request_for):
    seen: list[int] = []
    result = run(request_for(HELLO), seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == result.size


def test_firmware_that_never_ends(qemu, request_for):
    error = fails(request_for(FOREVER, max_instructions=100_000), "did not end: 100000 instr")
    assert "SYS_EXIT" in (error.hint or "")
    fails(request_for(FOREVER, timeout=0.5), r"did not end within 0\.5 s")


def test_firmware_that_fails_is_shown_with_its_output(qemu, request_for):
    error = fails(request_for(STATUS), "ended with status 7")
    assert "about to fail" in str(error)


def test_a_reset_is_no_end(qemu, request_for):
    fails(request_for(RESET), "reset or shut down")


def test_lockup(qemu, request_for):
    error = fails(request_for(LOCKUP), "signal 6")
    assert "Lockup" in str(error)


def test_not_a_firmware(qemu, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    text = tmp_path / "in" / "text.elf"
    text.write_text("no ELF")
    fails(CaptureRequest(text, "00", tmp_path / "out" / "run.wct"), "no ELF file of 32 bits")
    fails(
        CaptureRequest(tmp_path / "in" / "absent", "00", tmp_path / "out" / "run.wct"),
        "cannot be read",
    )


def test_output_folder_that_is_not_there(qemu, request_for, tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        run(request_for(HELLO, output=tmp_path / "no" / "run.wct"))


def test_missing_emulator_says_what_to_install(request_for):
    with pytest.raises(ToolMissing) as caught:
        run(request_for(HELLO, qemu="qemu-system-none"))
    assert "apt-get install qemu-system-arm" in str(caught.value)


def test_a_program_that_is_no_emulator(request_for):
    with pytest.raises(InputError, match="does not look like QEMU"):
        run(request_for(HELLO, qemu=sys.executable))


def test_unknown_machine():
    with pytest.raises(UsageError, match="no machine 'z80'"):
        find_machine("z80")


def test_ram_blocks_are_those_of_the_monitor(qemu):
    machine = find_machine("mps2-an385")
    command = [qemu, "-M", machine.name, "-nodefaults", "-nic", "none", "-display", "none", "-S"]
    said = subprocess.run(
        [*command, "-monitor", "stdio"],
        input="info ramblock\ninfo mtree -f\nquit\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    ).stdout.replace("\r", "")
    for block in machine.blocks:
        [row] = [line.split() for line in said.splitlines() if line.split()[:1] == [block.name]]
        assert int(row[3], 16) == block.offset
        for start, end in block.ranges:
            assert f"{start:016x}-{end - 1:016x} (prio 0, ram): {block.name}\n" in said


def test_killed_capture_leaves_no_emulator_and_the_old_file(qemu, request_for, tmp_path):
    request = request_for(FOREVER)
    request.output.write_bytes(b"the old trace")
    source = (
        "import sys; from pathlib import Path\n"
        "from wcetchar.capture import *\n"
        "run(CaptureRequest(Path(sys.argv[1]), '00', Path(sys.argv[2])))\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", source, str(request.firmware), str(request.output)]
    )
    deadline = time.monotonic() + 30
    while not (running := emulators_of(child.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running
    # Once the trace grows, the plugin is loaded and the emulator bound to its parent.
    [part] = wait_for_part(tmp_path, deadline)
    while part.stat().st_size < 1 << 16 and time.monotonic() < deadline:
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    child.wait()
    while any(Path(f"/proc/{pid}").exists() for pid in running) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in running)
    assert request.output.read_bytes() == b"the old trace"


def emulators_of(parent: int) -> list[int]:
    listing = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    found = []
    for pid in listing:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"-plugin" in command:
            found.append(int(pid))
    return found


def wait_for_part(folder: Path, deadline: float) -> list[Path]:
    while time.monotonic() < deadline:
        if found := list(folder.glob(".run.wct.*.part")):
            return found
        time.sleep(0.05)
    return []


def failure(request: CaptureRequest) -> str:
    with pytest.raises(InputError) as caught:
        run(request)
    assert not request.output.exists()
    return str(caught.value)


def test_a_plugin_that_qemu_refuses(qemu, request_for, tmp_path, monkeypatch):
    source, plugin = tmp_path / "p.c", tmp_path / "p.so"
    source.write_text(
        "int qemu_plugin_version = 99;\nint qemu_plugin_install(void) { return 0; }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", plugin, source], check=True)
    monkeypatch.setenv("WCETCHAR_PLUGIN", str(plugin))
    message = failure(request_for(HELLO, qemu=qemu))
    assert message.startswith(f"{plugin}: QEMU ")
    assert "the plugin do not fit: plugin requires API version 99, but this QEMU" in message
    assert "next: unset WCETCHAR_PLUGIN" in message


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (
            "Could not load plugin /a/b.so: plugin requires API version 7, but this QEMU supports"
            " only a minimum version of 8",
            "and the plugin do not fit: plugin requires API version 7, but this QEMU supports only"
            " a minimum version of 8",
        ),
        (
            "wcetchar-plugin: plugin API version 8; known are 1 to 7",
            "and the plugin do not fit: plugin API version 8; known are 1 to 7",
        ),
        ("qemu-system-arm: -plugin: invalid option", "has no plugins: invalid option"),
        (
            "qemu-system-arm: plugin interface not available or disabled",
            "has no plugins: qemu-system-arm: plugin interface not available or disabled",
        ),
    ],
)
def test_an_emulator_that_does_not_take_the_plugin(qemu, request_for, tmp_path, said, found):
    program = tmp_path / "qemu"
    program.write_text(
        "#!/bin/sh\n"
        '[ "$1" = --version ] && exec echo "QEMU emulator version 12.0.0 (Some)"\n'
        f"echo '{said}' >&2\nexit 1\n"
    )
    program.chmod(0o755)
    message = failure(request_for(HELLO, qemu=str(program)))
    assert message.startswith(f"{program}: QEMU 12.0.0 (Some) {found}\n")
    assert "QEMU 7.2 to 11.1" in message
    assert "--qemu" in message or "--enable-plugins" in message


@pytest.mark.parametrize(
    ("version", "stated"), [("11.0.2", "6"), ("11.1.0", "not"), ("10.2.1", "not"), ("7.2.0", "not")]
)
def test_qemu_11_0_is_told_apart_from_11_1(
    qemu, request_for, tmp_path, monkeypatch, version, stated
):
    monkeypatch.setenv("WCETCHAR_PLUGIN_API", "5")  # somebody else's is not taken
    program = tmp_path / "qemu"
    program.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = --version ] && exec echo "QEMU emulator version {version} (Some)"\n'
        'echo "API ${WCETCHAR_PLUGIN_API-not} stated" >&2\nexit 1\n'
    )
    program.chmod(0o755)
    assert f"API {stated} stated" in failure(request_for(HELLO, qemu=str(program)))


@pytest.mark.parametrize(
    ("machine", "core"), [("mps2-an385", "m"), ("virt", "riscv"), ("versatilepb", "armv4t")]
)
def test_another_qemu_records_the_same_events(
    machine, core, assemble, riscv_assemble, armv4t_assemble, tmp_path
):
    """One plugin object serves all; the environment names a second emulator (QEMU 10, say)."""
    import test_capture_armv4t
    import test_capture_counts
    import test_capture_exceptions
    import test_capture_riscv_counts
    import test_capture_riscv_traps

    other = other_qemu(find_machine(machine).qemu)
    assembler, sources = {
        "m": (
            assemble,
            (
                test_capture_counts.ACCESSES.replace("=0x20000000", "=0x20000100"),
                test_capture_counts.LOOP,
                test_capture_exceptions.NESTED,
                test_capture_exceptions.FAULT,
                test_capture_exceptions.SLEEP,
            ),
        ),
        "riscv": (
            riscv_assemble,
            (
                test_capture_riscv_counts.ACCESSES,
                test_capture_riscv_traps.NESTED,
                test_capture_riscv_traps.SLEEP,
            ),
        ),
        "armv4t": (armv4t_assemble, (test_capture_armv4t.NESTED,)),
    }[core]
    for source in sources:
        events = []
        for program in (None, other):
            request = CaptureRequest(
                assembler(source).path,
                "5a" * 32,
                tmp_path / "run.wct",
                machine=machine,
                qemu=program,
                timeout=60,
            )
            # The order of definitions is that of translation, in which the versions differ.
            events.append(events_of(run(request).output))
        assert events[0] == events[1]


def events_of(path: Path) -> list[tuple[int, int, int]]:
    return [
        event
        for batch in StreamReader().open(str(path)).batches()
        for event in zip(
            batch.kind.tolist(), batch.address.tolist(), batch.size.tolist(), strict=True
        )
    ]


def other_qemu(name: str) -> str:
    """The emulator of that name beside the one that ``$WCETCHAR_OTHER_QEMU`` names."""
    named = os.environ.get("WCETCHAR_OTHER_QEMU")
    if not named:
        pytest.skip("WCETCHAR_OTHER_QEMU names no second emulator")
    found = shutil.which(str(Path(named).with_name(name)))
    if found is None:
        pytest.skip(f"there is no {name} beside {named}")
    return found
