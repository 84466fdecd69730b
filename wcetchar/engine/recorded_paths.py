"""Path models in the document of ``recorded_document``, with what they are priced by.

    bound = max over flows x of  under way + sum over edges e of  price(node that e leads to) * x_e

The models stand in it as they are published: nodes with what they count, edges, constraints with
their formulas. Prices are recorded as of the published rows (``recorded_prices``), by themselves:
what a path model is priced by asks other questions, and its guards are its own. Who reads the
document finds the dearest flow himself, in exact numbers (``report/templates/evaluator_flow.js``),
so that it is the bound at whatever numbers and values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from wcetchar.engine.prices import PriceVector
from wcetchar.engine.recorded import Guard
from wcetchar.engine.recorded_prices import RecordedPathPrices
from wcetchar.errors import NoSoundBound, one_line
from wcetchar.model.access import Key, key_order
from wcetchar.model.expression import Expression
from wcetchar.model.path_model import PathModel

Plain = Any
"""Of JSON."""


@dataclass
class Written:
    """How the document says numbers, formulas and guards: each by its place."""

    polynomial: Callable[[Fraction], int]
    formula: Callable[[Expression], int]
    guards: Callable[[Sequence[Guard]], Plain]


@dataclass
class _Pieces:
    """Of prices, while these are recorded."""

    written: Written
    keys: tuple[Key, ...]
    found: list[dict[str, Plain]] = field(default_factory=list)

    def take(self, prices: PriceVector) -> None:
        places = {key: place for place, key in enumerate(self.keys)}
        of = self.written.polynomial
        self.found.append(
            {
                "prices": [of(prices[key].time.high) for key in self.keys],
                "blocked": [
                    [places[key], of(price.time.high)]
                    for key, price in prices.blocked.items()
                    if key in places
                ],
                "recurring": [[of(takes), of(every)] for takes, every in prices.rate.recurring],
                "before": of(prices.rate.before),
                "underWay": of(prices.under_way),
                "fetchedBehind": of(prices.fetched_behind),
            }
        )


def paths_document(prices: RecordedPathPrices, written: Written) -> Plain:
    """``None``: there are no path models. Prices that cannot be had have a piece that says why.

    Raises:
        InputError: as of ``path_prices``.
    """
    models = prices.models
    if not models:
        return None
    counted = {key for model in models for vector in model.vectors for key in vector}
    keys = tuple(sorted(counted, key=key_order))
    pieces = _Pieces(written, keys)
    guards: list[Sequence[Guard]] = []
    try:
        prices.record(pieces.take)
        guards += [piece.guards for piece in prices.pieces]
    except NoSoundBound as error:
        guards.append(tuple(prices.recording.guards))
        pieces.found.append({"why": one_line(error.message)})
    vectors: dict[tuple[int, ...], int] = {}
    return {
        "pieces": [
            {"guards": written.guards(its), **piece}
            for its, piece in zip(guards, pieces.found, strict=True)
        ],
        "models": [_model(model, _places(model, keys, vectors), written) for model in models],
        "vectors": list(map(list, vectors)),
    }


def _places(
    model: PathModel, keys: Sequence[Key], vectors: dict[tuple[int, ...], int]
) -> list[int]:
    """Of the vectors of a model, among those of all models: these are there once, places of keys,
    each with its count."""
    places = {key: place for place, key in enumerate(keys)}
    found = []
    for vector in model.vectors:
        counted = sorted((places[key], count) for key, count in vector.items())
        plain = tuple(number for pair in counted for number in pair)
        found.append(vectors.setdefault(plain, len(vectors)))
    return found


def _model(model: PathModel, vectors: Sequence[int], written: Written) -> dict[str, Plain]:
    from wcetchar.engine.paths import gaps_of, word_of

    word, _ = word_of(model, ())
    blockings = [model.blockings[node.blocking] for node in model.nodes]
    run_at = [
        -1 if number is None else vectors[number]
        for n in model.nodes
        for number in (n.run_in, n.run_out)
    ]
    return {
        "service": one_line(model.service),
        "word": word.value,
        "why": one_line(gaps_of(model)),
        "masks": int(model.follows_masks),
        "nodes": [vectors[node.vector] for node in model.nodes],
        "runs": run_at if any(number >= 0 for number in run_at) else [],
        "held": {
            "interrupts": [n for n, held in enumerate(blockings) if held.masks],
            "preemption": [n for n, held in enumerate(blockings) if held.holds_preemption],
        },
        "edges": [end for edge in model.edges for end in (edge.source, edge.target)],
        "constraints": [
            [
                written.formula(one.limit),
                int(one.each),
                *(
                    number
                    for edge, coefficient in one.coefficients.items()
                    for number in (edge, written.formula(coefficient))
                ),
            ]
            for one in model.constraints
        ],
    }
