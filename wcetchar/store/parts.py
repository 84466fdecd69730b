"""Several YAML files read as one document.

Each key stands in one file. Only the mappings that are named as continued may have entries in
several files; the entries themselves are whole in one. What differs from one architecture to the
other can be given under ``instead``: keys of entries that stand in another file, in their place;
settings of another value under ``configuration instead``. ``only services`` names the entries that
are read, where a firmware has a few of them. Lists that are named as growing go on in another file.
Every node keeps the place it has in its own file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from wcetchar.errors import InputError, InputErrors, Location
from wcetchar.store.document import read_document
from wcetchar.store.source import Source, Steps, shown

_SCHEMA: Final = "schema"
INSTEAD: Final = "instead"
"""Of a part: entry -> keys of it that are given in the place of those in another part."""
SETTINGS_INSTEAD: Final = "configuration instead"
"""Of a part: setting -> its value, in the place of that in another part."""
SETTINGS: Final[Steps] = ("kernel", "configuration")
ONLY: Final = "only services"
"""Of a part: the names of the entries that are read; all others are left out."""
OF_A_PART: Final = (INSTEAD, SETTINGS_INSTEAD, ONLY)


def read_parts(
    paths: Sequence[str],
    schema: str,
    continued: Collection[Steps],
    amended: str,
    growing: Collection[str] = (),
) -> Source:
    """Read files that each say ``schema: <schema>`` as one document.

    Args:
        paths: at least one; what has no place of its own, such as a missing key, is reported at
            the first.
        continued: mappings that may have entries in several files.
        amended: the mapping whose entries ``instead`` and ``only services`` are about.
        growing: lists that may go on in several files, in the order of these.

    Raises:
        InputError: a file cannot be read, or is of another kind; ``InputErrors`` if several are.
    """
    parts: list[Source] = []
    unusable: list[InputError] = []
    for path in paths:
        try:
            parts.append(read_document(path, schema))
        except InputError as error:
            unusable.extend(error.each)
    if len(unusable) > 1:
        raise InputErrors(unusable)
    if unusable:
        raise unusable[0]
    return parts[0] if len(parts) == 1 else _Joined(parts, continued, amended, growing).source


class _Joined:
    """The document that ``parts`` make together; ``owners`` says which part a node is from."""

    def __init__(
        self,
        parts: Sequence[Source],
        continued: Collection[Steps],
        amended: str,
        growing: Collection[str],
    ) -> None:
        # A mapping on the way to a continued one is continued as well: `kernel` for `kernel:
        # configuration`. Its other keys stand in one file, like any other key.
        self.continued = {steps[:n] for steps in continued for n in range(1, len(steps) + 1)}
        self.owners: dict[Steps, Source] = {(): parts[0]}
        self.instead: dict[Steps, Source] = {}
        """Whose ``instead`` gives the key of an entry."""
        self.settings: dict[Steps, Source] = {}
        """Whose ``configuration instead`` gives a setting."""
        self.growing = growing
        self.items: dict[Steps, tuple[Source, int]] = {}
        """Item of a growing list -> whose it is, and which of that one's."""
        data: dict[str, object] = {}
        self.source = Source(parts[0].path, data, self._place, advice=parts[0].advice)
        for part in parts:
            self.source.mistakes.extend(part.mistakes)
            self.source.unreadable.update(part.unreadable)
        for part in parts:
            assert isinstance(part.data, dict)
            more = {name: value for name, value in part.data.items() if name not in OF_A_PART}
            self._join((), data, part, more)
        for part in parts:
            assert isinstance(part.data, dict)
            self._amend(amended, data.get(amended), part, part.data.get(INSTEAD, {}))
            self._set(data, part, part.data.get(SETTINGS_INSTEAD, {}))
        self._leave_out(amended, data, parts)

    def _amend(self, amended: str, entries: object, part: Source, instead: object) -> None:
        if not isinstance(instead, dict):
            self._mistaken(part, (INSTEAD,), "this is no mapping", f"{amended} by name")
            return
        for name, keys in instead.items():
            entry = entries.get(name) if isinstance(entries, dict) else None
            if not isinstance(entries, dict) or not isinstance(entry, dict):
                self._mistaken(
                    part,
                    (INSTEAD, name),
                    f"{shown(name)} stands in no other file",
                    f"one of the {amended}, some of whose keys are given anew here",
                )
                continue
            if not isinstance(keys, dict):
                self._mistaken(part, (INSTEAD, name), "this is no mapping", "keys of the entry")
                continue
            entries[name] = entry = dict(entry)
            for key, value in keys.items():
                steps = (amended, name, key)
                if steps in self.instead:
                    self._twice(steps, part)
                    continue
                self.instead[steps] = part
                entry[key] = value

    def _set(self, data: Mapping[str, object], part: Source, instead: object) -> None:
        settings: object = data
        for step in SETTINGS:
            settings = settings.get(step) if isinstance(settings, dict) else None
        if not isinstance(instead, dict):
            self._mistaken(part, (SETTINGS_INSTEAD,), "this is no mapping", "settings by name")
            return
        for name, value in instead.items():
            steps = (*SETTINGS, name)
            if not isinstance(settings, dict) or name not in settings:
                self._mistaken(
                    part,
                    (SETTINGS_INSTEAD, name),
                    f"{shown(name)} stands in no other file",
                    "a setting of `configuration` that has another value here",
                )
            elif steps in self.settings:
                self._twice(steps, part)
            else:
                self.settings[steps] = part
                settings[name] = value

    def _leave_out(self, amended: str, data: dict[str, object], parts: Sequence[Source]) -> None:
        """Drops the entries that ``only services`` does not name."""
        first: Source | None = None
        for part in parts:
            assert isinstance(part.data, dict)
            if ONLY not in part.data:
                continue
            if first is not None:
                what = f"the key {shown(ONLY)} is given twice, first at "
                what += str(first.where((ONLY,), key=True))
                self._mistaken(part, (ONLY,), what, "it in one of the files")
                continue
            first = part
            names, entries = part.data[ONLY], data.get(amended)
            if not isinstance(names, list) or not names:
                self._mistaken(part, (ONLY,), "this is no list of names", f"names of {amended}")
            elif isinstance(entries, dict):
                data[amended] = self._chosen(part, names, entries, amended)

    def _chosen(
        self, part: Source, names: Sequence[object], entries: Mapping[str, object], amended: str
    ) -> dict[str, object]:
        for index, name in enumerate(names):
            if not isinstance(name, str) or name not in entries:
                what = f"{shown(name)} stands in no file"
            elif name in names[:index]:
                what = f"{shown(name)} is listed twice"
            else:
                continue
            self._mistaken(part, (ONLY, index), what, f"one of the {amended}, each once")
        for steps, owner in self.instead.items():
            if steps[1] not in names:
                what = f"{shown(steps[1])} is not among the {shown(ONLY)}"
                self._mistaken(owner, (INSTEAD, *steps[1:]), what, f"one of the {amended} there")
        return {name: entry for name, entry in entries.items() if name in names}

    def _mistaken(self, part: Source, steps: Steps, what: str, expected: str) -> None:
        self.source.mistakes.append(
            InputError(what, where=part.where(steps, key=True), expected=expected)
        )

    def _place(self, steps: Steps, key: bool) -> Location | None:
        given = self.instead.get(steps[:3])
        if given is not None:
            return given.place((INSTEAD, *steps[1:]), key)
        if steps in self.settings:
            return self.settings[steps].place((SETTINGS_INSTEAD, steps[-1]), key)
        if steps[:2] in self.items:
            part, number = self.items[steps[:2]]
            return part.place((steps[0], number, *steps[2:]), key)
        for length in range(len(steps), -1, -1):
            owner = self.owners.get(steps[:length])
            if owner is not None:
                return owner.place(steps, key)
        return None

    def _join(
        self, at: Steps, into: dict[str, object], part: Source, more: Mapping[str, object]
    ) -> None:
        for key, value in more.items():
            steps = (*at, key)
            if steps == (_SCHEMA,) and key in into:
                continue
            known = into.get(key)
            if steps in self.continued and isinstance(value, dict):
                if key not in into:
                    self.owners[steps] = part
                    into[key] = known = {}
                if isinstance(known, dict):
                    self._join(steps, known, part, value)
                    continue
            if len(steps) == 1 and key in self.growing and isinstance(value, list):
                grown = into.setdefault(key, [])
                self.owners.setdefault(steps, part)
                if isinstance(grown, list):
                    for number, item in enumerate(value):
                        self.items[key, len(grown)] = (part, number)
                        grown.append(item)
                    continue
            if key in into:
                self._twice(steps, part)
            else:
                self.owners[steps] = part
                into[key] = value

    def _twice(self, steps: Steps, part: Source) -> None:
        """A mistake of both files, since nobody but their authors can tell which is right."""
        if steps in self.instead or steps in self.settings:
            owners, there = self.instead, (INSTEAD, *steps[1:])
            if steps in self.settings:
                owners, there = self.settings, (SETTINGS_INSTEAD, steps[-1])
            first, second = owners[steps].where(there, key=True), part.where(there, key=True)
        else:
            first, second = self.owners[steps].where(steps, key=True), part.where(steps, key=True)
        what = f"the key {shown(steps[-1])} is given twice"
        for where, other in ((first, f"again at {second}"), (second, f"first at {first}")):
            self.source.mistakes.append(
                InputError(
                    f"{what}, {other}",
                    where=where,
                    expected="every key in one of the files",
                    hint="remove one of the two",
                )
            )
