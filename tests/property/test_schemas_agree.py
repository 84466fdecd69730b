"""What an editor refuses, and what the program refuses: a schema says less, and never more.

Documents are those of the reference pages and of the shipped files, with parts of them replaced,
removed or added. Each goes as text to the program's own reader, and through another YAML parser to
the schema:

* what the program reads, the schema permits;
* where the program finds a key that it does not know or misses, or a value of the wrong kind, the
  schema refuses.
"""

from __future__ import annotations

import contextlib
import copy
import io
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from editor_yaml import ROOT, SCHEMAS, mistakes, name_of, plain, quoted, stated, yaml_files
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from wcetchar import store
from wcetchar.errors import InputError
from wcetchar.store.parts import OF_A_PART

LOADERS: Final[dict[str, Callable[[str], object]]] = {
    "budget": store.load_budgets,
    "campaign": store.load_campaign,
    "hardware-profile": store.load_profile,
    "measure": store.load_measure_plan,
    "measured": store.load_measurements,
    "partitions": store.load_partitions,
    "runs": store.load_runs,
    "section-map": store.load_map,
    "services": store.load_services,
    "shared-device": store.load_shared_device,
    "slowdowns": store.load_slowdowns,
    "system": store.load_system,
    "working-sets": store.load_working_sets,
}
STRUCTURE: Final = re.compile(
    r"the key `(?!(?:mark|instruction|memory access)`).*` is missing|"
    r"the key `.*` is not known here|`.*` cannot stand here|"
    r"(a mapping|a list) cannot stand here|is not a mapping|there is no value"
)
"""Mistakes of the kind that a schema is for. The three keys are asked for where others stand."""
MOST_LINES: Final = 150
"""Of a document; larger ones are slow, and say nothing else."""
VALUES: Final = (
    *(-1, 0, 1, 3, 8, 16, 64, 1000, 1 << 62, 1 << 70, 1.5, True, False, None, "", "x", "none"),
    *("14 ns", " 14 ns ", "14ns", "14", "1..3 cycles", "14 ns +- 5 %", "14 ns +- 1 ns stochastic"),
    *("1.5 us ± 1 ns systematic +- 1 ns stochastic", "0 ns", "72 MHz", "8 MHz +- 1 %", "2 kHz"),
    *("256 KiB", "4 KiB", "256 KiB..256 KiB", "0.5 KiB", "36 MB/s", "36 MB/s..36 MB/s", "5 %"),
    *(" 5 %", "100 %", "2.5%", "1..16", "-1 .. 16", "13 +- 2", " 13±2 stochastic", "1.22", "01"),
    *("-1 ns", "1 lightyear", "1 Mhz", "2020-01-02", "yes", "0x10", "12:30", "cluster", "always"),
    *([], {}, ["x"], [1], {"x": 1}, {"x": "y"}, {"first": "1 ns", "next": "2 ns"}, [[]], {"x": {}}),
)


EXAMPLES: Final = int(os.environ.get("WCETCHAR_EXAMPLES", "60"))
"""Of each kind of file."""


def documents(name: str, folder: Path) -> Iterator[Any]:
    """Those that the program reads by themselves."""
    path = folder / "whole.yaml"
    texts = [path.read_text(encoding="utf-8") for path in yaml_files()]
    for page in sorted((ROOT / "docs").rglob("*.md")):
        texts += [text for _, text, _ in quoted(page)]
    for text in texts:
        if name_of(stated(text) or "/?") != name or text.count("\n") > MOST_LINES:
            continue
        path.write_text(text, encoding="utf-8")
        with contextlib.suppress(InputError):  # a part, or based on a file beside it
            LOADERS[name](str(path))
            yield plain(text)


def ways(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield way
    if not isinstance(value, dict | list):
        return
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        yield from ways(one, (*way, key))


def at(document: Any, way: tuple[Any, ...]) -> Any:
    for step in way:
        document = document[step]
    return document


def changed(known: list[Any]) -> st.SearchStrategy[Any]:
    """One of the documents with one to three changes."""
    keys = sorted({str(way[-1]) for one in known for way in ways(one) if way})

    @st.composite
    def document(draw: st.DrawFn) -> Any:
        found = copy.deepcopy(known[draw(st.integers(0, len(known) - 1))])
        for _ in range(draw(st.sampled_from((1, 1, 2, 3)))):
            change(draw, found)
        return found

    def pick(draw: st.DrawFn, among: Sequence[Any]) -> Any:
        return copy.deepcopy(among[draw(st.integers(0, len(among) - 1))])

    def change(draw: st.DrawFn, found: Any) -> None:
        where = [way for way in ways(found) if way]
        if not where:
            return
        way = pick(draw, where)
        holder, step = at(found, way[:-1]), way[-1]
        what = draw(st.sampled_from(("value", "value", "value", "other", "remove", "add")))
        if what == "value":
            holder[step] = pick(draw, VALUES)
        elif what == "other":  # a value from elsewhere, which is often one of the right kind
            one = pick(draw, known)
            there = [way for way in ways(one) if way]
            alike = [way for way in there if way[-1] == step] or there
            holder[step] = copy.deepcopy(at(one, pick(draw, alike)))
        elif what == "remove":
            del holder[step]
        elif isinstance(holder, dict):
            holder[pick(draw, [*keys, "keey"])] = pick(draw, VALUES)
        else:
            holder.append(pick(draw, VALUES))

    return document()


def written(document: Any) -> str:
    """As YAML. Text that YAML takes for something else is quoted."""
    stream = io.StringIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.width = 1 << 20  # it breaks keys, else
    yaml.dump(document, stream)
    return stream.getvalue()


@pytest.mark.parametrize("name", LOADERS)
def test_schema_and_program_agree(name: str, tmp_path: Path) -> None:
    known = list(documents(name, tmp_path))
    assert known
    path = tmp_path / "document.yaml"
    seen: Counter[str] = Counter()

    @settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow], database=None)
    @given(changed(known))
    def check(document: Any) -> None:
        text = written(document)
        path.write_text(text, encoding="utf-8")
        shown = mistakes(name, plain(text))
        if name == "services" and any(key in document for key in OF_A_PART):
            return  # of a file beside others, which has a schema of its own
        try:
            LOADERS[name](str(path))
        except InputError as error:
            structure = [str(one) for one in error.each if STRUCTURE.search(one.message)]
            if "based on" in document:  # what is missing may stand in the other profile
                structure = [one for one in structure if "is missing" not in one]
            seen["structure" if structure else "else"] += 1
            assert shown or not structure, f"the program alone refuses:\n{structure}\n{text}"
        else:
            seen["read"] += 1
            assert not shown, f"the schema alone refuses:\n{shown}\n{text}"

    check()
    assert seen["read"] > 3, seen
    assert seen["structure"] > 3, seen


def test_every_kind_is_compared() -> None:
    assert {*LOADERS, "characterization", "services-part"} == set(SCHEMAS)
