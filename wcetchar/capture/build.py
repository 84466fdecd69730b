"""Builds the QEMU plugin from its C source on first use, and keeps it in the user's cache.

The object depends on the source, the compiler and the flags only, so these make its name; a
second process that builds at the same time writes the same file, and each renames its own.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from wcetchar.errors import InputError, Location, ToolMissing

SOURCE: Final = Path(__file__).parent / "plugin" / "wcetchar.c"
FLAGS: Final = ("-O2", "-fPIC", "-shared", "-std=gnu11", "-fvisibility=hidden", "-Wall")
OVERRIDE: Final = "WCETCHAR_PLUGIN"


def cache_directory() -> Path:
    """``$XDG_CACHE_HOME/wcetchar``, or ``~/.cache/wcetchar`` (XDG base directory specification;
    a relative path in the variable is to be ignored)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return Path(base) / "wcetchar"
    try:
        return Path.home() / ".cache" / "wcetchar"
    except RuntimeError as error:
        raise InputError(
            "there is no home folder to keep the QEMU plugin in",
            where=Location("$HOME"),
            expected="a folder for caches",
            hint="set XDG_CACHE_HOME to one",
        ) from error


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
    compiler = shutil.which("cc")
    if compiler is None:
        raise ToolMissing(
            "the QEMU plugin has to be built, but there is no C compiler `cc`",
            expected="gcc or clang with the C library's headers",
            hint=f"apt-get install gcc libc6-dev, or name a built plugin in ${OVERRIDE}",
        )
    target = cache_directory() / f"plugin-{_key(compiler)}.so"
    return target if target.is_file() else _build(compiler, target)


def _key(compiler: str) -> str:
    version = _run([compiler, "--version"])
    digest = hashlib.sha256()
    parts = (SOURCE.read_bytes(), version.stdout.encode(), " ".join(FLAGS).encode())
    for part in (*parts, platform.machine().encode()):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:24]


def _build(compiler: str, target: Path) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".build-", dir=target.parent) as folder:
            made = Path(folder) / target.name
            done = _run([compiler, *FLAGS, "-o", str(made), str(SOURCE)])
            if done.returncode:
                raise InputError(
                    f"the QEMU plugin does not compile with {compiler}",
                    where=Location(str(SOURCE)),
                    expected="gcc or clang with the C library's headers",
                    hint="apt-get install gcc libc6-dev",
                    details=tuple(done.stderr.strip()[-2000:].splitlines()),
                )
            os.replace(made, target)
    except OSError as error:
        raise InputError(
            f"the QEMU plugin cannot be built: {error.strerror}",
            where=Location(str(target.parent)),
            expected="a folder that can be written",
            hint="set XDG_CACHE_HOME to one",
        ) from error
    return target


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", env=environment, check=False
    )
