"""What a service begins with: one of its functions, and what is held off then.

Inputs: what traces showed, and flow facts about variables. Outputs: what is known of masks there,
and what rests on traces alone. That the service is called in such a state is listed as an
assumption. Where control goes another way in another state, that is no bound; nor is it where the
service may begin with a function that no trace shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from wcetchar.model.observed import ObservedPath
from wcetchar.model.path_model import FlowConstraint, Origin
from wcetchar.static.expand import Expanded
from wcetchar.static.loop_constraints import ZERO
from wcetchar.static.masking.follow import Masking


def begins(
    masking: Masking, address: int, paths: Iterable[ObservedPath], words: Mapping[int, int]
) -> list[int]:
    """Numbers of what may be known of masks where a service begins with the function at
    ``address``.

    Args:
        paths: of all parts of the service.
        words: by address, what variables hold.
    """
    seen = {(path.masks, path.lock, path.in_handler) for path in paths}
    return sorted({masking.begin(address, *one, words) for one in seen})


def assumed(paths: Iterable[ObservedPath]) -> str:
    """For people, what is held off when the service begins."""
    forms = {
        (path.in_handler, str(path.masks.blocking(path.lock > 0 and not path.in_handler)))
        for path in paths
    }
    words = [
        f"{'nothing' if form == 'none' else form} held off" + " in a handler" * handler
        for handler, form in sorted(forms)
    ]
    return f"it begins as traces showed, with {' or '.join(words)}"


def only_seen(found: Expanded, others: Iterable[str]) -> Iterator[FlowConstraint]:
    """What rests on how the service was called in traces; ``others``: functions that it may begin
    with, and did not."""
    if found.by_masks:
        label = "where control goes hangs on what is masked when it begins, as traces showed"
        yield FlowConstraint(label, {}, ZERO, Origin.OBSERVED)
    for name in others:
        label = f"it does not begin with {name}, as in the traces"
        yield FlowConstraint(label, {}, ZERO, Origin.OBSERVED)
