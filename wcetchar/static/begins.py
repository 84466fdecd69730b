"""What a service begins with: one of its functions, and what is held off then.

Inputs: what traces showed, and flow facts about variables. Outputs: what is known of masks there,
and what rests on traces alone. That the service is called in such a state is listed as an
assumption. Where control goes another way in another state, that is no bound; nor is it where the
service may begin with a function that no trace shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from wcetchar.model.masks import MaskState
from wcetchar.model.observed import ObservedPath
from wcetchar.model.path_model import FlowConstraint, Origin
from wcetchar.static.expand import Expanded
from wcetchar.static.loop_constraints import ZERO
from wcetchar.static.masking.follow import Masking

State = tuple[MaskState, int, bool]
"""Mask registers, how often the scheduler is locked, whether it is in a handler."""


def states(paths: Iterable[ObservedPath], thread: int | None = None) -> frozenset[State]:
    """That the service begins in.

    Args:
        paths: of all parts of the service, that traces showed.
        thread: of an activation the table index that its thread starts with. What is followed
            begins there: with nothing held off, and as traces showed.
    """
    if thread is None:
        return frozenset((path.masks, path.lock, path.in_handler) for path in paths)
    starts = (path for path in paths if int(path.index[0]) == thread)
    return states(starts) | {(MaskState(), 0, False)}


def begins(
    masking: Masking, address: int, seen: Iterable[State], words: Mapping[int, int]
) -> list[int]:
    """Numbers of what may be known of masks where a service begins with the function at
    ``address``.

    Args:
        seen: as of :func:`states`.
        words: by address, what variables hold.
    """
    return sorted({masking.begin(address, *one, words) for one in seen})


def assumed(seen: Iterable[State]) -> str:
    """For people, what is held off when the service begins; ``seen``: as of :func:`states`."""
    forms = {
        (in_handler, str(masks.blocking(lock > 0 and not in_handler)))
        for masks, lock, in_handler in seen
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
