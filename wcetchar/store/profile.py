"""The hardware profile file."""

from wcetchar.model.hardware import HardwareProfile


def load_profile(name_or_path: str) -> HardwareProfile:
    """Read a hardware profile by shipped name or by path."""
    raise NotImplementedError
