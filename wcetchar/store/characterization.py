"""Characterization: JSON <-> :class:`wcetchar.model.characterization.Characterization`.

The text is canonical: keys in the order of the format, mappings and counts sorted, one trailing
newline. The same characterization gives the same bytes, and reading them gives it back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from wcetchar import formula
from wcetchar.errors import InputError, Location, did_you_mean
from wcetchar.model.access import LINE_LOADS, UNKNOWN_SECTION, WAYS_OF_LINE_LOADS
from wcetchar.model.cache import LINE_BYTES
from wcetchar.model.characterization import SCHEMA_VERSION, Characterization
from wcetchar.store.characterization_doc import KIND, CharacterizationDoc, plain
from wcetchar.store.checking import list_at, mapping_at, one_of, validate
from wcetchar.store.fetched_lines import check_lines
from wcetchar.store.json_source import MAX_BYTES, parse_json, read_json
from wcetchar.store.names import characterization_path
from wcetchar.store.parameter_names import parameter_name_mistake
from wcetchar.store.path_models import check_paths
from wcetchar.store.source import Source, Steps, shown
from wcetchar.store.used_lines import check_used_lines

_LINE: Final = 100
_LARGEST: Final = 3  # services that are named where a file is too large


def load_characterization(path_or_name: str) -> Characterization:
    """Read a characterization by path or by the name of a published one (``renaux2010``).

    Raises:
        InputError: no such file, not a characterization, of a newer version, or mistakes in it;
            all of them at once as ``InputErrors``.
    """
    return _from_source(read_json(characterization_path(path_or_name)))


def characterization_json(characterization: Characterization) -> str:
    """The canonical text of a characterization.

    Raises:
        InputError: it breaks a rule of the format (a negative count, a section that is not
            declared, instructions that do not add up, ...), so that it could not be read back;
            or it is larger than what is read.
    """
    content = plain(characterization)
    text = _render(content, 0) + "\n"
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise _too_large(content, size)
    again = _from_source(parse_json(text, "characterization"))
    # Compared as text: a negative number and the negation of a number are one formula there.
    assert _encode(plain(again)) == _encode(content), "the text does not read back"
    return text


def _too_large(content: dict[str, Any], size: int) -> InputError:
    services = content["services"]
    largest = sorted(services, key=lambda s: -len(_render(s, 0)))[:_LARGEST]
    return InputError(
        f"the characterization has {size:,} bytes",
        where=Location("characterization"),
        expected=f"at most {MAX_BYTES:,}, which is what is read",
        hint="the largest services are " + ", ".join(str(s["name"]) for s in largest) + ": a table "
        "holds every point, so show fewer values of their parameters, or such that a formula holds",
    )


def _from_source(source: Source) -> Characterization:
    _check_kind(source)
    document = validate(CharacterizationDoc, source, _CHECKS)
    source.fail_on_mistakes()
    assert document is not None
    return document.to_model()


def _check_kind(source: Source) -> None:
    """A foreign file or one of another version gets one message, not a hundred."""
    data = source.data
    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise InputError(
            "the file is not a characterization",
            where=source.where(("kind",)),
            expected=f'an object with "kind": "{KIND}"',
            hint="`wcetchar characterize` writes one",
        )
    version = data.get("schema_version")
    if version != SCHEMA_VERSION or isinstance(version, bool):
        newer = isinstance(version, int) and version > SCHEMA_VERSION
        raise InputError(
            f"the characterization is of schema version {shown(version)}",
            where=source.where(("schema_version",)),
            expected=f"version {SCHEMA_VERSION}",
            hint="use a newer wcetchar" if newer else "characterize again with this wcetchar",
        )


_encode: Final = json.JSONEncoder(ensure_ascii=False).encode


def _render(value: Any, indent: int) -> str:
    """Indented JSON in which whatever fits in a line, or holds nothing that nests, stays on one."""
    line = _encode(value)
    if not isinstance(value, (dict, list)) or (indent and len(line) + indent <= _LINE):
        return line
    if isinstance(value, dict) and not any(isinstance(v, (dict, list)) for v in value.values()):
        return line
    inner = " " * (indent + 1)
    if isinstance(value, dict):
        parts = [
            f"{inner}{_encode(key)}: {_render(item, indent + 1)}" for key, item in value.items()
        ]
        opening, closing = "{", "}"
    else:
        parts = [inner + _render(item, indent + 1) for item in value]
        opening, closing = "[", "]"
    return opening + "\n" + ",\n".join(parts) + "\n" + " " * indent + closing


def _services(source: Source) -> Iterator[tuple[int, Any]]:
    for index, service in enumerate(list_at(source.data, "services")):
        if isinstance(service, dict):
            yield index, service


def _check_names(source: Source) -> None:
    for key in ("sections", "services"):
        _once(source, (key,), list_at(source.data, key), key[:-1])
    _once(source, ("not_characterized",), list_at(source.data, "not_characterized"), "service")
    names = [service.get("name") for _, service in _services(source)]
    counted = {name for name in names if isinstance(name, str)}
    for index, missing in enumerate(list_at(source.data, "not_characterized")):
        name = missing.get("name") if isinstance(missing, dict) else None
        if isinstance(name, str) and name in counted:
            source.report(
                ("not_characterized", index, "name"),
                f"the service {shown(name)} is characterized",
                expected="a service that is not among `services`",
            )
    for index, service in _services(source):
        steps: Steps = ("services", index, "parameters")
        parameters = list_at(service, "parameters")
        _once(source, steps, parameters, "parameter")
        for number, parameter in enumerate(parameters):
            name = parameter.get("name") if isinstance(parameter, dict) else None
            mistake = parameter_name_mistake(name) if isinstance(name, str) else None
            if mistake:
                source.report((*steps, number, "name"), mistake, expected="letters, digits and _")
            if isinstance(parameter, dict):
                low, high = parameter.get("minimum"), parameter.get("maximum")
                if isinstance(low, int) and isinstance(high, int) and low > high:
                    source.report(
                        (*steps, number, "minimum"),
                        f"the minimum {low} is above the maximum {high}",
                        expected="minimum <= maximum",
                    )


def _once(source: Source, steps: Steps, items: list[Any], what: str) -> None:
    seen: dict[str, Steps] = {}
    for index, item in enumerate(items):
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str):
            continue
        at: Steps = (*steps, index, "name")
        if name in seen:
            source.report(
                at,
                f"the {what} {shown(name)} is given twice; it first stands at "
                f"{source.where(seen[name])}",
                expected=f"every {what} once",
            )
        seen.setdefault(name, at)


def _known_sections(source: Source) -> set[str]:
    sections = [s.get("name") for s in list_at(source.data, "sections") if isinstance(s, dict)]
    return {name for name in sections if isinstance(name, str)} | {UNKNOWN_SECTION}


def _check_joint(source: Source) -> None:
    """What a section is either of are sections that are placed."""
    sections = [s for s in list_at(source.data, "sections") if isinstance(s, dict)]
    placed = [s.get("name") for s in sections if not s.get("either_of")]
    for index, section in enumerate(list_at(source.data, "sections")):
        for number, part in enumerate(list_at(section, "either_of")):
            if part not in placed:
                source.report(
                    ("sections", index, "either_of", number),
                    f"{shown(part)} is no section that is placed",
                    expected="the name of another section",
                )


def _check_counts(source: Source) -> None:
    known = _known_sections(source)
    for index, service in _services(source):
        parameters = [p.get("name") for p in list_at(service, "parameters") if isinstance(p, dict)]
        names = tuple(name for name in parameters if isinstance(name, str))
        at: Steps = ("services", index)
        for steps, counts in _tables(service, at):
            _check_table(source, steps, counts, names, known)
        entries = mapping_at(service, "lines").get("entries")
        _check_table(source, (*at, "lines", "entries"), entries, names, known)
        for key in ("fitted", "held_out"):
            for number, values in enumerate(list_at(service, "evidence", key)):
                _check_values(source, (*at, "evidence", key, number), values, names)


def _tables(service: Any, at: Steps) -> Iterator[tuple[Steps, Any]]:
    """What is counted of a service and of its stretches."""
    yield (*at, "counts"), service.get("counts")
    for number, stretch in enumerate(list_at(service, "stretches")):
        yield (*at, "stretches", number, "counts"), mapping_at(stretch).get("counts")


def _parts(source: Source) -> Iterator[tuple[Steps, list[Any]]]:
    """The rows of each table; of a table of points, those of each point."""
    for index, service in _services(source):
        for steps, counts in _tables(service, ("services", index)):
            yield steps, list_at(counts, "rows")
            for number, point in enumerate(list_at(counts, "points")):
                yield (*steps, "points", number), list_at(point, "rows")


def _check_table(
    source: Source, steps: Steps, counts: Any, names: tuple[str, ...], known: set[str]
) -> None:
    if not isinstance(counts, dict):
        return
    if ("rows" in counts) == ("points" in counts):
        source.report(
            steps, "the counts need rows or points, one of the two", expected='"rows" or "points"'
        )
    for index, row in enumerate(list_at(counts, "rows")):
        _check_row(source, (*steps, "rows", index), row, names, known)
    points = list_at(counts, "points")
    if counts.get("points") == []:
        source.report((*steps, "points"), "there is no point", expected="at least one point")
    before: list[Any] | None = None
    for index, point in enumerate(points):
        at: Steps = (*steps, "points", index)
        values = list_at(point, "values")
        _check_values(source, (*at, "values"), values, names)
        if _integers(values):
            if before is not None and not before < values:
                source.report(
                    (*at, "values"),
                    f"the point {values} does not come after {before}",
                    expected="points sorted by their values, each once",
                )
            before = values
        for number, row in enumerate(list_at(point, "rows")):
            row_at: Steps = (*at, "rows", number)
            _check_row(source, row_at, row, (), known)
            if isinstance(row, dict) and row.get("repetition") not in (None, "1"):
                source.report(
                    (*row_at, "repetition"),
                    f"the repetition {shown(row['repetition'])} stands in a table of points",
                    expected='"1"',
                )


def _integers(values: list[Any]) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def _check_values(source: Source, steps: Steps, values: Any, names: tuple[str, ...]) -> None:
    if isinstance(values, list) and len(values) != len(names):
        source.report(
            steps,
            f"{len(values)} values for {len(names)} parameters",
            expected="one value for each parameter: " + (", ".join(names) or "none"),
        )


def _check_row(
    source: Source, steps: Steps, row: Any, names: tuple[str, ...], known: set[str]
) -> None:
    text = mapping_at(row).get("repetition")
    if isinstance(text, str):
        try:
            formula.parse(text, names=names)
        except InputError as error:
            source.report(
                (*steps, "repetition"), error.message, expected=error.expected, hint=error.hint
            )
    seen: set[tuple[Any, ...]] = set()
    for index, entry in enumerate(list_at(row, "counts")):
        if not isinstance(entry, dict):
            continue
        at: Steps = (*steps, "counts", index)
        access = [key for key in ("operation", "width", "pattern") if entry.get(key) is not None]
        if entry.get("event") is not None and access:
            source.report(
                (*at, access[0]), "an event has no operation, width or pattern", expected="either"
            )
        elif entry.get("event") is None and len(access) < 3:
            source.report(
                at,
                "a count is neither of an access nor of an event",
                expected='"operation", "width" and "pattern", or "event"',
            )
        _check_section(source, at, entry, known)
        _check_line_load(source, at, entry)
        if entry.get("count") == 0:
            source.report((*at, "count"), "a count of zero", expected="only what is counted")
        identity = tuple(
            str(entry.get(key)) for key in ("section", "operation", "width", "pattern", "event")
        )
        if identity in seen:
            source.report(at, "this class is counted twice in one row", expected="each class once")
        seen.add(identity)
    declared = len(list_at(source.data, "successions"))
    for number, count in mapping_at(row, "successions").items():
        at = (*steps, "successions", number)
        if number.isdecimal() and int(number) >= declared:
            source.report(
                at,
                f"there is no succession {number}",
                expected=f"a number below {declared}, that of the file's successions",
                key=True,
            )
        if count == 0:
            source.report(at, "a count of zero", expected="only what is counted")


_LINE_OF: Final = {kind.value: line for (line, _), kinds in LINE_LOADS.items() for kind in kinds}


def _check_line_loads(source: Source) -> None:
    """Whatever reads loads a line at least: a file that says that it counts these, and does not,
    would be too low without a word."""
    sizes = [size for size in list_at(source.data, "data_lines") if size in LINE_BYTES]
    if not sizes:
        return
    wanted = [
        (f"line load {size} x{ways}", [kind.value for kind in LINE_LOADS[size, ways]])
        for size in dict.fromkeys(sizes)
        for ways in WAYS_OF_LINE_LOADS
    ]
    for steps, rows in _parts(source):
        entries = [e for row in rows for e in list_at(row, "counts") if isinstance(e, dict)]
        if not any(entry.get("operation") in ("read", "access") for entry in entries):
            continue
        events = {str(entry.get("event")) for entry in entries}
        missing = [name for name, kinds in wanted if not events & {*kinds}]
        if missing:
            source.report(
                steps,
                f"something is read here, but no `{missing[0]}` is counted",
                expected="what `data_lines` promises, or no `data_lines`",
                hint="characterize again; figures from this file cannot be trusted",
            )


def _check_line_load(source: Source, at: Steps, entry: dict[str, Any]) -> None:
    """Of a size that the file says is counted: one that is not counted everywhere is too low."""
    event = entry.get("event")
    line = _LINE_OF.get(event) if isinstance(event, str) else None
    if line is not None and line not in list_at(source.data, "data_lines"):
        source.report(
            (*at, "event"),
            f"loads of lines of {line} bytes are counted, which `data_lines` does not name",
            expected=f"{line} among `data_lines`",
            hint="characterize again; figures from this file cannot be trusted",
        )


def _check_section(source: Source, at: Steps, entry: Any, known: set[str]) -> None:
    section = mapping_at(entry).get("section")
    if isinstance(section, str) and section not in known:
        source.report(
            (*at, "section"),
            f"the section {shown(section)} is not declared",
            expected=one_of(sorted(known)),
            hint=did_you_mean(section, known),
        )


def _check_successions(source: Source) -> None:
    """Their sections are declared, and each is given once."""
    known = _known_sections(source)
    seen: dict[str, int] = {}
    for number, one in enumerate(list_at(source.data, "successions")):
        if not isinstance(one, dict):
            continue
        at: Steps = ("successions", number)
        for key in ("before", "access"):
            if isinstance(one.get(key), dict):
                _check_section(source, (*at, key), one[key], known)
        for key in ("between", "then"):
            for index, event in enumerate(list_at(one, key)):
                if isinstance(event, dict):
                    _check_section(source, (*at, key, index), event, known)
        told = [key for key in ("before", "settled", "called") if one.get(key)]
        if len(told) > 1:
            source.report(
                (*at, told[1]),
                f"{' and '.join(told)} are said of one succession",
                expected="one of before, settled and called, which say what came before",
            )
        identity = json.dumps(one, sort_keys=True)
        if identity in seen:
            source.report(
                at, f"this is succession {seen[identity]} again", expected="each of them once"
            )
        seen.setdefault(identity, number)


def _check_conservation(source: Source) -> None:
    conservation = mapping_at(source.data, "conservation")
    traced = conservation.get("traced", 0)
    parts: list[Any] = [
        part.get("instructions") if isinstance(part, dict) else None
        for key in ("attributed", "unattributed")
        for part in list_at(conservation, key)
    ]
    if conservation and _integers([traced, *parts]) and sum(parts) != traced:
        source.report(
            ("conservation", "traced"),
            f"{traced} instructions were traced, but the parts add up to {sum(parts)}",
            expected="every traced instruction in exactly one part",
            hint="characterize again; figures from this file cannot be trusted",
        )


_CHECKS: Final[tuple[Callable[[Source], None], ...]] = (
    _check_names,
    _check_joint,
    _check_counts,
    _check_line_loads,
    _check_successions,
    _check_conservation,
    check_lines,
    check_used_lines,
    check_paths,
)
