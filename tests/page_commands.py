"""Commands that pages tell people to type: in fenced blocks, and in the text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PAGES: Final = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
)
PROGRAMS: Final = ("wcetchar", "make", "python", "west")
SHELL: Final = ("sh", "bash", "shell", "console")

_FENCED: Final = re.compile(
    r"^(?:<!-- (?P<mark>[^\n]*?) -->\n+)?```(?P<language>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_INLINE: Final = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_HERE: Final = re.compile(r"<<'?(\w+)'?(.*?)\n.*?^\1$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Command:
    """``line``: of the block, or of the words in the text. ``marked``: it stands in a block that
    the tests run."""

    page: Path
    line: int
    text: str
    marked: bool = False

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def program(self) -> str:
        return self.text.split()[0].removeprefix(".venv/bin/") if self.text.split() else ""


def in_blocks() -> Iterator[Command]:
    """All commands of shell blocks, one by one."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in _FENCED.finditer(text):
            if match["language"] in SHELL:
                line = text.count("\n", 0, match.start("body")) + 1
                for one in _commands(match["body"]):
                    yield Command(page, line, one, match["mark"] == "run")


def in_text() -> Iterator[Command]:
    """Words in the text that begin with the name of a program and go on."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        blank = _FENCED.sub(lambda match: "\n" * match[0].count("\n"), text)
        for match in _INLINE.finditer(blank):
            words = " ".join(match[1].split())
            if words.split(" ")[0] in PROGRAMS and " " in words:
                yield Command(page, blank.count("\n", 0, match.start()) + 1, words)


def _commands(body: str) -> Iterator[str]:
    """Without what a file is written with, comments, and what a shell puts around."""
    body = _HERE.sub(r"\2", body).replace("\\\n", " ")
    for line in body.splitlines():
        plain = re.sub(r"(^|\s)#.*$", "", line).strip().removeprefix("$ ")
        for part in re.split(r"\s(?:&&|\|\||\|)\s|;\s", plain):
            one = " ".join(part.split())
            one = re.sub(r"^(?:(?:if|then|do|time|!)\s+)+", "", one)
            one = re.sub(r"^(?:[A-Z_]+=\S+ )+", "", one)
            if one and one not in ("done", "fi", "else"):
                yield one


def words(command: str) -> list[str]:
    """As a shell splits them; what it would put in their place is a word, and redirections are
    left out."""
    plain = re.sub(r"\$\((?:[^()]|\([^()]*\))*\)", "X", command)
    plain = re.sub(r"\s\d?>{1,2}(?:&\d|\s?\S+)", " ", f" {plain}")
    plain = re.sub(r"\s<\s?\S+", " ", plain)
    return shlex.split(plain)
