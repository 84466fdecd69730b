"""Firmware, traces and services file -> the published characterization."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from wcetchar import __version__, isa, store
from wcetchar.analysis.characterize import characterize
from wcetchar.analysis.contents import with_contents
from wcetchar.analysis.observed_paths import ObservedPaths
from wcetchar.analysis.resolve import resolve
from wcetchar.image import load_image
from wcetchar.model.characterization import Characterization
from wcetchar.pipeline.flow_facts import PathsRequest
from wcetchar.pipeline.paths import PathModels, read, with_paths
from wcetchar.pipeline.runs import FORM, run_values
from wcetchar.readers import READERS, open_trace

ASSIGNMENT = FORM
FORMATS = tuple(reader.name for reader in READERS)


@dataclass(frozen=True)
class Request:
    """What ``wcetchar characterize`` is asked for.

    Attributes:
        traces: files, each of any format that a reader knows.
        services: services files that are read as one, at least one.
        format, machine: of the traces, where their content does not say.
        partial: leave out services that no trace shows.
        values: assignments to parameters of services without marks (``pipeline.runs.FORM``).
        successions: count which data access follows which.
        data_lines: bytes of a data cache's line; for each, loads that may miss are counted.
        runs: runs file; without ``traces`` it says which there are.
        paths: what path models are made with; ``None``: none are made.
        contents: publish what belongs to each logical section, by name.
    """

    firmware: str
    traces: tuple[str, ...]
    services: tuple[str, ...]
    format: str | None = None
    machine: str | None = None
    partial: bool = False
    values: tuple[str, ...] = ()
    runs: str | None = None
    successions: bool = False
    data_lines: tuple[int, ...] = ()
    paths: PathsRequest | None = None
    contents: bool = False


def run(request: Request, progress: Callable[[int], None] | None = None) -> Characterization:
    """Characterizes a kernel.

    Raises:
        InputError: any of the files is not what it should be; see the rooms that read them.
    """
    services = store.load_services(*request.services)
    runs = store.load_runs(request.runs) if request.runs is not None else None
    paths = request.traces or (tuple(runs.runs) if runs is not None else ())
    values = run_values(paths, services, request.values, runs)
    image = load_image(request.firmware)
    table = isa.decode_image(image)
    traces = [
        open_trace(path, image=image, machine=request.machine, format=request.format)
        for path in paths
    ]
    seen = ObservedPaths(table) if request.paths is not None else None
    facts = None if request.paths is None else read(request.paths)
    with _seldom_collected():
        found = characterize(
            traces,
            image,
            table,
            services,
            tool=f"wcetchar {__version__}",
            runs=values,
            partial=request.partial,
            successions=request.successions,
            data_lines=request.data_lines,
            progress=progress,
            paths=seen,
        )
        if request.contents:
            found = with_contents(found, resolve(services, image, table))
        if seen is None or facts is None:
            return found
        resolved = resolve(services, image, table)
        return with_paths(found, [*PathModels(resolved, seen.observed, facts).all()])


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """What is counted lives until the end: to look through it for garbage again and again takes a
    sixth of the time, and finds none."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 50, 1000)
    try:
        yield
    finally:
        gc.set_threshold(*before)
