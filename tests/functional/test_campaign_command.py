"""``wcetchar campaign`` on a small firmware that is built in two ways, and on FreeRTOS."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bad_input import PROGRAM, need, process, refused, run
from terminal import on_terminal

from wcetchar.model.campaign import expand
from wcetchar.pipeline import characterize as characterizing
from wcetchar.pipeline.campaign import cores
from wcetchar.store import characterization_json, load_campaign, services_path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "howto" / "vendor-example"
CELLS = ["mps2-an385+O2", "mps2-an385+Os"]
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
MADE = (
    "campaign.json",
    *(f"{c}/{f}" for c in CELLS for f in ("characterization.json", "cell.json")),
)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example, built in two ways."""
    need("arm-none-eabi-gcc", "qemu-system-arm", "make")
    folder = tmp_path_factory.mktemp("campaign")
    shutil.copytree(EXAMPLE, folder / "example")
    shutil.copy(ROOT / "rtos_tests/freertos/wcet_mark.h", folder / "example")
    return folder / "example"


@pytest.fixture(scope="module")
def results(example: Path) -> Path:
    """The campaign, run once in parallel."""
    output = example.parent / "results"
    done = process("campaign", str(example / "campaign.yaml"), "-o", str(output), "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert "2 done" in done.stdout
    return output


def load(path: Path) -> Any:
    return json.loads(path.read_text())


def changed(example: Path, tmp_path: Path, *changes: tuple[str, str]) -> tuple[str, Path]:
    """A campaign with other text, beside the example's files; and a folder for its results."""
    text = (example / "campaign.yaml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = example / f"{tmp_path.name}.yaml"
    path.write_text(text)
    return str(path), tmp_path / "out"


def snapshot(output: Path) -> dict[str, bytes]:
    return {name: (output / name).read_bytes() for name in MADE}


def test_each_cell_is_what_the_other_verbs_make(
    results: Path, example: Path, tmp_path: Path
) -> None:
    sizes = set()
    for cell in CELLS:
        folder = results / cell
        trace, made = tmp_path / f"{cell}.trace", tmp_path / f"{cell}.json"
        firmware, services = str(folder / "firmware.elf"), str(example / "services.yaml")
        run("capture", firmware, "--machine", "mps2-an385", "-o", str(trace))
        run("characterize", firmware, str(trace), "--services", services, "-o", str(made))
        assert (folder / "run.trace").read_bytes() == trace.read_bytes()
        assert (folder / "characterization.json").read_bytes() == made.read_bytes()
        sizes.add(trace.stat().st_size)
    assert len(sizes) == 2, "the two builds should differ"


def test_a_sweep_finds_the_formula_that_marks_find(results: Path, example: Path) -> None:
    """One firmware without marks, run with eight lengths of its list; and the marked one, which
    makes all sixteen in one run. Both hold the same kernel object."""
    output = example.parent / "swept"
    done = process("campaign", str(example / "sweep.yaml"), "-o", str(output))
    assert done.returncode == 0, done.stderr
    assert "O2: made 8 traces and characterization" in done.stderr
    index = load(output / "campaign.json")
    for cell in index["cells"]:
        assert len(cell["traces"]) == 8
        assert all((output / name).is_file() for name in cell["traces"])
        (swept,) = load(output / cell["characterization"])["services"]
        marked = load(results / f"mps2-an385+{cell['cell']}" / "characterization.json")
        assert swept["counts"] == marked["services"][0]["counts"]
    again = process("campaign", str(example / "sweep.yaml"), "-o", str(output))
    assert again.stderr.count("up to date") == 2


def test_the_index_says_what_is_there(results: Path) -> None:
    index = load(results / "campaign.json")
    assert (index["kind"], index["schema_version"]) == ("wcetchar campaign", 2)
    assert index["axes"] == {"board": ["mps2-an385"], "optimize": ["O2", "Os"]}
    assert index["services"] == {
        "all": 2,
        "by_formula": 2,
        "by_table": 0,
        "estimates": 0,
        "not_at_all": 0,
    }
    assert [cell["cell"] for cell in index["cells"]] == CELLS
    for cell in index["cells"]:
        assert (cell["status"], cell["architecture"], cell["windows"]) == ("done", "armv7-m", 16)
        for name in (cell["characterization"], cell["log"], *cell["traces"]):
            assert (results / name).is_file()
        image = load(results / cell["characterization"])["provenance"]["image_sha256"]
        assert image != cell["firmware_sha256"]  # one of what is loaded, one of the file
    assert str(results) not in (results / "campaign.json").read_text()


def test_nothing_is_made_twice_and_two_runs_agree(
    results: Path, example: Path, tmp_path: Path
) -> None:
    before, campaign = snapshot(results), str(example / "campaign.yaml")
    again = process("campaign", campaign, "-o", str(results))
    assert again.stderr.count(": up to date\n") == 2
    assert snapshot(results) == before
    other = tmp_path / "other"
    fresh = process("campaign", campaign, "-o", str(other), "--jobs", "1", "--json")
    assert fresh.returncode == 0
    assert snapshot(other) == before
    assert fresh.stdout == (other / "campaign.json").read_text()
    for cell in CELLS:
        assert (other / cell / "run.trace").read_bytes() == (
            results / cell / "run.trace"
        ).read_bytes()


def test_a_cell_that_fails_stops_no_other(example: Path, tmp_path: Path) -> None:
    campaign, output = changed(example, tmp_path, ("    O2: {}\n", "    Onone: {}\n    O2: {}\n"))
    done = process("campaign", campaign, "-o", str(output))
    assert done.returncode == 3
    bad = "mps2-an385+Onone"
    assert f"1 of 3 cells failed: {bad}" in done.stderr
    message = f"failed: {bad}: {campaign}:12:12: the build ended with status 2"
    assert message in " ".join(done.stdout.split())  # lines are as wide as a terminal
    index = load(output / "campaign.json")
    assert [cell["status"] for cell in index["cells"]] == ["failed", "done", "done"]
    assert index["cells"][0]["exit_code"] == 3
    assert index["services"]["all"] == 2
    assert "-Onone" in (output / bad / "log.txt").read_text()
    assert not (output / bad / "characterization.json").exists()
    # The rest alone is no failure, and is there already.
    rest = process("campaign", campaign, "-o", str(output), "--only", "optimize=O[2s]")
    assert rest.returncode == 0
    assert rest.stderr.count(": up to date\n") == 2


def test_services_that_the_firmware_does_not_call(example: Path, tmp_path: Path) -> None:
    extra = (example / "services.yaml").read_text().rstrip("\n") + (
        "\n  other: {mark: 2, kind: call, entries: [timer_next]}\n"
    )
    (example / "more.yaml").write_text(extra)
    both = ("[services.yaml]", "[more.yaml]"), ("    Os: {}\n", "")
    campaign, output = changed(example, tmp_path, *both)
    refused_run = process("campaign", campaign, "-o", str(output))
    assert refused_run.returncode == 3
    assert "more.yaml:28:3: no trace shows other" in refused_run.stderr
    campaign, output = changed(example, tmp_path, *both, ("machine:", "partial: true\nmachine:"))
    done = process("campaign", campaign, "-o", str(output))
    assert done.returncode == 0
    assert "made characterization\n" in done.stderr, "the trace was there already"
    (cell,) = load(output / "campaign.json")["cells"]
    assert cell["services"] == {
        "all": 2,
        "by_formula": 1,
        "by_table": 0,
        "estimates": 0,
        "not_at_all": 1,
    }
    (missing,) = cell["not_characterized"]
    assert missing["service"] == "other"
    said = f" not at all: {missing['reason']} 1 in mps2-an385+O2: other "
    assert said in " ".join(done.stdout.split())


def test_what_is_not_by_formula_is_told_with_its_reason(example: Path, tmp_path: Path) -> None:
    """Two lengths of the list show no formula; and the vendor leaves out three calls."""
    (example / "calls.yaml").write_text(
        "schema: wcetchar/services/1\n"
        "left out:\n"
        "  - {because: nothing waits for it, calls: [timer_init]}\n"
        "  - {because: it is a macro, calls: [timer_lock, timer_unlock]}\n"
    )
    campaign = example / "two.yaml"
    text = (example / "sweep.yaml").read_text()
    text = text.replace("[1, 2, 3, 4, 6, 8, 11, 16]", "[1, 16]")
    campaign.write_text(text.replace("[unmarked.yaml]", "[unmarked.yaml, calls.yaml]"))
    output = tmp_path / "out"
    done = process("campaign", str(campaign), "-o", str(output))
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    for cell in ("O2", "Os"):
        (row,) = [row for row in rows if row[:2] == [cell, "done"]]
        # Services: all, by formula, by table, estimates, not at all; then calls, and windows.
        assert row[3:-1] == ["1", "0", "1", "0", "0", "3", "2"]
    reason = "no exact formula was found: the observed values are published"
    assert (
        f"\nby table: {reason}\n"
        "    1  in each cell: timer_next\n"
        "left out, calls of the kernel that are no services: 3 in each cell\n"
        "    1  nothing waits for it\n"
        "    2  it is a macro\n\n"
    ) in done.stdout
    index = load(output / "campaign.json")
    assert index["calls_left_out"] == 6
    for found in index["cells"]:
        assert found["reasons"] == {"timer_next": reason}
        assert found["left_out"] == [
            {"because": "nothing waits for it", "calls": ["timer_init"]},
            {"because": "it is a macro", "calls": ["timer_lock", "timer_unlock"]},
        ]
        (service,) = load(output / found["characterization"])["services"]
        assert reason in service["notes"]
        assert service["evidence"].get("held_out", []) == []


def test_parameters_of_firmware_without_marks(example: Path, tmp_path: Path) -> None:
    text = (example / "services.yaml").read_text()
    start = text.index("marks:\n")
    text = text[:start] + text[text.index("sections:\n") :]
    assert text.count("    mark: 1\n") == 1
    (example / "unmarked.yaml").write_text(text.replace("    mark: 1\n", ""))
    campaign, output = changed(
        example,
        tmp_path,
        ("[services.yaml]", "[unmarked.yaml]"),
        ("    Os: {}\n", "    Os: {}\n  length:\n    L16: {n: 16}\n"),
        ("machine:", 'set: {timer_next.N: "{n}"}\nmachine:'),
    )
    done = process("campaign", campaign, "-o", str(output), "--only", "optimize=O2")
    assert done.returncode == 0, done.stderr
    (service,) = load(output / "mps2-an385+O2+L16" / "characterization.json")["services"]
    assert service["evidence"]["fitted"] == [[16]]


@contextlib.contextmanager
def campaign_process(
    campaign: str, output: Path, errors: Path
) -> Iterator[subprocess.Popen[bytes]]:
    with errors.open("wb") as stream:
        process = subprocess.Popen(
            [*PROGRAM, "campaign", campaign, "-o", str(output), "--jobs", "1"],
            stdout=subprocess.DEVNULL,
            stderr=stream,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


def wait_for(what: str, condition: Any) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_that_is_ended_is_taken_up(
    results: Path, example: Path, tmp_path: Path, number: signal.Signals
) -> None:
    # The build of the second cell waits for a gate, so that the run is ended in its middle.
    gate, pid_file = tmp_path / "gate", tmp_path / "pid"
    wait = f"echo $$ > {pid_file}; while [ ! -e {gate} ]; do sleep 0.05; done"
    wait = f"[ {{optimize}} = O2 ] || {{{{ {wait}; }}}}"
    command = f'[sh, -c, "{wait}; make -s OUT={{output}}/build OPTIMIZE=-{{optimize}}"]'
    text = (example / "campaign.yaml").read_text()
    start = text.index("[make")
    old = text[start : text.index("]", start) + 1]
    campaign, output = changed(example, tmp_path, (old, command))
    errors = tmp_path / "errors"
    with campaign_process(campaign, output, errors) as running:
        wait_for("the second build", lambda: pid_file.exists() and pid_file.read_text().strip())
        builder = int(pid_file.read_text())
        assert "[1/2] mps2-an385+O2: made" in errors.read_text()
        index = load(output / "campaign.json")
        assert [cell["status"] for cell in index["cells"]] == ["done", "pending"]
        second = process("campaign", campaign, "-o", str(output))
        assert second.returncode == 3
        assert "another campaign is writing to this folder" in second.stderr
        running.send_signal(number)
        running.wait(20)
        assert (
            running.returncode
            == {
                signal.SIGKILL: -9,
                signal.SIGTERM: 143,
            }[number]
        )
    wait_for("the end of the build", lambda: not alive(builder))
    index = load(output / "campaign.json")
    assert [cell["status"] for cell in index["cells"]] == ["done", "pending"]
    assert not (output / CELLS[1] / "characterization.json").exists()
    gate.touch()
    resumed = process("campaign", campaign, "-o", str(output))
    assert resumed.returncode == 0, resumed.stderr
    assert "mps2-an385+O2: up to date\n" in resumed.stderr
    assert "mps2-an385+Os: made trace and characterization\n" in resumed.stderr
    for name in MADE[:1] + MADE[1::2]:
        assert (output / name).read_bytes() == (results / name).read_bytes(), name


def test_a_dry_run_lists_and_touches_nothing(example: Path, tmp_path: Path) -> None:
    campaign = str(example / "campaign.yaml")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        listed = run("campaign", campaign, "--dry-run")
        document = json.loads(run("campaign", campaign, "--dry-run", "--json").stdout)
        one = run("campaign", campaign, "--dry-run", "--only", "*+Os")
    assert not list(tmp_path.iterdir())
    assert [line.split()[0] for line in listed.stdout.splitlines()[2:4]] == CELLS
    assert listed.stdout.endswith("cells: 2\n")
    assert "+O2" not in one.stdout
    second = document["cells"][1]
    assert second["values"] == {"board": "mps2-an385", "optimize": "Os"}
    assert second["build"][-1] == "OPTIMIZE=-Os"
    assert second["services"] == [str(example / "services.yaml")]


def test_shipped_parts_of_services_files_are_given_by_their_names(
    example: Path, tmp_path: Path
) -> None:
    old, new = "services: [services.yaml]", "services: [services.yaml, zephyr-cortex-m]"
    campaign, _ = changed(example, tmp_path, (old, new))

    def services() -> list[str]:
        document = json.loads(run("campaign", campaign, "--dry-run", "--json").stdout)
        found: list[str] = document["cells"][0]["services"]
        return found

    first, second = services()
    assert first == str(example / "services.yaml")
    assert second == services_path("zephyr-cortex-m")
    assert Path(second).is_file()
    # A file of that name beside the campaign comes first.
    own = example / "zephyr-cortex-m"
    own.write_text("")
    assert services() == [first, str(own)]
    own.unlink()


def test_only_knows_axes_values_and_names(example: Path) -> None:
    campaign = str(example / "campaign.yaml")

    def listed(*only: str) -> list[str]:
        options = [word for pattern in only for word in ("--only", pattern)]
        document = json.loads(run("campaign", campaign, "--dry-run", "--json", *options).stdout)
        return [cell["cell"] for cell in document["cells"]]

    assert listed("optimize=O2") == CELLS[:1]
    assert listed("optimize=O2", "optimize=Os") == CELLS
    assert listed("optimize=Os", "board=mps2*") == CELLS[1:]
    assert listed("*Os", "mps2-an385+O2") == CELLS
    for pattern, said in (
        ("optimise=O2", "there is no axis 'optimise'"),
        ("optimize=O3", "the axis optimize has no value 'O3'"),
        ("nothing", "no cell matches --only nothing"),
    ):
        refused(run("campaign", campaign, "--dry-run", "--only", pattern), 2, said)
    refused(run("campaign", campaign), 2, "there is no folder for the results")


def test_mistakes_come_before_anything_runs(example: Path, tmp_path: Path) -> None:
    campaign, output = changed(example, tmp_path, ('machine: "{board}"', "machine: mps3"))
    refused(
        run("campaign", campaign, "-o", str(output)),
        3,
        f"{campaign}:14:10: there is no machine 'mps3', which cell mps2-an385+O2 names",
    )
    assert not output.exists()
    good = str(example / "campaign.yaml")
    refused(run("campaign", good, "-o", str(tmp_path / "no" / "out")), 3, "cannot be used")
    file = tmp_path / "file"
    file.touch()
    refused(run("campaign", good, "-o", str(file)), 3, "cannot be used")


def test_the_build_lock_is_free_after_a_run(results: Path) -> None:
    for name in (".lock", ".build.lock"):
        with (results / name).open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert 1 <= cores() <= (os.cpu_count() or 1)


@pytest.mark.long
def test_freertos_as_by_the_other_verbs(firmware: Path, tmp_path: Path) -> None:
    """The first cell of the shipped campaign, without its build: the firmware is there."""
    need("qemu-system-arm")
    suite = ROOT / "rtos_tests" / "freertos"
    shipped = load_campaign(str(suite / "campaign.yaml"))
    variables = shipped.cells()[0].variables
    services = tuple(str(suite / expand(name, variables)) for name in shipped.services)
    campaign = tmp_path / "campaign.yaml"
    campaign.write_text(
        "schema: wcetchar/campaign/1\nname: one\naxes: {board: {one: {}}}\n"
        f"firmware: {firmware}\nservices: {json.dumps(services)}\n"
        f"machine: {expand(shipped.machine, variables)}\n"
    )
    output = tmp_path / "out"
    done = process("campaign", str(campaign), "-o", str(output))
    assert done.returncode == 0, done.stderr
    (cell,) = load(output / "campaign.json")["cells"]
    folder = output / cell["cell"]
    request = characterizing.Request(str(firmware), (str(folder / "run.trace"),), services)
    expected = characterization_json(characterizing.run(request))
    assert (folder / "characterization.json").read_text() == expected
    assert cell["services"]["all"] == len(load(folder / "characterization.json")["services"])
    assert len(cell["longest_interrupts"]) == len(cell["longest_preemption"]) == 5
    for stretch in cell["longest_interrupts"] + cell["longest_preemption"]:
        for end in ("begin", "end"):
            assert stretch[end]["function"]
            assert stretch[end]["file"].endswith((".c", ".h"))
            assert stretch[end]["line"] > 0


def test_a_bar_on_a_terminal_that_reaches_the_end(
    results: Path, example: Path, tmp_path: Path
) -> None:
    """Cells that are made, and one that fails; the result itself is not on that terminal."""
    campaign, output = changed(example, tmp_path)
    code, printed, shown = on_terminal("campaign", campaign, "-o", str(output), "--jobs", "2")
    assert code == 0
    assert "all cells" in printed
    assert "\x1b" not in printed
    assert ESCAPE.search(shown)
    text = ESCAPE.sub("", shown)
    for part in ("campaign ", "━", " 0/2 ", " 2/2 "):
        assert part in text, part
    # What each cell is at, behind the time.
    assert re.search(
        r"[01]/2 0:\d\d:\d\d .*mps2-an385\+O[2s] (builds|captures|characterizes)", text
    )
    assert text.rindex(" 2/2 ") > text.rindex(" 0/2 ")
    assert re.search(r"\[1/2\] mps2-an385\+O[2s]: made trace and characterization", text)
    assert re.search(r"\[2/2\] mps2-an385\+O[2s]: made trace and characterization", text)
    # What is left of the bar is erased: the last line is taken back.
    assert shown.rstrip("\r\n").endswith("\x1b[2K")


def test_a_cell_that_fails_is_named_above_the_bar(example: Path, tmp_path: Path) -> None:
    campaign, output = changed(example, tmp_path, ("    Os: {}", "    nonsense: {}"))
    code, _, shown = on_terminal("campaign", campaign, "-o", str(output), "--jobs", "1")
    assert code != 0
    text = ESCAPE.sub("", shown)
    assert " 2/2 " in text
    assert re.search(r"\[[12]/2\] mps2-an385\+nonsense: failed: ", text)


def test_no_bar_in_a_pipe(results: Path, example: Path) -> None:
    done = process("campaign", str(example / "campaign.yaml"), "-o", str(results))
    assert done.returncode == 0
    lines = sorted(line.partition("] ")[2] for line in done.stderr.splitlines())
    assert lines == [f"{cell}: up to date" for cell in CELLS]
    assert not ESCAPE.search(done.stderr + done.stdout)
    assert "━" not in done.stderr
