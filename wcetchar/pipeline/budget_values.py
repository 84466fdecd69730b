"""Values of parameters that budgets give, and mistakes in them at their places."""

from __future__ import annotations

from collections.abc import Sequence

from wcetchar.engine import PricingError
from wcetchar.errors import InputError, Location, did_you_mean, few, several
from wcetchar.model.budget import Budget, Budgets
from wcetchar.model.characterization import Characterization, ServiceCharacterization

_NAMED = 4
"""Services that an error names at most."""


def refuse_strangers(
    budgets: Budgets, found: Characterization, meant: Sequence[Sequence[ServiceCharacterization]]
) -> None:
    """Refuses values that nothing takes. ``meant``: services of each budget.

    Raises:
        InputError: of a parameter that no service has, or none that the budget means.
    """
    mistakes: list[InputError] = []
    everywhere = {p.name for one in found.services for p in one.parameters}
    for name in budgets.values:
        if name not in everywhere:
            what = f"no service has a parameter {name}"
            mistakes.append(_stranger(what, name, everywhere, budgets.places.get(f"set {name}")))
    for budget, services in zip(budgets.budgets, meant, strict=True):
        known = {p.name for one in services for p in one.parameters}
        for name in budget.values:
            if services and name not in known:
                what = f"{budget.service} has no parameter {name}"
                mistakes.append(_stranger(what, name, known, budget.place(f"set {name}")))
    if mistakes:
        raise several(mistakes)


def _stranger(what: str, name: str, known: set[str], where: Location | None) -> InputError:
    return InputError(
        what,
        where=where,
        expected=f"one of {', '.join(sorted(known))}" if known else "no values at all",
        hint=did_you_mean(name, known),
    )


class Mistakes:
    """Values of budgets that are missing or out of range, all at once."""

    def __init__(self, budgets: Budgets) -> None:
        self._budgets = budgets
        self._found: list[InputError] = []
        self._missing: dict[tuple[int, str], tuple[Budget, InputError, list[str]]] = {}

    def take(self, service: str, budget: Budget, error: InputError) -> str:
        """Notes what is wrong with values and files. Returns why there is no figure, where that is
        the fault of the characterization; else ""."""
        why = []
        for one in error.each:
            if not isinstance(one, PricingError):
                why.append(one.message)
            elif one.file == "nothing":
                key = id(budget), str(one.keys[0])
                self._missing.setdefault(key, (budget, one, []))[2].append(service)
            else:
                self._found.append(self._placed(budget, one))
        return "; ".join(why)

    def _placed(self, budget: Budget, error: PricingError) -> InputError:
        """What the budget says is its mistake, or the file's; any other stays where it is."""
        name = str(error.keys[0]) if error.keys else ""
        where = error.where
        if error.file == "parameters" and name in budget.values:
            where = budget.place(f"set {name}")
        elif error.file == "parameters" and name in self._budgets.values:
            where = self._budgets.places.get(f"set {name}")
        return InputError(error.message, where=where, expected=error.expected, hint=error.hint)

    def nothing(self, budget: Budget, service: str) -> None:
        """A budget that would pass, since there is nothing to hold against it."""
        self._found.append(
            InputError(
                f"{budget.service} means only what is not characterized, and was not before: "
                f"{service}",
                where=budget.place("service"),
                expected="a service that has a figure, here or in the baseline",
            )
        )

    def raise_all(self) -> None:
        """Raises:
        InputError: something was noted.
        """
        mistakes = list(self._found)
        for (_, name), (budget, error, services) in self._missing.items():
            message = error.message
            if len(services) > 1:
                message = f"{len(services)} services need a value for {name}: "
                message += few(services, _NAMED)
            mistakes.append(
                InputError(
                    message,
                    where=budget.place("service"),
                    expected=error.expected if len(services) == 1 else "a value in its range",
                    hint=f"`set: {{{name}: VALUE}}` of the budget or of the file, `parameters` of "
                    "the section map, or `maximum: true`",
                )
            )
        if mistakes:
            raise several(list({str(one): one for one in mistakes}.values()))
