"""``python -m wcetchar``."""

from wcetchar.cli import program

program()
