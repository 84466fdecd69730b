"""Plain data -> pydantic document, with every mistake of the file at its place.

Pydantic finds all structural mistakes at once; this module puts them into words and places, and
adds the checks across nodes that a document module brings. Those checks look at the plain data,
so that they speak up even where the structure has mistakes of its own.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from wcetchar.errors import InputError, did_you_mean
from wcetchar.store.source import PlainInt, Source, Steps, shown

D = TypeVar("D", bound=BaseModel)


def _plain_text(value: object) -> object:
    """`version: 11` and `version: 11.2` mean text where text is due."""
    return value.text if isinstance(value, PlainInt) else value


Text = Annotated[str, BeforeValidator(_plain_text), WithJsonSchema({"type": ["string", "number"]})]
"""Text; an unquoted number counts as the text it was written as."""

NamedText = Annotated[
    Text, Field(min_length=1), WithJsonSchema({"type": ["string", "number"], "minLength": 1})
]
"""Text that is not empty."""

Integer = Annotated[int, Strict()]
"""An integer, never made from text, a float or a boolean."""

Boolean = Annotated[bool, Strict()]
"""`true` or `false`, and none of the words that YAML 1.1 reads so too."""


class YamlModel(BaseModel):
    """Keys are words with spaces, as people write them; unknown keys are mistakes."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=lambda name: name.replace("_", " "),
        arbitrary_types_allowed=True,
        defer_build=True,
    )


class JsonModel(BaseModel):
    """Keys are identifiers; unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


def in_place(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Let a reader that raises :class:`InputError` without a place serve as a validator."""

    def validate(value: Any) -> Any:
        try:
            return read(value)
        except InputError as error:
            raise PydanticCustomError(
                "wcetchar",
                "{message}",
                {"message": error.message, "expected": error.expected, "hint": error.hint},
            ) from error

    return validate


def one_of(names: Iterable[str]) -> str:
    """`one of a, b, c`, cut where it grows long."""
    listed = list(names)
    more = f" and {len(listed) - 40} more" if len(listed) > 40 else ""
    return "one of " + ", ".join(listed[:40]) + more if listed else "none: nothing is declared"


def validate(
    model: type[D], source: Source, checks: Iterable[Callable[[Source], None]] = ()
) -> D | None:
    """Read ``source.data`` as ``model`` and run ``checks``; mistakes are noted in ``source``.

    Returns:
        The document, or ``None`` where its structure has mistakes. The caller ends with
        ``source.fail_on_mistakes()``.
    """
    document = None
    try:
        document = model.model_validate(source.data)
    except ValidationError as failure:
        for detail in failure.errors(include_url=False):
            _report(model, source, detail)
    except RecursionError:  # pragma: no cover - depth is bounded before
        source.report((), "is nested too deeply")
    for check in checks:
        check(source)
    return document


def mapping_at(data: object, *steps: str) -> Mapping[str, Any]:
    """The mapping under ``steps``, or an empty one where there is none."""
    for step in steps:
        data = data.get(step) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def list_at(data: object, *steps: str) -> list[Any]:
    """The list under ``steps``, or an empty one where there is none."""
    found = mapping_at(data, *steps[:-1]).get(steps[-1])
    return found if isinstance(found, list) else []


def _exists(data: Any, steps: Steps) -> bool:
    """The file has something under ``steps``."""
    for step in steps:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _report(model: type[BaseModel], source: Source, detail: ErrorDetails) -> None:
    kind = detail["type"]
    steps: Steps = detail["loc"]
    value = detail["input"]
    # Pydantic puts "[key]" behind a key that is wrong; a file can have a key of that name.
    key = len(steps) > 1 and steps[-1] == "[key]" and not _exists(source.data, steps)
    if key:
        steps = steps[:-1]
        value = steps[-1]
    context = detail.get("ctx", {})
    if kind == "missing":
        name = steps[-1]
        source.report(
            steps[:-1],
            f"the key `{name}` is missing",
            expected=_description(model, steps),
            hint=f"add `{name}:`",
        )
    elif kind == "extra_forbidden":
        known = _keys(_type_at(model, steps[:-1]))
        source.report(
            steps,
            f"the key {shown(steps[-1])} is not known here",
            expected=one_of(known),
            hint=did_you_mean(steps[-1], known) or "remove it",
            key=True,
        )
    elif kind == "wcetchar":
        source.report(
            steps,
            str(context["message"]),
            expected=context.get("expected"),
            hint=context.get("hint"),
            key=key,
        )
    elif kind in {"enum", "literal_error"}:
        choices = _choices(_key_type(model, steps) if key else _type_at(model, steps))
        source.report(
            steps,
            f"{shown(value)} is not known here",
            expected=one_of(choices) if choices else str(context.get("expected")),
            hint=did_you_mean(value, choices),
            key=key,
        )
    else:
        wanted = _WANTED.get(kind)
        message = f"{shown(value)} cannot stand here"
        if wanted is None:
            wanted = detail["msg"].removeprefix("Input should be ")
        quote = "quote it" if kind == "string_type" and isinstance(value, bool) else None
        source.report(steps, message, expected=wanted, hint=quote, key=key)


_WANTED = {
    "string_type": "text",
    "string_unicode": "text of valid characters",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a mapping (`key: value`)",
    "model_type": "a mapping (`key: value`)",
    "model_attributes_type": "a mapping (`key: value`)",
    "list_type": "a list (`[a, b]`)",
    "too_short": "something that is not empty",
    "tuple_type": "a list (`[a, b]`)",
}


def _bare(kind: Any) -> Any:
    """A type without ``Annotated`` and ``| None``."""
    while True:
        if get_origin(kind) is Annotated:
            kind = get_args(kind)[0]
        elif get_origin(kind) in (Union, types.UnionType):
            rest = [arg for arg in get_args(kind) if arg is not type(None)]
            if len(rest) != 1:
                return kind
            kind = rest[0]
        else:
            return kind


def _fields(kind: Any) -> dict[str, Any]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return {field.alias or name: field for name, field in kind.model_fields.items()}
    return {}


def _keys(kind: Any) -> list[str]:
    return list(_fields(kind))


def _type_at(model: Any, steps: Steps) -> Any:
    kind = _bare(model)
    for step in steps:
        fields = _fields(kind)
        arguments = get_args(kind)
        if step in fields:
            kind = fields[str(step)].annotation
        elif arguments:
            kind = arguments[1] if get_origin(kind) in (dict, Mapping) else arguments[0]
        else:
            return None
        kind = _bare(kind)
    return kind


def _key_type(model: Any, steps: Steps) -> Any:
    arguments = get_args(_type_at(model, steps[:-1]))
    return _bare(arguments[0]) if arguments else None


def _choices(kind: Any) -> list[str]:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [str(member.value) for member in kind]
    if get_origin(kind) is Literal:
        return [str(choice) for choice in get_args(kind)]
    return []


def _description(model: Any, steps: Steps) -> str | None:
    field = _fields(_type_at(model, steps[:-1])).get(str(steps[-1]))
    return field.description if field is not None else None
