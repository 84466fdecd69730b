"""Options that verbs of ``wcetchar system`` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from wcetchar.cli import completing

F = TypeVar("F", bound=Callable[..., Any])


def hardware_options(command: F) -> F:
    """``--profile`` and ``--map``, in the place of those that a system file names."""
    section_map = click.option(
        "section_map",
        "--map",
        metavar="NAME|FILE",
        help="Section map, in the place of the file's own; with --profile alone, the profile's.",
        shell_complete=completing.maps,
    )
    profile = click.option(
        "--profile",
        metavar="NAME|FILE",
        help="Hardware profile, in the place of the file's own.",
        shell_complete=completing.profiles,
    )
    return profile(section_map(command))
