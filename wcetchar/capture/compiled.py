"""Compiles a C source that is shipped on first use, and keeps the result in the user's cache.

The result depends on the source, the compiler and the flags only, so these make its name; a
second process that builds at the same time writes the same file, and each renames its own.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from wcetchar.errors import InputError, Location, ToolMissing


def cache_directory(what: str) -> Path:
    """``$XDG_CACHE_HOME/wcetchar``, or ``~/.cache/wcetchar`` (XDG base directory specification;
    a relative path in the variable is to be ignored). ``what`` is kept there."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return Path(base) / "wcetchar"
    try:
        return Path.home() / ".cache" / "wcetchar"
    except RuntimeError as error:
        raise InputError(
            f"there is no home folder to keep {what} in",
            where=Location("$HOME"),
            expected="a folder for caches",
            hint="set XDG_CACHE_HOME to one",
        ) from error


def compiled(source: Path, flags: Sequence[str], name: str, what: str, instead: str = "") -> Path:
    """What ``cc`` makes of ``source``, built if need be.

    Args:
        name: of the file in the cache, with one ``*`` for what tells builds apart.
        what: it is, with its article.
        instead: of a compiler, what helps.

    Raises:
        ToolMissing: it has to be built and there is no C compiler.
        InputError: the compiler fails, or the cache cannot be used.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        raise ToolMissing(
            f"{what} has to be built, but there is no C compiler `cc`",
            expected="gcc or clang with the C library's headers",
            hint=f"apt-get install gcc libc6-dev{instead}",
        )
    key = _key(compiler, source, flags)
    target = cache_directory(what) / name.replace("*", key)
    return target if target.is_file() else _build(compiler, source, flags, target, what)


def _key(compiler: str, source: Path, flags: Sequence[str]) -> str:
    version = _run([compiler, "--version"])
    digest = hashlib.sha256()
    parts = (source.read_bytes(), version.stdout.encode(), " ".join(flags).encode())
    for part in (*parts, platform.machine().encode()):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:24]


def _build(compiler: str, source: Path, flags: Sequence[str], target: Path, what: str) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".build-", dir=target.parent) as folder:
            made = Path(folder) / target.name
            done = _run([compiler, *flags, "-o", str(made), str(source)])
            if done.returncode:
                raise InputError(
                    f"{what} does not compile with {compiler}",
                    where=Location(str(source)),
                    expected="gcc or clang with the C library's headers",
                    hint="apt-get install gcc libc6-dev",
                    details=tuple(done.stderr.strip()[-2000:].splitlines()),
                )
            os.replace(made, target)
    except OSError as error:
        raise InputError(
            f"{what} cannot be built: {error.strerror}",
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
