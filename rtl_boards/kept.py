"""What a run measured, kept: `validate.py` that was ended goes on where it stopped.

A run leaves a table for each metric in its folder, and a record, which is written last: the key of
all that the run hangs on, why what was not measured was left out, and the hashes of the tables. A
table that is not whole, or of something else, is never taken.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

RECORD = "kept.json"


@dataclass(frozen=True)
class Run:
    """By the metric: its table, and why invocations were not measured, with how many."""

    files: Mapping[str, Path]
    left_out: Mapping[str, Counter[str]]


def key_of(words: Iterable[str], files: Iterable[Path]) -> str:
    """Of these words and of what these files hold, in this order; where they are does not count.

    Raises:
        OSError: a file cannot be read.
    """
    digest = hashlib.sha256()
    for part in [*(word.encode() for word in words), b"", *(file.read_bytes() for file in files)]:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def table(folder: Path, metric: str) -> Path:
    return folder / f"{metric}.csv"


def forget(folder: Path) -> None:
    """Before a run begins: from now on nothing of it is taken."""
    (folder / RECORD).unlink(missing_ok=True)


def keep(folder: Path, key: str, left_out: Mapping[str, Counter[str]]) -> Run:
    """When its tables are written."""
    files = {metric: table(folder, metric) for metric in left_out}
    record = {
        "key": key,
        "left out": {metric: dict(reasons) for metric, reasons in left_out.items()},
        "tables": {metric: key_of((), [file]) for metric, file in files.items()},
    }
    half = folder / f"{RECORD}.half"
    half.write_text(json.dumps(record), encoding="utf-8")
    half.replace(folder / RECORD)
    return Run(files, left_out)


def taken(folder: Path, key: str) -> Run | None:
    """What was kept under this key; ``None``: it has to be run."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        files = {metric: table(folder, metric) for metric in record["tables"]}
        tables = {metric: key_of((), [file]) for metric, file in files.items()}
        left_out = {metric: Counter(reasons) for metric, reasons in record["left out"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return Run(files, left_out) if (record["key"], record["tables"]) == (key, tables) else None
