"""The flow of one function: where each of its instructions sends control, found round by round.

Jumps through registers can be followed only once it is known which ways lead to them, and those
ways may come from such jumps. So the function is explored with what is resolved so far until
nothing changes; what holds then holds on every way that there is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from wcetchar.model.flow import EdgeKind, OpenEnd, OpenKind
from wcetchar.model.instruction import Flow, Instruction
from wcetchar.static.flow import steps_riscv, steps_thumb
from wcetchar.static.flow.blocks import NEXT, Blocks, Exit, Finder
from wcetchar.static.flow.code import Code
from wcetchar.static.flow.functions import Functions
from wcetchar.static.flow.interpret import Interpreter
from wcetchar.static.flow.jump_tables import CALCULATED, NOT_REACHED, Resolved, Resolver
from wcetchar.static.flow.jump_values import Values

_RESTORE: Final = "__riscv_restore_"
"""Of the compiler's library (-msave-restore): each is the end of the functions that jump to it, and
loads the return address that ``__riscv_save_`` put into their frame."""
_ROUNDS: Final = 30
_INDIRECT: Final = frozenset({Flow.JUMP_INDIRECT, Flow.JUMP_TABLE, Flow.CALL_INDIRECT})
_CALLS: Final = frozenset({Flow.CALL, Flow.CALL_INDIRECT, Flow.SUPERVISOR_CALL})


@dataclass
class Explored:
    """The flow of a function.

    Attributes:
        asked: functions of which it counted that they do not return.
        links: registers that its returns return through.
    """

    address: int
    blocks: Blocks
    asked: set[int] = field(default_factory=set)
    links: set[int] = field(default_factory=set)

    @property
    def calls(self) -> set[int]:
        """Functions that it calls or tail-calls."""
        found = set[int]()
        for end in self.blocks.exits:
            found.update(end.calls or (), end.tails)
        return found

    def may_return(self, returning: Collection[int]) -> bool:
        """Its flow gets to a return, to a tail call of a function that may, or out of sight."""
        return any(
            end.returns
            or not end.complete
            or bool(end.open)
            or any(tail in returning for tail in end.tails)
            for end in self.blocks.exits
        )


class Explorer:
    """Explores functions.

    Args:
        targets: given ones, by address of an indirect call or jump.
        never: addresses of instructions that are not executed.
        returns: whether a function is known to return.
        switches: addresses of loads that switch threads.
    """

    def __init__(
        self,
        code: Code,
        functions: Functions,
        targets: Mapping[int, tuple[int, ...]],
        never: Collection[int],
        returns: Callable[[int], bool],
        switches: Collection[int] = (),
    ) -> None:
        self.code = code
        self.functions = functions
        self._targets = targets
        self._never = frozenset(code.at[a] for a in never if a in code.at)
        self._returns = returns
        self._switches = frozenset(switches)
        self._interpreter = Interpreter(code, functions.helpers)
        self._resolver = Resolver(code, self._interpreter)
        self._resolutions: dict[int, dict[int, Resolved]] = {}
        self._mode_writers: dict[int, bool] = {}
        """Of functions that were explored before."""

    def explore(self, address: int) -> Explored:
        """The flow of the function that begins at an address."""
        return _Exploration(self, address).run()

    def far_target(self, number: int) -> tuple[int, ...]:
        """Where ``jalr`` goes by the instruction right before it; none: not by that alone."""
        code = self.code
        if not code.riscv or number == 0 or code.after[number - 1] != number:
            return ()
        copy = code.rows[number - 1].copy
        base, offset = steps_riscv.jump(code.rows[number])
        if copy is None or copy.constant is None or copy.destination != base:
            return ()
        return ((copy.constant + offset) & 0xFFFFFFFE,)


class _Exploration:
    """One exploration of one function."""

    def __init__(self, explorer: Explorer, address: int) -> None:
        self._explorer = explorer
        self._code = explorer.code
        self._functions = explorer.functions
        self._address = address
        self._range = self._functions.range_of(address)
        self._resolved: dict[int, Resolved] = dict(explorer._resolutions.get(address, {}))
        self._slow = set[int]()
        self._quick = set[int]()
        self._asked = set[int]()
        self._inlined = False
        self._mode_written = explorer._mode_writers.get(address, False)
        self._switches = False
        """A load of it switches threads."""

    def run(self) -> Explored:
        entry = self._code.at[self._address]
        former: Blocks | None = None
        for number in range(_ROUNDS + 1):
            self._quick.clear()
            self._asked.clear()
            self._inlined = False
            finder = Finder(self._code, self._exit, self._through, self._explorer._never)
            blocks = finder.find(entry)
            again = {b.first for b in blocks.blocks} & self._quick
            if again:
                self._slow |= again
                continue
            if former is not None and (former.blocks, former.edges) == (
                blocks.blocks,
                blocks.edges,
            ):
                break  # what was found of them holds
            former = blocks
            before = self._mode_written, self._switches
            found = self._resolve(blocks)
            if found == self._resolved and before == (self._mode_written, self._switches):
                break
            if number == _ROUNDS - 1:
                why = "its targets depend on each other too much"
                found = {key: Resolved(why=why) for key in found}
            elif number == _ROUNDS:
                break
            self._resolved = found
        self._explorer._resolutions[self._address] = self._resolved
        self._explorer._mode_writers[self._address] = self._mode_written
        return Explored(self._address, blocks, set(self._asked), self._links(blocks))

    # --- what has to be followed ------------------------------------------------------------------

    def _resolve(self, blocks: Blocks) -> dict[int, Resolved]:
        rows = self._code.rows
        wanted = self._wanted(blocks)
        if not wanted:
            return {}
        self._mode_written = self._writes_mode(blocks)
        self._switches = bool(self._explorer._switches) and any(
            rows[number].address in self._explorer._switches
            for block in blocks.blocks
            for number in range(block.first, block.last + 1)
        )
        values = Values(self._explorer._interpreter, blocks.blocks, blocks.edges, blocks.entries)
        found: dict[int, list[Resolved]] = {}
        resolver = self._explorer._resolver
        for number, block in enumerate(blocks.blocks):
            last = block.last
            if last not in wanted or last in block.skipped:
                continue
            state = values.before_last(number)
            row = rows[last]
            if state is None and not values.given_up:
                one = NOT_REACHED
            elif row.flow is Flow.CALL:
                helper = self._functions.helpers[row.target or 0]
                one = resolver.case_table(last, state, *helper)
            else:
                one = resolver.resolve(last, state)
            found.setdefault(last, []).append(one)
        return {number: _together(several) for number, several in sorted(found.items())}

    def _wanted(self, blocks: Blocks) -> set[int]:
        """Last instructions whose targets depend on what registers hold."""
        rows = self._code.rows
        wanted = set[int]()
        for block in blocks.blocks:
            row = rows[block.last]
            if row.flow in _INDIRECT:
                if block.last not in self._quick:
                    wanted.add(block.last)
            elif row.flow is Flow.RETURN:
                # All but mret, whose target no register of these holds.
                if row.uses or row.memory is not None:
                    wanted.add(block.last)
            elif row.flow is Flow.CALL and row.target in self._functions.helpers:
                wanted.add(block.last)
        return wanted

    def _writes_mode(self, blocks: Blocks) -> bool:
        """In Arm state a write to CPSR may be one to another mode, which has a link register and a
        stack pointer of its own (DDI 0100I, A2.3): what these hold is not known behind it."""
        rows, link = self._code.rows, self._code.links[0]
        return self._code.interworks and any(
            rows[number].masks and rows[number].defs >> link & 1
            for block in blocks.blocks
            for number in range(block.first, block.last + 1)
        )

    def _links(self, blocks: Blocks) -> set[int]:
        """Registers that the function returns through."""
        found = set[int]()
        for block, end in zip(blocks.blocks, blocks.exits, strict=True):
            if not end.returns or block.last in block.skipped:
                continue
            row = self._code.rows[block.last]
            resolved = self._resolved.get(block.last)
            if resolved is not None and resolved.link >= 0:
                found.add(resolved.link)
            elif row.uses and self._code.riscv:
                found.add(steps_riscv.jump(row)[0])
            elif row.uses or row.memory is not None:
                found.add(self._code.links[0])
        return found

    # --- exits ------------------------------------------------------------------------------------

    def _through(self, number: int) -> Exit | None:
        """``None``: control goes on to the next instruction in the function."""
        row, after = self._code.rows[number], self._code.after[number]
        end = row.end
        if after < 0:
            kind = OpenKind.FALLS_OUT
            if end in self._code.undecodable:
                kind = OpenKind.UNDECODABLE
            why = f"behind it, at {end:#x}: {self._code.why_not(end)}"
            return Exit(complete=False, open=(OpenEnd(kind, row.address, why),))
        if end in self._functions.boundaries and end != self._address:
            if row.flow in _CALLS and not self._range:
                # Assembly code without a size, whose calls come back to a label inside of it.
                return None
            return Exit(tails=(end,))
        if end in self._functions.ends:
            why = f"at {end:#x} its function ends, and no other begins"
            return Exit(complete=False, open=(OpenEnd(OpenKind.FALLS_OUT, row.address, why),))
        return None

    def _exit(self, number: int) -> Exit:
        row = self._code.rows[number]
        match row.flow:
            case Flow.NEXT:
                return NEXT
            case Flow.SUPERVISOR_CALL:
                return NEXT
            case Flow.STOP:
                return Exit(stops=True)
            case Flow.JUMP:
                assert row.target is not None
                found = self._jump(row, (row.target,))
                if row.conditional:
                    return Exit(
                        found.taken,
                        EdgeKind.NEXT,
                        tails=found.tails,
                        complete=found.complete,
                        open=found.open,
                    )
                return found
            case Flow.CALL:
                assert row.target is not None
                return self._direct_call(number, row, row.target)
            case Flow.RETURN:
                return self._return(number, row)
            case _:
                return self._indirect(number, row)

    def _jump(self, row: Instruction, targets: tuple[int, ...]) -> Exit:
        """Goes to each of some addresses: in this function, or to the beginning of another one."""
        taken, tails, open_ends = [], [], []
        for target in targets:
            number = self._code.at.get(target)
            if number is None:
                open_ends.append(self._nowhere(row, target))
            elif number in self._code.in_it:
                why = f"{target:#x} is inside of an IT block"
                open_ends.append(OpenEnd(OpenKind.NO_FUNCTION, row.address, why))
            elif target in self._functions.boundaries and target != self._address:
                tails.append(target)
            else:
                taken.append(target)
        return Exit(tuple(taken), tails=tuple(tails), complete=not open_ends, open=tuple(open_ends))

    def _nowhere(self, row: Instruction, target: int) -> OpenEnd:
        kind = OpenKind.NO_FUNCTION
        if target in self._code.undecodable:
            kind = OpenKind.UNDECODABLE
        return OpenEnd(kind, row.address, f"{target:#x}: {self._code.why_not(target)}")

    def _direct_call(self, number: int, row: Instruction, target: int) -> Exit:
        if target in self._functions.helpers:
            return self._cases(number, row, target)
        if self._is_far_jump(row, target):
            self._inlined = True
            return self._jump(row, (target,))
        return self._call(row, (target,), "")

    def _is_far_jump(self, row: Instruction, target: int) -> bool:
        """Thumb code of Armv4T and Armv6-M has no other branch that goes further than 2 KB than bl,
        so compilers jump by it inside of large functions that have saved lr. What is behind it is
        reached only if lr is returned to, which is followed. A bl to a single bx is a call by a
        register."""
        code = self._code
        if code.riscv or (row.fetch is not None and row.fetch.granule == 4):
            return False
        if target not in self._range or target == self._range.start:
            return False
        if target in self._functions.boundaries:
            return False  # another function, within the size that a symbol says
        number = code.at.get(target)
        if number is None or not self._is_thumb1:
            return False
        return steps_thumb.branch_register(code.rows[number]) is None

    @property
    def _is_thumb1(self) -> bool:
        return self._code.interworks or self._code.image.architecture.startswith("armv6")

    def _cases(self, number: int, row: Instruction, target: int) -> Exit:
        resolved = self._resolved.get(number)
        if resolved is not None and not resolved.reached:
            return Exit(stops=True)
        if resolved is None or resolved.why:
            given = self._explorer._targets.get(row.address)
            if given is None:
                why = "not followed yet" if resolved is None else resolved.why
                end = OpenEnd(OpenKind.JUMP, row.address, why)
                return Exit(calls=(target,), complete=False, open=(end,))
            resolved = Resolved(given)
        jump = self._jump(row, resolved.targets)
        return Exit(
            jump.taken,
            calls=(target,),
            complete=jump.complete and not jump.tails,
            open=jump.open,
            kind=EdgeKind.RETURNED,
        )

    def _call(self, row: Instruction, targets: tuple[int, ...], why: str) -> Exit:
        """A call of one of some functions, or, if ``why`` says so, of others too."""
        called, open_ends = [], []
        known = False
        for target in targets:
            number = self._code.at.get(target)
            if number is None:
                open_ends.append(self._nowhere(row, target))
            elif number in self._explorer._never and number not in self._code.predicated:
                continue
            else:
                called.append(target)
                if self._explorer._returns(target):
                    known = True
                else:
                    self._asked.add(target)
        if why:
            open_ends.append(OpenEnd(OpenKind.CALL, row.address, why))
        complete = not open_ends
        return Exit(
            behind=EdgeKind.RETURNED if known or not complete else None,
            calls=tuple(called),
            stops=complete and not called,
            complete=complete,
            open=tuple(open_ends),
        )

    def _return(self, number: int, row: Instruction) -> Exit:
        resolved = self._resolved.get(number)
        if resolved is not None and not resolved.reached:
            return Exit(stops=True)
        if resolved is None or resolved.link >= 0:
            return Exit(returns=True)
        if resolved.targets and not resolved.why:
            return self._jump(row, resolved.targets)
        if self._address in self._functions.helpers or row.masks:
            return Exit(returns=True)
        misled = resolved.why == CALCULATED or "caller's return address" in resolved.why
        misled = misled or self._inlined or "wrong state" in resolved.why
        restores = self._functions.name(self._address).startswith(_RESTORE)
        if not misled and (self._mode_written or restores or self._switches):
            return Exit(returns=True)  # by its form
        given = self._explorer._targets.get(row.address)
        if given is not None:
            return self._jump(row, tuple(sorted(set(given))))
        return self._open_jump(row, resolved.why)

    def _open_jump(self, row: Instruction, why: str) -> Exit:
        return Exit(complete=False, open=(OpenEnd(OpenKind.JUMP, row.address, why),))

    def _indirect(self, number: int, row: Instruction) -> Exit:
        resolved = self._pair(number) or self._resolved.get(number)
        if resolved is not None and not resolved.reached:
            return Exit(stops=True)
        calls = row.flow is Flow.CALL_INDIRECT
        if resolved is None or resolved.why:
            given = self._explorer._targets.get(row.address)
            if given is not None:
                resolved = Resolved(tuple(sorted(set(given))))
            elif resolved is None:
                resolved = Resolved(why="not followed yet")
        if calls:
            if resolved.link >= 0:
                resolved = Resolved(why="it calls its own return address")
            return self._call(row, resolved.targets, resolved.why)
        if resolved.link >= 0:
            return Exit(returns=True)
        if resolved.why:
            return self._open_jump(row, resolved.why)
        return self._jump(row, resolved.targets)

    def _pair(self, number: int) -> Resolved | None:
        """``auipc`` or ``lui`` and ``jalr`` right behind it, which is how RISC-V code calls what is
        far. Only if nothing jumps to the second one; ``run`` looks."""
        target = () if number in self._slow else self._explorer.far_target(number)
        if not target:
            return None
        self._quick.add(number)
        return Resolved(target)


def _together(several: list[Resolved]) -> Resolved:
    """Of one instruction that stands in several blocks."""
    several = [one for one in several if one.reached] or several
    first = several[0]
    if all(other == first for other in several):
        return first
    why = next((other.why for other in several if other.why), "")
    links = {other.link for other in several}
    targets = {target for other in several for target in other.targets}
    if not why and links != {-1}:
        why = "it returns on some ways only"
    return Resolved(() if why else tuple(sorted(targets)), -1, why)
