"""Whether lines of an instruction cache were counted for a core that fetches as far ahead as this.

Which lines a service enters, in vain as well, depends on how far the core fetches ahead. That is
counted when the kernel is characterized, for the cores that have its instruction set. A core that
fetches further enters lines that nobody counted; so a profile with a cache has to say how far its
core does, where that is a prefetch buffer's matter.
"""

from __future__ import annotations

from wcetchar.engine.errors import PricingError
from wcetchar.model.characterization import Characterization
from wcetchar.model.hardware import HardwareProfile

_CACHE = ("core", "instruction cache")


def check_fetched_ahead(characterization: Characterization, profile: HardwareProfile) -> None:
    """Nothing, where the characterization counts what a core of this profile fetches.

    Raises:
        PricingError: it counts less, or another pipeline's, or one of the two does not say.
    """
    counted, fetched = characterization.fetch_buffer, profile.core.fetches_ahead
    kernel, core = characterization.kernel.name, characterization.architecture
    if counted is None:
        if core.startswith("arm"):
            raise PricingError(
                f"the characterization of {kernel} does not say how far an {core} core fetches "
                "ahead: it is of an older wcetchar, which counted the lines of another pipeline",
                expected="a characterization that says so (fetch_buffer), or a profile without a "
                "cache",
                hint="characterize the kernel anew; or leave out `instruction cache`, and price "
                "each fetch as one that misses",
                file="profile",
                keys=_CACHE,
            )
        if fetched is not None:
            raise PricingError(
                f"the characterization of {kernel} counts the lines of a core that predicts "
                "branches in its decoder, and this one has a prefetch buffer",
                expected="a profile without `fetches ahead`",
                hint="for such a core, leave out `instruction cache`, and price each fetch as one "
                "that misses",
                file="profile",
                keys=(*_CACHE, "fetches ahead"),
            )
        return
    known = f"{{behind: {counted.behind}, speculative: {counted.speculative}}}"
    if fetched is None:
        raise PricingError(
            f"how far ahead the core fetches is not said; the characterization of {kernel} counts "
            f"lines for {known}, in bytes",
            expected="`fetches ahead` beside the cache's geometry",
            hint=f"`fetches ahead: {known}` where the core's manual has no more than that (a "
            "Cortex-M3 or M4 does not, a Cortex-M7 does)",
            file="profile",
            keys=_CACHE,
        )
    if fetched.behind > counted.behind or fetched.speculative > counted.speculative:
        raise PricingError(
            f"the core fetches further ahead than the characterization of {kernel} counts lines "
            f"for, which is {known}, in bytes",
            expected="a core that fetches no further",
            hint="leave out `instruction cache`, and price each fetch as one that misses",
            file="profile",
            keys=(*_CACHE, "fetches ahead"),
        )
