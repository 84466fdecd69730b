"""What pages share: templates, and that they take nothing from outside.

A page allows itself its own style and script by their hashes, and nothing else
(Content-Security-Policy level 2, section 4.2.5).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from wcetchar.report.numbers import grouped, percent
from wcetchar.report.paths_boxes import heat_of


@cache
def environment() -> Environment:
    """Of templates; all that stands in them is text unless it says otherwise."""
    found = Environment(
        loader=PackageLoader("wcetchar.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: Mapping[str, object] = {
        "ns": lambda value: grouped(value),
        "share": lambda value: percent(value, 1),
        "heat": heat_of,
        "kind": lambda block: type(block).__name__,
        "breakable": lambda name: _breakable(name),
        "figure": lambda text: _figure(text),
    }
    found.filters.update(filters)
    return found


@cache
def part(*names: str) -> str:
    """Of a page, as it stands in the folder of templates; of several, one behind the other."""
    loader = environment().loader
    assert loader is not None
    return "".join(loader.get_source(environment(), name)[0] for name in names)


def policy(style: str, script: str) -> str:
    """What the page may use: this style, this script, and nothing from anywhere else."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def data(value: object) -> Markup:
    """For a ``<script type="application/json">``, which no text in it can end."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _breakable(name: str) -> Markup:
    """A name that may go on in the next line behind a stroke."""
    return Markup("<wbr>").join(escape(part) for part in re.split("(?<=[/_])", name))


def _figure(text: str) -> tuple[str, str]:
    """A time with its unit, and what stands behind it."""
    number, unit, rest = text.partition(" ns")
    return number + unit, rest


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
