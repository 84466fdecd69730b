"""wcetchar: characterize a kernel once, price it for any hardware."""

from __future__ import annotations

__version__ = "0.1.0"
