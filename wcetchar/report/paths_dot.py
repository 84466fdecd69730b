"""A worst path in the DOT language, for Graphviz: a cluster for each activation of a function.

The grammar is that of https://graphviz.org/doc/info/lang.html: in a quoted string only the quote
is escaped, and a backslash begins an escape of labels (``\\l`` ends a line that is aligned left),
so that one which is meant stands twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from wcetchar.model.path_model import OUTSIDE
from wcetchar.report.numbers import grouped
from wcetchar.report.paths_boxes import content_of, groups_of
from wcetchar.report.paths_view import EdgeRow, PathRows

_HEAT: Final = ("#7d8ba1", "#d9a514", "#e58a1f", "#e0662a", "#d13c2f", "#a81035")
_TINT: Final = ("#f5f7fa", "#fff8e1", "#fff0db", "#ffe7d9", "#ffdcd6", "#ffd0d8")
_OFF: Final = "#a9b1bc"


def dot(rows: PathRows) -> str:
    """The graph. Edges of the worst path are thick, what no trace took is dashed."""
    return "\n".join(_lines(rows)) + "\n"


def _lines(rows: PathRows) -> Iterator[str]:
    groups, inner = groups_of(rows)
    group_of = {n: g for g, group in enumerate(groups) for n in group.blocks}
    yield f"digraph {_quoted(rows.service)} {{"
    yield '  node [shape=box, style=filled, fillcolor=white, fontname="monospace", fontsize=10];'
    yield '  edge [fontname="monospace", fontsize=10];'
    title = f"{rows.service} on {rows.profile}, map {rows.section_map}"
    title += f", {rows.at}" if rows.at else ""
    if rows.bound_ns is not None:
        title += f": {grouped(rows.bound_ns)} ns ({rows.word.value})"
    yield f"  label={_quoted(title)};"
    yield '  entry [shape=oval, label="entry"];'
    yield '  exit [shape=oval, label="exit"];'
    nodes: dict[int, list[str]] = {}
    for number, group in enumerate(groups):
        content = content_of(rows, group)
        lines = [f"{content.heading}  {content.figures}"]
        lines += [f"{n}  {text}" if n else text for n, text in content.lines]
        lines += [content.tag] if content.tag else []
        color, fill = _OFF, "white"
        if content.on_path:
            color, fill = _HEAT[content.heat], _TINT[content.heat]
        style = "filled" if content.seen else "filled,dashed"
        nodes.setdefault(group.activation, []).append(
            f"n{number} [label={_label(lines)}, tooltip={_quoted(content.title)}, "
            f'color="{color}", fillcolor="{fill}", style="{style}"];'
        )
    children: dict[int | None, list[int]] = {}
    for row in rows.activations:
        children.setdefault(row.parent, []).append(row.number)
    depth: list[int] = []
    waiting: list[tuple[int, bool]] = [(n, False) for n in reversed(children.get(None, []))]
    while waiting:  # nested as deep as calls are
        number, done = waiting.pop()
        if done:
            depth.pop()
            yield "  " * (len(depth) + 1) + "}"
            continue
        yield "  " * (len(depth) + 1) + f"subgraph cluster_{number} {{"
        depth.append(number)
        indent = "  " * (len(depth) + 1)
        yield f"{indent}label={_quoted(rows.activations[number].function)};"
        yield from (indent + line for line in nodes.get(number, []))
        waiting.append((number, True))
        waiting += [(n, False) for n in reversed(children.get(number, []))]
    for edge in rows.edges:
        if edge.number not in inner:
            yield f"  {_edge(edge, group_of)}"
    yield "}"


def _edge(edge: EdgeRow, group_of: dict[int, int]) -> str:
    source = "entry" if edge.source == OUTSIDE else f"n{group_of[edge.source]}"
    target = "exit" if edge.target == OUTSIDE else f"n{group_of[edge.target]}"
    attributes = [f'color="{_HEAT[4] if edge.on_path else _OFF}"']
    if edge.count:
        attributes += ["penwidth=2.5", f'label="x{grouped(edge.count)}"']
    if not edge.seen:
        attributes += ["style=dashed", 'tooltip="never taken by traces"']
    return f"{source} -> {target} [{', '.join(attributes)}];"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _label(lines: list[str]) -> str:
    return '"' + "".join(_quoted(line)[1:-1] + "\\l" for line in lines) + '"'
