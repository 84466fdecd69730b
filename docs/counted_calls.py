"""A table of a kernel's public calls by what became of them, for the generators of pages."""

from __future__ import annotations

from dataclasses import dataclass

CHARACTERIZED, BY_ANOTHER, NOT = (
    "characterized",
    "another service stands for it",
    "not characterized",
)


@dataclass(frozen=True)
class Group:
    """Calls with one fate, which is one of the three above."""

    fate: str
    why: str
    calls: int


def calls_table(groups: list[Group], whole: int | None = None) -> str:
    """Markdown; every call is in one group.

    Raises:
        ValueError: the groups do not add up to ``whole``, where that is known.
    """
    total = sum(group.calls for group in groups)
    if whole not in (None, total):
        raise ValueError(f"{total} calls are in groups, but the headers have {whole}")
    lines = ["| public calls | | of all | why |", "| ---: | --- | ---: | --- |"]
    for fate in (CHARACTERIZED, BY_ANOTHER, NOT):
        same = [group for group in groups if group.fate == fate]
        count = sum(group.calls for group in same)
        tenths = 1000 * count // total
        share = f"{tenths // 10}.{tenths % 10} %"
        if same:
            lines.append(f"| **{count}** | **{fate}** | **{share}** | |")
        lines += [f"| {group.calls} | | | {one_line(group.why)} |" for group in same]
    lines.append(f"| **{total}** | **all** | **100 %** | |")
    return "\n".join(lines) + "\n"


def one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("_", "\\_")
