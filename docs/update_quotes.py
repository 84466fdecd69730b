"""Brings the numbers in quoted outputs of a page up to date: the page's commands are run as
tests/functional/test_docs_examples.py runs them, and each quoted part is replaced by the part of
the output that differs from it in its numbers (and the spaces around them) alone. What differs in
words is left, and named: a person has to look at that, and at the figures in the prose. Pictures
that the page shows are replaced by those that its commands write into build/.

make firmware; python docs/update_quotes.py docs/tutorials/xTaskCreate.md
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

for folder in ("tests", "tests/functional"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / folder))

import test_docs_examples as examples  # noqa: E402

_NUMBER = re.compile(r"[0-9][0-9a-f]*(?:[,.][0-9]+)*")


def shape(line: str) -> str:
    """The line without its numbers."""
    return " ".join(_NUMBER.sub("#", line).split())


def alike(quoted: str, line: str) -> bool:
    pattern = ".*".join(re.escape(shape(part)) for part in quoted.split("..."))
    return re.fullmatch(pattern, shape(line)) is not None


def renewed(quoted: str, line: str) -> str:
    """``line``; where the quoted one leaves something out, that is left out of it as well, and what
    is quoted behind it stays as it is."""
    before, left_out, rest = quoted.partition("...")
    if not left_out:
        return line
    numbers = iter(_NUMBER.findall(line))
    last = before[-1:].isdigit()  # a number that is quoted in part
    quoted_numbers = list(_NUMBER.finditer(before))
    changed = before
    for match in quoted_numbers[: -1 if last else None]:
        changed = changed.replace(match[0], next(numbers), 1)
    return changed + left_out + rest


def update(body: str, output: str) -> tuple[str, list[str]]:
    """The quotation with today's numbers, and lines that have none of their shape."""
    lines = [line.rstrip() for line in output.splitlines()]
    position, found, strange = 0, [], []
    for quoted in body.splitlines():
        if not quoted.strip() or quoted.strip() == "...":
            found.append(quoted)
            continue
        at = next((i for i in range(position, len(lines)) if alike(quoted, lines[i])), None)
        if at is None:
            strange.append(quoted)
            found.append(quoted)
        else:
            found.append(renewed(quoted, lines[at]))
            position = at + 1
    return "".join(f"{line}\n" for line in found), strange


def after_demo(folder: Path) -> None:
    """Pages begin where `make demo` has ended."""
    for block in examples.blocks(examples.TUTORIAL.read_text(encoding="utf-8")):
        if block.what == "run" and block.body.startswith(examples.SHARED):
            examples.shell(block.body, folder)
    for suffix in ("trace", "json"):
        shutil.copy(folder / f"build/run.{suffix}", folder / f"build/demo/freertos.{suffix}")


def main(page: Path) -> int:
    text = page.read_text(encoding="utf-8")
    status, output = 0, ""
    with tempfile.TemporaryDirectory() as folder:
        examples.furnish(Path(folder))
        after_demo(Path(folder))
        for block in examples.blocks(text):
            if block.what == "run":
                output, failed = examples.shell(block.body, Path(folder))
                if failed:
                    print(f"{page}:{block.line}: exit status {failed}\n{output}", file=sys.stderr)
                    return 1
            elif block.what == "output":
                body, strange = update(block.body, output)
                text = text.replace(block.body, body)
                for line in strange:
                    status = 1
                    print(f"{page}:{block.line}: nothing like: {line}", file=sys.stderr)
        for picture in examples.PICTURE.findall(text):
            (page.parent / picture).parent.mkdir(exist_ok=True)
            shutil.copy(Path(folder) / "build" / Path(picture).name, page.parent / picture)
    page.write_text(text, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
