"""Induction variables: what a loop adds to a value each time round, and what it leaves alone.

A value steps by s if every back edge brings the tag that the loop's header gave it, plus s; where
ways came together in between, it steps by one of several numbers. With one step, in iteration
j = 0, 1, ...,

    x_j = x_0 + j * s  (mod 2^32)

and of a sum, the steps add up. Source: M. N. Wegman and F. K. Zadeck (value numbering) for what
stays the same.
"""

from __future__ import annotations

from typing import Final

from wcetchar.model.flow import Loop
from wcetchar.static.values import interval as sets
from wcetchar.static.values.analysis import Values
from wcetchar.static.values.form import Form, Tag, combined, congruent
from wcetchar.static.values.state import State

_MOST_STEPS: Final = 16
UNCHANGED: Final = frozenset({0})
"""Steps of what stays the same."""


class Induction:
    """Of one loop.

    Attributes:
        indices: table indices of its instructions.
        entries: states along the edges that enter it, and at the function's entry if that does.
        back: states along its back edges.
    """

    def __init__(self, values: Values, loop: Loop) -> None:
        self.values, self.loop = values, loop
        graph = values.graph
        self.indices = {
            index
            for member in loop.members
            for index in range(graph.blocks[member].first, graph.blocks[member].last + 1)
        }
        after = values.after
        self.back = [state for edge in loop.back if (state := after.get(edge)) is not None]
        self.entries = [state for edge in loop.entries if (state := after.get(edge)) is not None]
        if loop.header in graph.entries:
            self.entries.append(values.entry)

    @property
    def turns(self) -> bool:
        """It is entered, and gone round."""
        return bool(self.entries and self.back)

    def is_of_header(self, tag: Tag) -> bool:
        """It is what a place held when the header was entered last."""
        return tag.kind == "met" and tag.site == self.loop.header

    @property
    def header(self) -> State | None:
        """What the header is entered with; ``None``: it never is."""
        return self.values.before[self.loop.header]

    def _invariant(self, tag: Tag) -> bool:
        form = tag.made_of
        if form is not None:
            return all(self._invariant(part) for part in form.names())
        if tag.kind == "entry":
            return True
        if tag.kind == "met":
            return tag.site not in self.loop.members
        return tag.site not in self.indices

    def steps(self, tag: Tag, width: int = 32) -> frozenset[int] | None:
        """What is added to a value each time round, modulo 2^width; ``None``: that is not known."""
        if self._invariant(tag):
            return UNCHANGED
        if not self.is_of_header(tag):
            return None
        total: frozenset[int] = frozenset()
        for state in self.back:
            found = self._away(tag, form_at(state, tag), frozenset(), width)
            if found is None:
                return None
            total |= found
        return total if len(total) <= _MOST_STEPS else None

    def _away(
        self, head: Tag, form: Form | None, passed: frozenset[int], width: int
    ) -> frozenset[int] | None:
        """By how much a form is more than a tag of the header in the same iteration; where ways
        came together in between, by each of them."""
        form = modulo(form, width)
        tag = None if form is None else form.tag
        if form is None or tag is None:
            return None
        if tag == head:
            return frozenset({sets.signed_of(form.constant)})
        values, header = self.values, self.header
        block = tag.site
        if tag.kind != "met" or block not in self.loop.members or block in passed:
            return None
        if header is None or tag in header.ranges:
            return None  # it may be of an iteration before
        total: frozenset[int] = frozenset()
        for edge in values.graph.predecessors[block]:
            state = values.after[edge]
            if state is None:
                continue
            found = self._away(head, form_at(state, tag), passed | {block}, width)
            if found is None:
                return None
            total |= {sets.signed_of(step + form.constant) for step in found}
        return total

    def steps_of(self, form: Form, width: int = 32) -> frozenset[int] | None:
        """The same of a form; one value that varies, or several by one step each."""
        total = UNCHANGED
        for tag, factor in form.tags:
            steps = self.steps(tag, width)
            if steps is None or (len(steps) > 1 and len(total) > 1):
                return None
            # Two that vary by choice may choose together.
            varying = [step for step in (steps, total) if step != UNCHANGED]
            if len(varying) > 1 and any(len(step) > 1 for step in varying):
                return None
            total = frozenset(
                sets.signed_of((one + two * factor) % sets.MODULUS)
                for one in total
                for two in steps
            )
        return total

    def at_entry(self, form: Form, state: State) -> Form | None:
        """The form in the first iteration, in terms of what was known before the loop."""
        parts = []
        for tag, factor in form.tags:
            if self.is_of_header(tag):
                before = form_at(state, tag)
                if before is None:
                    return None
                parts.append((before, factor))
            else:
                parts.append((Form(0, ((tag, 1),)), factor))
        return combined([(Form(form.constant), 1), *parts])


def modulo(form: Form | None, width: int) -> Form | None:
    """A form with the same low bits."""
    if form is None or width == 32:
        return form
    return congruent(form, width) or form


def negative(form: Form) -> Form:
    """The same sum with the other sign, modulo 2^32."""
    found = combined(((form, -1),))
    assert found is not None
    return found


def form_at(state: State, tag: Tag) -> Form | None:
    """What a place holds that a tag of a header names."""
    value = state.value_at(tag.place)
    return None if value is None else value.form
