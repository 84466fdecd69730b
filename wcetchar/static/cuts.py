"""Where another thread cuts a service into parts: instructions that parts begin and end with.

Inputs: what traces showed of the parts, and which instructions ask for a switch, as flow facts say.
Soundness. Where no fact says where a switch is asked for, parts begin and end where traces showed,
and nowhere else. Such a model gives no bound, which :attr:`PartCuts.seen` says in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wcetchar.model.observed import ObservedPath
from wcetchar.model.path_model import FlowConstraint, Origin
from wcetchar.model.service import Part, Service, ServiceKind
from wcetchar.static.expand import Cuts
from wcetchar.static.loop_constraints import ZERO


def cut_behind(paths: Sequence[ObservedPath]) -> set[int]:
    """Table indices of instructions behind which blocks have to end, so that parts can begin and
    end there."""
    ends = {int(path.index[-1]) for path in paths}
    return ends | {int(path.index[0]) - 1 for path in paths}


@dataclass(frozen=True)
class PartCuts:
    """
    Attributes:
        cuts: ``None``: the part is a whole call.
        seen: says that only traces say where another thread runs.
    """

    cuts: Cuts | None
    seen: tuple[FlowConstraint, ...] = ()


def cuts_of(
    service: Service,
    part: Part,
    paths: Sequence[ObservedPath],
    requests: frozenset[int],
    masks: frozenset[int],
    start: int,
) -> PartCuts:
    """Where a part begins and ends. The activation in which a thread starts is taken for one of a
    service where traces show that it is.

    Args:
        paths: of the part, that traces showed.
        requests: table indices of instructions that ask for a switch, as flow facts say.
        masks: those that write masks, behind which it happens that was masked.
        start: table index of the service's first instruction.
    """
    begins = frozenset(int(path.index[0]) for path in paths)
    ends = frozenset(int(path.index[-1]) for path in paths)
    both = service.kind is ServiceKind.ACTIVATION or part is Part.BETWEEN_SWITCHES
    begun, ended = both or part is Part.UNTIL_RETURN, both or part is Part.UNTIL_SWITCH
    if not begun and not ended:
        return PartCuts(None)
    if requests:
        where = requests | masks
        behind = frozenset(index + 1 for index in where)
        none = frozenset[int]()
        starts = service.kind is ServiceKind.ACTIVATION and start in begins
        cuts = Cuts(behind if begun else none, where if ended else none, asked=True, starts=starts)
        return PartCuts(cuts)
    cuts = Cuts(begins if begun else frozenset(), ends if ended else frozenset())
    label = "another thread runs where traces showed it to, and nowhere else"
    return PartCuts(cuts, (FlowConstraint(label, {}, ZERO, Origin.OBSERVED),))
