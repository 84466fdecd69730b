"""``python -m wcetchar``."""

from wcetchar.cli import main

main()
