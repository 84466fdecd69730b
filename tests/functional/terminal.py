"""Runs the command with standard error on a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
from pathlib import Path

from bad_input import PROGRAM


def on_terminal(*arguments: str, cwd: Path | None = None) -> tuple[int, str, str]:
    """(exit code, standard output, everything that the terminal got), 200 columns wide."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    got: list[bytes] = []

    def read() -> None:
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # EIO: nobody has the other end open any more
                return
            if not part:
                return
            got.append(part)

    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    environment["TERM"] = "xterm-256color"
    try:
        process = subprocess.Popen(
            [*PROGRAM, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=slave,
            cwd=cwd,
            env=environment,
            text=True,
        )
    finally:
        os.close(slave)
    reader = threading.Thread(target=read)
    reader.start()
    output, _ = process.communicate(timeout=300)
    reader.join(timeout=60)
    os.close(master)
    return process.returncode, output, b"".join(got).decode()
