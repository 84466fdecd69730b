"""What a shell completes of arguments: names that are shipped, files, and what stands in the
characterization that the command line names already.

Every verb imports this, and a shell asks at each press of a key, so all else is imported where it
is used, and of a characterization only names are read. What cannot be read completes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from wcetchar.errors import WcetcharError, one_line

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

_MOST_BYTES: Final = 1 << 28
_GIVEN: Final = ("characterization", "characterizations", "subject")
"""Names of parameters that are characterizations."""


def profiles(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Hardware profiles."""
    from wcetchar.store import profile_names

    return _names_and_files(incomplete, profile_names(), ".yaml")


def maps(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Section maps: those for the profiles that are named already, else all."""
    from wcetchar.store import map_names, maps_of

    named = ctx.params.get("profiles") or ctx.params.get("profile") or ()
    mine = [name for one in _each(named) for name in maps_of(one)]
    return _names_and_files(incomplete, list(dict.fromkeys(mine)) or map_names(), ".yaml")


def characterizations(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from wcetchar.store import characterization_names

    return _names_and_files(incomplete, characterization_names(), ".json")


def plans(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Plans of measurements."""
    from wcetchar.store import measure_names

    return _names_and_files(incomplete, measure_names(), ".yaml")


def section_rules(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Services files."""
    from wcetchar.store import section_rule_names

    return _names_and_files(incomplete, section_rule_names(), ".yaml")


def schemas(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Kinds of files that have a schema."""
    from wcetchar.store.shipped_schemas import schema_names

    return _items(schema_names(), incomplete)


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [_file(incomplete)]


def services(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Services of the characterizations that are named already; of one that another thread cuts
    its own name as well as those of its parts."""
    from wcetchar.model.service import whole_of

    names = [name for service in _services(ctx) if (name := _name(service))]
    return _items(dict.fromkeys([*map(whole_of, names), *names]), incomplete)


def parameters(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Parameters of the services that are named already, else of all."""
    from wcetchar.model.service import whole_of

    asked = set(ctx.params.get("services") or ())
    found: dict[str, None] = {}
    for service in _services(ctx):
        if asked and not asked & {_name(service), whole_of(_name(service))}:
            continue
        listed = service.get("parameters")
        for parameter in listed if isinstance(listed, list) else []:
            if isinstance(parameter, dict) and _name(parameter):
                found[f"{_name(parameter)}="] = None
    return _items(found, incomplete)


def _names_and_files(incomplete: str, names: Iterable[str], suffix: str) -> list[CompletionItem]:
    """Shipped names, and files of that kind beside them; where none fits, any path."""
    near = sorted(_files(incomplete, suffix)) if not incomplete.startswith("~") else []
    return _items([*names, *near], incomplete) or [_file(incomplete)]


def _files(incomplete: str, suffix: str) -> Iterator[str]:
    folder, slash, _ = incomplete.rpartition("/")
    try:
        for path in Path(folder or slash or ".").iterdir():
            if path.suffix == suffix and path.is_file():
                yield f"{folder}{slash}{path.name}"
    except (OSError, ValueError):
        return


def _items(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Those that begin so, without what a shell's script could not carry."""
    from click.shell_completion import CompletionItem

    fit = (name for name in names if name.startswith(incomplete) and one_line(name) == name)
    return [CompletionItem(name) for name in fit if not set(name) & set(" ,'\"\\`$*?[")]


def _file(incomplete: str) -> CompletionItem:
    from click.shell_completion import CompletionItem

    return CompletionItem(incomplete, type="file")


def _each(value: Any) -> Sequence[str]:
    return [value] if isinstance(value, str) else list(value)


def _services(ctx: click.Context) -> list[dict[str, Any]]:
    # Arguments that stand before the option that is being completed are not assigned yet.
    given = next((ctx.params[name] for name in _GIVEN if ctx.params.get(name)), ctx.args)
    found = []
    for one in _each(given):
        data = _read(one)
        listed = data.get("services") if isinstance(data, dict) else None
        found += listed if isinstance(listed, list) else []
    return [service for service in found if isinstance(service, dict)]


def _read(name: str) -> Any:
    from wcetchar.store.names import characterization_path

    try:
        path = Path(characterization_path(name))
        if path.stat().st_size > _MOST_BYTES:
            return None
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError, WcetcharError):
        return None


def _name(data: dict[str, Any]) -> str:
    name = data.get("name")
    return name if isinstance(name, str) else ""
