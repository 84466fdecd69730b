"""A linear program as plain data with a name for everything, and its text in the LP format.

    minimise    sum over j of c_j * x_j
    subject to  lower_i <= sum over j of a_i,j * x_j <= upper_i        low_j <= x_j <= high_j

All numbers are exact. Some x_j may have to be whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

_WIDTH: Final = 200


@dataclass(frozen=True)
class Variable:
    """``upper`` is ``None`` where there is no upper bound."""

    name: str
    lower: Fraction = Fraction(0)
    upper: Fraction | None = None
    integer: bool = False


@dataclass(frozen=True)
class Constraint:
    """lower <= sum of coefficient * variable <= upper; ``None``: no bound on that side. ``label``
    says for people where it comes from."""

    label: str
    coefficients: Mapping[str, Fraction]
    lower: Fraction | None = None
    upper: Fraction | None = None


@dataclass(frozen=True)
class LinearProgram:
    """To be minimised. Every name in ``objective`` and in the constraints is a variable's.

    Raises:
        ValueError: a name is there twice or is no variable's, or bounds cross.
    """

    variables: tuple[Variable, ...]
    constraints: tuple[Constraint, ...]
    objective: Mapping[str, Fraction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = {variable.name for variable in self.variables}
        if len(names) != len(self.variables):
            raise ValueError("two variables have one name")
        for variable in self.variables:
            if variable.upper is not None and variable.upper < variable.lower:
                raise ValueError(f"{variable.name}: no value between its bounds")
        for where, coefficients in (
            ("the objective", self.objective),
            *((c.label, c.coefficients) for c in self.constraints),
        ):
            strange = set(coefficients) - names
            if strange:
                raise ValueError(f"{where} has {sorted(strange)[0]}, which is no variable")


def lp_text(program: LinearProgram, *, maximise: bool = False) -> str:
    """The program in the CPLEX LP format, for other solvers and for reading.

    Rows are named by number, their labels stand in comments: the format allows few characters in
    a name. Fractions that are no decimals are multiplied out row by row, so the text is exact.
    """
    names = {v.name: _name(v.name, n) for n, v in enumerate(program.variables)}
    lines = [
        "\\ variables: " + ", ".join(f"{names[v.name]} is {v.name}" for v in program.variables)
    ]
    sense = "Maximize" if maximise else "Minimize"
    lines += [sense, f" objective: {_sum(program.objective, names)}", "Subject To"]
    for number, constraint in enumerate(program.constraints):
        lines.append(f"\\ {_comment(constraint.label)}")
        scale = _denominator(constraint.coefficients)
        total = _sum({k: v * scale for k, v in constraint.coefficients.items()}, names)
        if constraint.lower is not None and constraint.lower == constraint.upper:
            lines.append(f" r{number}: {_scaled(total, '=', constraint.lower, scale)}")
            continue
        if constraint.lower is not None:
            lines.append(f" r{number}_low: {_scaled(total, '>=', constraint.lower, scale)}")
        if constraint.upper is not None:
            lines.append(f" r{number}_high: {_scaled(total, '<=', constraint.upper, scale)}")
    lines.append("Bounds")
    lines += [f" {line}" for line in _bounds(program, names)]
    whole = [names[v.name] for v in program.variables if v.integer]
    if whole:
        lines += ["General", " " + " ".join(whole)]
    return "\n".join(part for line in [*lines, "End"] for part in _wrapped(line)) + "\n"


def _wrapped(line: str) -> Iterator[str]:
    """Readers limit the length of lines (CPLEX: 510 letters); where there is a blank, the next line
    goes on."""
    comment = "\\ " if line.startswith("\\") else ""
    while len(line) > _WIDTH:
        end = line.rfind(" ", 2, _WIDTH)
        if end < 0:
            break
        yield line[:end]
        line = (comment or "  ") + line[end + 1 :]
    yield line


def _bounds(program: LinearProgram, names: Mapping[str, str]) -> Iterator[str]:
    for variable in program.variables:
        upper = "+inf" if variable.upper is None else _number(variable.upper)
        yield f"{_number(variable.lower)} <= {names[variable.name]} <= {upper}"


def _scaled(total: str, relation: str, bound: Fraction, scale: int) -> str:
    return f"{total} {relation} {_number(bound * scale)}"


def _denominator(coefficients: Mapping[str, Fraction]) -> int:
    scale = 1
    for value in coefficients.values():
        rest = Fraction(value * scale).denominator
        scale *= rest
    return scale


def _sum(coefficients: Mapping[str, Fraction], names: Mapping[str, str]) -> str:
    terms = [
        f"{'-' if value < 0 else '+'} {_number(abs(value))} {names[name]}"
        for name, value in coefficients.items()
        if value
    ]
    return " ".join(terms) or f"0 {next(iter(names.values()), 'x')}"


def _number(value: Fraction) -> str:
    """As a decimal where it is one, else to 17 digits: the format has no fractions."""
    value = Fraction(value)
    if value.denominator == 1:
        return str(value.numerator)
    return repr(float(value))


def _name(name: str, number: int) -> str:
    return f"x{number}_" + re.sub(r"[^A-Za-z0-9_]", "_", name)[:200]


def _comment(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)
