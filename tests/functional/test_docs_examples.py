"""The documentation's commands are run, and what it quotes must stand in their output.

A page marks what is checked by an HTML comment before a fenced block:

* ``<!-- run -->``: shell commands. A page's blocks run in order, in one folder that looks like the
  repository's root after ``make demo``; what they write stays in that folder.
* ``<!-- run: COMMAND -->``: the same of one line that readers do not see, where a page takes for
  granted what they have.
* ``<!-- output -->``: lines of the last run's output, in order. ``...`` stands for left-out lines,
  or for a part of its line that may differ.
* ``<!-- from: PATH -->``: lines of a source file, in order.

Every figure in ns that a page's prose names must also stand in some output of that page, and every
picture that it shows is one that its commands write into build/, byte for byte.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
from needs import need

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FIRMWARE = ROOT / "build" / "firmware" / "freertos"
TUTORIAL = DOCS / "tutorials" / "xTaskCreate.md"
SHARED = ("wcetchar capture", "wcetchar characterize")
COMPILER = "12.2.1"  # the figures hold for the code that this version makes

_BLOCK = re.compile(
    r"^<!-- (?P<what>run|output|from: (?P<path>\S+)) -->\n+```\w*\n(?P<body>.*?)^```$"
    r"|^<!-- run: (?P<unseen>[^\n]+) -->$",
    re.MULTILINE | re.DOTALL,
)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_FIGURE = re.compile(r"(?<![\w.,])(\d[\d,]*(?:\.\d+)?) ns\b")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
PICTURE = re.compile(r"!\[[^\]]*\]\(([\w/-]+\.svg)\)")


@dataclass(frozen=True)
class Block:
    what: str
    body: str
    path: str | None
    line: int


def blocks(text: str) -> Iterator[Block]:
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["unseen"]:
            yield Block("run", match["unseen"], None, line)
        else:
            yield Block(match["what"], match["body"], match["path"], line)


PAGES = sorted(
    page
    for page in (*ROOT.glob("*.md"), *DOCS.rglob("*.md"))
    if _BLOCK.search(page.read_text(encoding="utf-8"))
)


def environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}


def shell(commands: str, folder: Path, timeout: float = 300) -> tuple[str, int]:
    """Output and errors of the commands, in one text, and the exit status."""
    done = subprocess.run(
        ["bash", "-e", "-c", commands],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
    return done.stdout, done.returncode


def furnish(folder: Path) -> None:
    """Makes a folder look like the repository's root; nothing written there reaches the root."""
    shared = ("docs", "hwprofiles", "integrations", "rtl_boards", "rtos_tests", "traces", "tests")
    for name in shared:
        (folder / name).symlink_to(ROOT / name)
    (folder / "build" / "demo").mkdir(parents=True)
    (folder / "build" / "firmware").symlink_to(FIRMWARE.parent)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tutorial's capture and characterize were run, once for all pages and workers.

    ``outputs.json`` has what they printed. They are the commands of ``make demo``, so that pages
    which begin after ``make demo`` begin with their files.
    """
    if not (FIRMWARE / "freertos.elf").exists():
        pytest.skip("the FreeRTOS firmware is not built (make firmware)")
    for program in ("qemu-system-arm", "arm-none-eabi-objdump", "bash", "wcetchar"):
        if shutil.which(program, path=environment()["PATH"]) is None:
            pytest.skip(f"{program} is not installed")
    if COMPILER not in (FIRMWARE / "tools").read_text():
        pytest.skip(f"the documentation's figures hold for GCC {COMPILER}, which is not installed")
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder = base / "docs-made"
    with (base / "docs-made.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "outputs.json").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            furnish(folder)
            outputs = {}
            for block in blocks(TUTORIAL.read_text(encoding="utf-8")):
                if block.what == "run" and block.body.startswith(SHARED):
                    output, status = shell(block.body, folder)
                    assert status == 0, f"{block.body}\n{output}"
                    outputs[block.body] = output
            (folder / "outputs.json").write_text(json.dumps(outputs))
    return folder


@pytest.fixture
def workplace(made: Path, tmp_path: Path) -> Path:
    furnish(tmp_path)
    for suffix in ("trace", "json"):
        file = made / "build" / f"run.{suffix}"
        shutil.copy(file, tmp_path / "build" / f"run.{suffix}")
        shutil.copy(file, tmp_path / "build" / "demo" / f"freertos.{suffix}")
    return tmp_path


def like(quoted: str, line: str) -> bool:
    """The lines are the same; ``...`` in the quoted one stands for anything."""
    pattern = ".*".join(re.escape(part) for part in quoted.split("..."))
    return re.fullmatch(pattern, line) is not None


def missing_lines(quoted: str, text: str) -> str | None:
    """The first quoted lines that do not follow one another in ``text``, or ``None``."""
    lines = [line.rstrip() for line in text.splitlines()]
    position = 0
    for part in re.split(r"^\s*\.\.\.\s*$", quoted, flags=re.MULTILINE):
        wanted = [line.rstrip() for line in part.strip("\n").splitlines()]
        if not wanted:
            continue
        for start in range(position, len(lines) - len(wanted) + 1):
            if all(map(like, wanted, lines[start : start + len(wanted)])):
                position = start + len(wanted)
                break
        else:
            return "\n".join(wanted)
    return None


def exact(number: str) -> Fraction:
    return Fraction(number.replace(",", ""))


@pytest.mark.firmware
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_quotes_is_what_its_commands_print(
    page: Path, made: Path, workplace: Path
) -> None:
    known: dict[str, str] = json.loads((made / "outputs.json").read_text())
    text = page.read_text(encoding="utf-8")
    if any(block.what == "run" and "callgrind_annotate" in block.body for block in blocks(text)):
        need("callgrind_annotate", "valgrind")
    outputs: list[str] = []
    problems = []
    for block in blocks(text):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        if block.what == "run" and block.body in known:
            outputs.append(known[block.body])
        elif block.what == "run":
            output, status = shell(block.body, workplace)
            assert status == 0, f"{where}: exit status {status}\n{block.body}\n{output}"
            outputs.append(output)
        elif block.what == "output":
            assert outputs, f"{where}: nothing was run before"
            missing = missing_lines(block.body, outputs[-1])
            if missing is not None:
                problems.append(f"{where}: not in the output:\n{missing}\n--- it is\n{outputs[-1]}")
    printed = {exact(number) for output in outputs for number in _NUMBER.findall(output)}
    for figure in _FIGURE.findall(_FENCED.sub("", text)):
        if exact(figure) not in printed:
            problems.append(f"{page.relative_to(ROOT)}: no command prints {figure} ns")
    for picture in PICTURE.findall(text):
        written = workplace / "build" / Path(picture).name
        if not written.exists():
            problems.append(f"{page.relative_to(ROOT)}: no command writes build/{written.name}")
        elif written.read_bytes() != (page.parent / picture).read_bytes():
            problems.append(f"{picture} is another one: python docs/update_quotes.py PAGE")
    assert not problems, "\n\n".join(problems)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_quoted_sources_stand_in_their_files(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.path is None:
            continue
        source = ROOT / block.path
        if not source.exists() and block.path.startswith("build/"):
            pytest.skip(f"{block.path} is not built (make firmware)")
        missing = missing_lines(block.body, source.read_text(encoding="utf-8"))
        assert missing is None, f"{page.relative_to(ROOT)}:{block.line}: not there:\n{missing}"


def test_the_checks_can_fail() -> None:
    assert missing_lines("a\nb", "x\na\nb\n") is None
    assert missing_lines("a\n...\nc", "a\nb\nc") is None
    assert missing_lines("a\nc", "a\nb\nc") == "a\nc"
    assert missing_lines("c\n...\na", "a\nb\nc") == "a"
    assert missing_lines("a ... d\ne", "a b c d\ne") is None
    assert missing_lines("a ... d", "a b c") == "a ... d"
    page = (
        "text 1,234 ns\n\n<!-- run -->\n```sh\necho 5 ns\n```\n\n"
        "<!-- output -->\n```text\n5 ns\n```\n"
    )
    assert [b.what for b in blocks(page)] == ["run", "output"]
    assert [(b.what, b.body) for b in blocks("a\n\n<!-- run: echo 1 -->\n\nb\n")] == [
        ("run", "echo 1")
    ]
    assert _FIGURE.findall(_FENCED.sub("", page)) == ["1,234"]
