"""Counts times prices: what a characterization costs on given hardware. Pure and exact."""

from wcetchar.engine.chains import Following
from wcetchar.engine.errors import PricingError
from wcetchar.engine.estimate import estimate, estimate_at, estimate_given, service_named
from wcetchar.engine.maximum import worst_parameters
from wcetchar.engine.prices import Price, PriceVector
from wcetchar.engine.pricing import price_vector

__all__ = [
    "Following",
    "Price",
    "PriceVector",
    "PricingError",
    "estimate",
    "estimate_at",
    "estimate_given",
    "price_vector",
    "service_named",
    "worst_parameters",
]
