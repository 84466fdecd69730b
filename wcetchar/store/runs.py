"""Runs file: YAML -> what each run of a firmware without marks shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from wcetchar.errors import Location
from wcetchar.store.checking import Text, YamlModel, mapping_at, validate
from wcetchar.store.document import RUNS, read_document
from wcetchar.store.section_map import Value
from wcetchar.store.source import Source, shown

_MAXIMUM: Final = 100_000


@dataclass(frozen=True)
class RunsFile:
    """``runs``: path of a trace, from where the program runs -> service -> parameter -> value.
    ``places``: of the keys, by (trace,), (trace, service) and (trace, service, parameter)."""

    path: str
    runs: Mapping[str, Mapping[str, Mapping[str, int]]]
    places: Mapping[tuple[str, ...], Location] = field(default_factory=dict, compare=False)


class RunsDoc(YamlModel):
    """Which services each trace shows, and the values of their parameters."""

    schema_: Literal["wcetchar/runs/1"] = Field(
        alias="schema", description="what the file is, and the version of its form"
    )
    runs: dict[Text, dict[Text, dict[Text, Value]]] = Field(
        description="trace, beside this file -> service -> parameter -> value"
    )


def load_runs(path: str) -> RunsFile:
    """Read a runs file.

    Raises:
        InputError: no such file, or mistakes in it; all of them at once as ``InputErrors``.
    """
    source = read_document(path, RUNS)
    document = validate(RunsDoc, source, (_check_runs,))
    source.fail_on_mistakes()
    assert document is not None
    folder = Path(path).parent
    runs: dict[str, Mapping[str, Mapping[str, int]]] = {}
    places: dict[tuple[str, ...], Location] = {}
    for name, services in document.runs.items():
        trace = str(folder / name)
        runs[trace] = {service: dict(values) for service, values in services.items()}
        places[(trace,)] = source.where(("runs", name), key=True)
        for service, values in services.items():
            places[trace, service] = source.where(("runs", name, service), key=True)
            for parameter in values:
                places[trace, service, parameter] = source.where(("runs", name, service, parameter))
    return RunsFile(path, runs, places)


def _check_runs(source: Source) -> None:
    runs = mapping_at(source.data, "runs")
    if mapping_at(source.data).get("runs") == {}:
        source.report(("runs",), "there is no run", expected="at least one trace")
    if len(runs) > _MAXIMUM:
        source.report(("runs",), f"there are {len(runs)} runs", expected=f"at most {_MAXIMUM}")
    for name, services in runs.items():
        if services == {}:
            source.report(
                ("runs", name),
                f"the run {shown(name)} shows no service",
                expected="`SERVICE: {PARAMETER: VALUE}`, or `SERVICE: {}` without parameters",
                key=True,
            )
    seen: dict[Path, str] = {}
    for name in runs:
        if isinstance(name, str):
            first = seen.setdefault(Path(name), name)
            if first != name:
                source.report(
                    ("runs", name),
                    f"{shown(name)} and {shown(first)} are the same trace",
                    expected="each trace once",
                    key=True,
                )
