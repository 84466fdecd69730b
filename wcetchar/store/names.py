"""Names of the files that are shipped with the package, and how a name becomes a path.

The package holds ``hwprofiles/`` (a link to the repository's folder, real files in a wheel),
``store/published/`` and ``store/section_rules/``. A shipped profile is named ``<folder>/<file
without .yaml>``; a shipped section map likewise, and its file name begins with ``map``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import wcetchar
from wcetchar.errors import InputError, Location, did_you_mean
from wcetchar.store.source import shown

PACKAGE: Final = Path(wcetchar.__file__).resolve().parent
HARDWARE: Final = PACKAGE / "hwprofiles"
PUBLISHED: Final = PACKAGE / "store" / "published"
SECTION_RULES: Final = PACKAGE / "store" / "section_rules"
_MEASURE: Final = ".measure.yaml"
_MEASURED: Final = ".measured.yaml"
_WORKING_SETS: Final = ".working-sets.yaml"
_PARTITIONS: Final = ".partitions.yaml"
_SLOWDOWNS: Final = ".slowdowns.yaml"
_SHARED_DEVICE: Final = ".shared-device.yaml"


def profile_names() -> tuple[str, ...]:
    """Names of the shipped hardware profiles, sorted."""
    return tuple(name for name in _yaml_names() if not _is_map(name))


def map_names() -> tuple[str, ...]:
    """Names of the shipped section maps, sorted."""
    return tuple(name for name in _yaml_names() if _is_map(name))


def maps_of(profile: str) -> tuple[str, ...]:
    """Shipped section maps for a shipped profile, by its name: the one that has its name, or the
    longest beginning of it; else all of its folder. Empty for other profiles."""
    folder, _, name = profile.rpartition("/")
    near = [other for other in map_names() if folder and other.startswith(f"{folder}/")]
    same = [other for other in near if name.startswith(other.partition("/map-")[2] or "/")]
    return (max(same, key=len),) if same else tuple(near)


def characterization_names() -> tuple[str, ...]:
    """Names of the published characterizations, sorted."""
    return tuple(sorted(path.stem for path in PUBLISHED.glob("*.json")))


def measurement_names() -> tuple[str, ...]:
    """Names of the published measurements, sorted."""
    return _published(_MEASURED)


def working_sets_names() -> tuple[str, ...]:
    """Names of the published files of working sets, sorted."""
    return _published(_WORKING_SETS)


def partitions_names() -> tuple[str, ...]:
    """Names of the published files of partitions, sorted."""
    return _published(_PARTITIONS)


def measure_names() -> tuple[str, ...]:
    """Names of the shipped plans of measurements, sorted."""
    return _published(_MEASURE)


def slowdowns_names() -> tuple[str, ...]:
    """Names of the published files of slowdowns, sorted."""
    return _published(_SLOWDOWNS)


def shared_device_names() -> tuple[str, ...]:
    """Names of the published shared devices, sorted."""
    return _published(_SHARED_DEVICE)


def section_rule_names() -> tuple[str, ...]:
    """Names of the shipped parts of services files that say what the linker sections of a kernel
    are, sorted."""
    return tuple(sorted(path.stem for path in SECTION_RULES.glob("*.yaml")))


def services_path(name_or_path: str, folder: str | Path = "") -> str:
    """Path of a services file, from ``folder``; of the shipped ones by their names, as
    :func:`profile_path`. What is neither is left to whoever opens it."""
    shipped = SECTION_RULES / f"{name_or_path}.yaml"
    path = Path(folder) / name_or_path if folder else Path(name_or_path)
    if name_or_path in section_rule_names() and not path.is_file():
        return str(shipped)
    return str(path) if folder else name_or_path


def profile_path(name_or_path: str) -> str:
    """Path of a profile. A shipped name wins over nothing: an existing file is taken first.

    Raises:
        InputError: neither a file nor a shipped name.
    """
    return _resolve(name_or_path, profile_names(), HARDWARE, ".yaml", "hardware profile")


def map_path(name_or_path: str) -> str:
    """Path of a section map, as :func:`profile_path`."""
    return _resolve(name_or_path, map_names(), HARDWARE, ".yaml", "section map")


def characterization_path(name_or_path: str) -> str:
    """Path of a characterization, as :func:`profile_path`."""
    return _resolve(name_or_path, characterization_names(), PUBLISHED, ".json", "characterization")


def measurements_path(name_or_path: str) -> str:
    """Path of a file of measurements, as :func:`profile_path`."""
    return _resolve(name_or_path, measurement_names(), PUBLISHED, _MEASURED, "set of measurements")


def measure_path(name_or_path: str) -> str:
    """Path of a plan of measurements, as :func:`profile_path`."""
    return _resolve(name_or_path, measure_names(), PUBLISHED, _MEASURE, "plan of measurements")


def working_sets_path(name_or_path: str) -> str:
    """Path of a file of working sets, as :func:`profile_path`."""
    names = working_sets_names()
    return _resolve(name_or_path, names, PUBLISHED, _WORKING_SETS, "file of working sets")


def partitions_path(name_or_path: str) -> str:
    """Path of a file of partitions, as :func:`profile_path`."""
    names = partitions_names()
    return _resolve(name_or_path, names, PUBLISHED, _PARTITIONS, "file of partitions")


def slowdowns_path(name_or_path: str) -> str:
    """Path of a file of slowdowns, as :func:`profile_path`."""
    names = slowdowns_names()
    return _resolve(name_or_path, names, PUBLISHED, _SLOWDOWNS, "file of slowdowns")


def shared_device_path(name_or_path: str) -> str:
    """Path of a shared device, as :func:`profile_path`."""
    names = shared_device_names()
    return _resolve(name_or_path, names, PUBLISHED, _SHARED_DEVICE, "shared device")


def _published(suffix: str) -> tuple[str, ...]:
    return tuple(sorted(p.name.removesuffix(suffix) for p in PUBLISHED.glob("*" + suffix)))


def _yaml_names() -> list[str]:
    return sorted(
        path.relative_to(HARDWARE).with_suffix("").as_posix() for path in HARDWARE.glob("*/*.yaml")
    )


def _is_map(name: str) -> bool:
    return name.rpartition("/")[2].startswith("map")


def is_file(path: str | Path) -> bool:
    """Whether there is a file of that name; no name is a mistake."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):  # a name too long for the system, or one with a NUL
        return False


def beside(folder: Path, name: str | None) -> str | None:
    """A path from the file's folder, where there is such a file; else a name, or a path."""
    if name is None:
        return None
    return str(folder / name) if is_file(folder / name) else name


def _resolve(asked: str, names: tuple[str, ...], folder: Path, suffix: str, what: str) -> str:
    try:
        if Path(asked).is_file():
            return asked
        exists = bool(asked) and Path(asked).exists()
    except (OSError, ValueError):  # a name too long for the system, or one with a NUL
        exists = False
    if asked in names:
        return str(folder / (asked + suffix))
    if exists:
        folder_or_device = "a folder" if Path(asked).is_dir() else "a device or a pipe"
        raise InputError(
            f"is {folder_or_device}, not a file",
            where=Location(asked),
            expected=f"a file: a {what}",
            hint="name a file; it is read more than once, so that mistakes can be located",
        )
    # Only here: names alone are also what a shell completes, and that should be quick.
    from wcetchar.store.checking import one_of

    raise InputError(
        f"no such {what}: {shown(asked)}",
        expected=f"a file, or {one_of(names)}",
        hint=did_you_mean(asked, names) or "check the path, or take one of these",
    )
