"""The QEMU plugin, built from its C source on first use and kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from wcetchar.capture.compiled import compiled
from wcetchar.errors import InputError, Location

SOURCE: Final = Path(__file__).parent / "plugin" / "wcetchar.c"
FLAGS: Final = ("-O2", "-fPIC", "-shared", "-std=gnu11", "-fvisibility=hidden", "-Wall")
OVERRIDE: Final = "WCETCHAR_PLUGIN"


def plugin_path() -> Path:
    """The plugin, built if need be; ``$WCETCHAR_PLUGIN`` names one that is built already.

    Raises:
        ToolMissing: it has to be built and there is no C compiler.
        InputError: the compiler fails, or the named plugin or the cache cannot be used.
    """
    named = os.environ.get(OVERRIDE)
    if named:
        if not os.path.isfile(named):
            raise InputError(
                f"${OVERRIDE} names no file",
                where=Location(named),
                expected="the plugin, compiled",
                hint=f"unset {OVERRIDE} to have it built",
            )
        return Path(named).resolve()
    instead = f", or name a built plugin in ${OVERRIDE}"
    return compiled(SOURCE, FLAGS, "plugin-*.so", "the QEMU plugin", instead)
