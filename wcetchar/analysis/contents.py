"""What belonged to each logical section where a kernel was characterized, by name: so that it can
be found in another program, where it lies elsewhere. Names of functions and objects, and nothing
else of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wcetchar.analysis.resolve import Resolved
from wcetchar.model.characterization import Characterization, Contents


def with_contents(found: Characterization, resolved: Resolved) -> Characterization:
    """``found``, with the contents of each section that has rules of its own."""
    rules = {section.name: section for section in resolved.services.sections}
    image = resolved.image
    present = {section.name for section in image.sections}
    symbols = [s for s in image.symbols if s.kind in ("function", "object") and s.section]
    owners = resolved.sections_of(np.array([s.address for s in symbols], dtype=np.uint64))
    named: dict[str, set[str]] = {}
    for symbol, owner in zip(symbols, owners.tolist(), strict=True):
        if owner >= 0:
            named.setdefault(resolved.section_names[owner], set()).add(symbol.name)
    return replace(
        found,
        sections=tuple(
            info
            if info.either_of
            else replace(
                info,
                contents=Contents(
                    tuple(n for n in rules[info.name].all_linker_sections if n in present),
                    rules[info.name].ranges,
                    tuple(sorted(named.get(info.name, ()))),
                ),
            )
            for info in found.sections
        ),
    )
