"""What is known of registers, stack slots and variables at one point of a program."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from wcetchar.model.term import Operator, Relation
from wcetchar.static.values import interval as sets
from wcetchar.static.values.form import Form, Place, Range, Tag, Value, combined, of_tag
from wcetchar.static.values.interval import ANY

ANYTHING = Range(ANY)


@dataclass(frozen=True, slots=True)
class Held:
    """A value in memory. ``width``: of the element in bits; what is beyond it is not stored."""

    width: int
    value: Value


@dataclass(frozen=True, slots=True)
class Flags:
    """What the flags say: those of ``left - right``, or N and Z of ``left``."""

    left: Value
    right: Value
    difference: bool


@dataclass
class State:
    """Attributes:
    registers: all that the instruction set has.
    memory: by place ``("s", ..)`` or ``("m", ..)``; nothing is known of other memory.
    ranges: of each tag in use, and of entry registers for good.
    escaped: the address of the frame may be known elsewhere.
    hidden: parts of the frame (offset and bytes) that are not followed and may hold its address.
    """

    registers: dict[int, Value]
    memory: dict[Place, Held]
    ranges: dict[Tag, Range]
    flags: Flags | None = None
    escaped: bool = False
    hidden: frozenset[tuple[int, int]] = frozenset()

    def copy(self) -> State:
        return State(
            dict(self.registers),
            dict(self.memory),
            dict(self.ranges),
            self.flags,
            self.escaped,
            self.hidden,
        )

    def addresses(self) -> set[tuple[int, int]]:
        """Parts of the frame (offset and bytes) that may hold its address."""
        followed = (
            (place[1], held.width // 8)
            for place, held in self.memory.items()
            if place[0] == "s" and self.range(held.value).stack
        )
        return {*followed, *self.hidden}

    # --- looking up ---

    def range_of_form(self, form: Form) -> Range:
        total, stack = sets.number(form.constant), 0
        for tag, factor in form.tags:
            found = self.ranges.get(tag) or self._range_of_part(tag)
            if found.stack:
                stack += factor if factor < sets.SIGN else factor - sets.MODULUS
            total = sets.add(total, sets.scaled(found.interval, factor))
        if stack in (0, 1):
            return Range(total, bool(stack))
        return ANYTHING

    def _range_of_part(self, tag: Tag) -> Range:
        """Of low bits that no place holds."""
        form = tag.made_of
        if form is None:
            return ANYTHING
        inner = self.range_of_form(form)
        interval = ANY if inner.stack else inner.interval
        if tag.kind == "low":
            mask = sets.number((1 << tag.site) - 1)
            return Range(sets.calculate(Operator.AND, interval, mask))
        amount = sets.number(32 - tag.site)
        moved = sets.calculate(Operator.SHIFT_LEFT, interval, amount)
        return Range(sets.calculate(Operator.SHIFT_RIGHT_SIGNED, moved, amount))

    def range(self, value: Value) -> Range:
        found = self.range_of_form(value.form)
        own = value.own
        if own is None or value.form.tag is not None:
            return found
        if own.stack != found.stack:
            return own
        common = sets.meet(own.interval, found.interval)
        return own if common is None else Range(common, own.stack)

    def places(self) -> Iterator[tuple[Place, Value]]:
        for number, value in self.registers.items():
            yield ("r", number), value
        for place, held in self.memory.items():
            yield place, held.value

    def value_at(self, place: Place) -> Value | None:
        """What a place holds; ``None``: it is not followed."""
        if place[0] == "r":
            return self.registers.get(place[1])
        held = self.memory.get(place)
        return None if held is None else held.value

    def put(self, place: Place, value: Value) -> None:
        """Replaces what is known of a place; of memory the width stays."""
        if place[0] == "r":
            self.registers[place[1]] = value
        else:
            self.memory[place] = Held(self.memory[place].width, value)

    # --- tags ---

    def forget(self, kinds: Collection[str], site: int, kind: str) -> None:
        """Tags of a site that are about to get another value, of these ``kinds``: places that hold
        one get tags of their own, of the ``kind``."""
        gone = set()
        for tag in self.ranges:
            if tag[0] in ("low", "ext"):
                if any(part.site == site and part.kind in kinds for part in tag.basic()):
                    gone.add(tag)
            elif tag[1] == site and tag[0] in kinds:
                gone.add(tag)
        if not gone:
            return
        if self.flags is not None and any(
            tag in gone
            for value in (self.flags.left, self.flags.right)
            for tag in value.form.names()
        ):
            self.flags = None
        renamed = [
            (place, self.range(value))
            for place, value in self.places()
            if any(tag in gone for tag in value.form.names())
        ]
        for tag in gone:
            del self.ranges[tag]
        for place, found in renamed:
            tag = Tag(kind, site, place)
            self.ranges[tag] = found
            self.put(place, Value(of_tag(tag)))

    def simplify(self) -> Callable[[Value], Value]:
        """Low bits of what is now known to have no others become the whole of it. Gives the same
        for values that no place holds."""
        found: dict[Tag, Form] = {}
        for tag in list(self.ranges):
            form = tag.made_of
            if form is None:
                continue
            inner = self.range_of_form(form)
            if inner.stack:
                continue
            low, high = inner.interval.natural if tag.kind == "low" else inner.interval.signed
            half = 1 << tag.site - 1
            least, most = (0, 2 * half - 1) if tag.kind == "low" else (-half, half - 1)
            if least <= low and high <= most:
                found[tag] = form

        def simplified(value: Value) -> Value:
            if not any(tag in found for tag in value.form.names()):
                return value
            parts = [(found.get(tag, of_tag(tag)), factor) for tag, factor in value.form.tags]
            form = combined([(Form(value.form.constant), 1), *parts])
            if form is None:
                return value
            plain = not form.tags or form.tag is not None
            return Value(form, None if plain else self.range(value))

        if found:
            for place, value in list(self.places()):
                self.put(place, simplified(value))
        return simplified

    def named(self, tag: Tag, found: Range) -> Value:
        self.ranges[tag] = found
        return Value(of_tag(tag))

    def sweep(self) -> None:
        """Drops ranges of tags that nothing holds."""
        used = {tag for _, value in self.places() for tag in value.form.names()}
        if self.flags is not None:
            used |= {*self.flags.left.form.names(), *self.flags.right.form.names()}
        self.ranges = {
            tag: found for tag, found in self.ranges.items() if tag in used or tag.kind == "entry"
        }

    # --- conditions ---

    def assume(self, left: Value, relation: Relation, right: Value) -> bool:
        """Takes into account that it holds; false: it cannot."""
        one, two = self.range(left), self.range(right)
        if one.stack != two.stack:
            return True
        if one.stack and relation not in (Relation.EQUAL, Relation.NOT_EQUAL):
            return True  # offsets compare like addresses only where nothing wraps around
        if left.form == right.form:
            return relation in _REFLEXIVE
        if relation is Relation.NOT_EQUAL and not self._unequal(left.form, right.form):
            return False
        narrower = sets.narrowed(one.interval, relation, two.interval)
        if narrower is None:
            return False
        self._learn(left, Range(narrower, one.stack))
        other = sets.narrowed(two.interval, relation.mirrored, narrower)
        if other is None:
            return False
        self._learn(right, Range(other, two.stack))
        if relation is Relation.EQUAL:
            self._identify(left.form, right.form)
        return True

    def _identify(self, left: Form, right: Form) -> None:
        """Of two tags that are a constant apart, places keep the one that lasts longer."""
        one, two = left.tag, right.tag
        if one is None or two is None or not {one.kind, two.kind} <= {"entry", "met"}:
            return
        away = right.constant - left.constant  # one - two
        if (one.kind == "met", one.site) < (two.kind == "met", two.site):
            one, two, away = two, one, -away
        for place, value in list(self.places()):
            factor = next((factor for tag, factor in value.form.tags if tag == one), 0)
            if not factor:
                continue
            form = combined(
                ((value.form, 1), (of_tag(one), -factor), (of_tag(two).plus(away), factor))
            )
            if form is not None:
                plain = not form.tags or form.tag is not None
                self.put(place, Value(form, None if plain else self.range(value)))

    def _unequal(self, left: Form, right: Form) -> bool:
        """Of two sums that differ by a multiple of one tag, and a constant: where the tag's first
        or last number would make them equal, it is left out; false: it has no other."""
        difference = combined(((left, 1), (right, -1)))
        if difference is None or len(difference.tags) != 1:
            return True
        tag, factor = difference.tags[0]
        found = self.ranges.get(tag, ANYTHING)
        if found.stack:
            return True
        rest: sets.Interval | None = found.interval
        for end in (found.interval.start, found.interval.last):
            if rest is not None and (end * factor + difference.constant) % sets.MODULUS == 0:
                rest = sets.narrowed(rest, Relation.NOT_EQUAL, sets.number(end))
        if rest is None:
            return False
        self.ranges[tag] = Range(rest)
        return True

    def _learn(self, value: Value, known: Range) -> None:
        tag = value.form.tag
        if tag is not None:
            offset = sets.number(-value.form.constant)
            moved = sets.add(known.interval, offset)
            old = self.ranges.get(tag, ANYTHING)
            if old.stack == known.stack:
                common = sets.meet(old.interval, moved)
                if common is not None:
                    self.ranges[tag] = Range(common, old.stack)
                    self._learn_whole(tag, common)
            return
        if not value.form.tags:
            return
        for place, held in list(self.places()):
            if held.form.tags == value.form.tags:
                away = held.form.constant - value.form.constant
                moved = sets.add(known.interval, sets.number(away))
                self.put(place, Value(held.form, Range(moved, known.stack)))

    def _learn_whole(self, tag: Tag, known: sets.Interval) -> None:
        """Of low bits of a number of so many bits: the number."""
        form = tag.made_of
        if form is None or form.tag is None or known.start + known.length >= sets.MODULUS:
            return
        inner = self.range_of_form(form)
        half = 1 << tag.site - 1
        if inner.stack or inner.interval.natural[1] >= 2 * half:
            return
        low, high = known.signed if tag.kind == "ext" else known.natural
        if high < 0:
            low, high = low + 2 * half, high + 2 * half
        if low >= 0:
            self._learn(Value(form), Range(sets.between(low, high)))


_REFLEXIVE = frozenset(
    relation for relation in Relation if relation.value.rstrip("s") in ("==", "<=", ">=")
)


def joined(
    states: Sequence[State], site: int, kind: str = "met", previous: State | None = None
) -> State:
    """What holds in at least one of them: where control comes together at ``site``.

    ``previous``: an earlier result, for an iteration that has to come to an end: what it found to
    vary, or to be different, stays so.
    """
    if len(states) == 1:
        return states[0].copy()
    first = states[0]
    result = State({}, {}, {}, escaped=any(state.escaped for state in states))

    def own(tag: Tag) -> bool:
        return any(part.kind == kind and part.site == site for part in tag.basic())

    groups: dict[object, tuple[Place, int]] = {}
    places: list[tuple[Place, list[Value], int]] = [
        (("r", number), [state.registers[number] for state in states], 32)
        for number in first.registers
    ]
    for place in sorted(first.memory):
        held = [state.memory.get(place) for state in states]
        widths = {one.width for one in held if one is not None}
        if None not in held and len(widths) == 1:
            places.append((place, [one.value for one in held if one is not None], widths.pop()))
    kept = {(place[1], width // 8) for place, _, width in places if place[0] == "s"}
    for state in states:
        # It goes on to hold what it does, which is no more known.
        result.hidden |= state.hidden | (state.addresses() - kept)
    former = {} if previous is None else dict(previous.places())
    for place, values, width in places:
        before = former.get(place)
        varied = before is not None and any(own(tag) for tag in before.form.names())
        forms = [value.form for value in values]
        found = [state.range(value) for state, value in zip(states, values, strict=True)]
        together = joined_ranges(found)
        if together.stack != any(one.stack for one in found):
            result.escaped = True
        same = all(form == forms[0] for form in forms[1:])
        if same and not varied and not any(own(tag) for tag in forms[0].names()):
            value = Value(forms[0], None if forms[0].tag is not None else together)
            if not forms[0].tags:
                value = Value(forms[0])
        else:
            base = forms[0].constant
            key: tuple[object, ...] = tuple(
                (form.tags, (form.constant - base) % sets.MODULUS) for form in forms
            )
            if varied and before is not None:
                away = (before.form.constant - base) % sets.MODULUS
                key = (*key, before.form.tags, away)
            representative, of_first = groups.setdefault(key, (place, base))
            tag = Tag(kind, site, representative)
            away = base - of_first
            moved = Range(sets.add(together.interval, sets.number(-away)), together.stack)
            if tag in result.ranges:
                old = result.ranges[tag]
                common = sets.meet(old.interval, moved.interval)
                if common is not None and old.stack == moved.stack:
                    moved = Range(common, old.stack)
            result.ranges[tag] = moved
            value = Value(of_tag(tag).plus(away))
        if place[0] == "r":
            result.registers[place[1]] = value
        else:
            result.memory[place] = Held(width, value)
    flags = {state.flags for state in states}
    if len(flags) == 1 and first.flags is not None:
        names = (*first.flags.left.form.names(), *first.flags.right.form.names())
        if not any(own(tag) for tag in names):
            result.flags = first.flags
    used = {tag for _, value in result.places() for tag in value.form.names()}
    if result.flags is not None:
        used |= {*result.flags.left.form.names(), *result.flags.right.form.names()}
    used |= {tag for state in states for tag in state.ranges if tag.kind == "entry"}
    for tag in used:
        if tag not in result.ranges:
            result.ranges[tag] = joined_ranges(
                [state.ranges.get(tag, ANYTHING) for state in states]
            )
    return result


def covers(old: State, new: State, site: int) -> bool:
    """Everything that ``old`` says of the entry of block ``site`` is true where ``new`` is."""
    groups: dict[Form, Form] = {}
    known = dict(new.places())
    for place, value in old.places():
        now = known.get(place)
        if now is None:
            return False
        if place[0] != "r" and old.memory[place].width != new.memory[place].width:
            return False
        if not _inside(new.range(now), old.range(value)):
            return False
        tag = value.form.tag
        if tag is None or (tag.kind, tag.site) != ("met", site):
            if now.form != value.form:
                return False
            continue
        # Places that are a constant apart in the old one must be so in the new one.
        base = now.form.plus(-value.form.constant)
        if groups.setdefault(of_tag(tag), base) != base:
            return False
    same = {tag for _, value in new.places() for tag in value.form.names()}
    return (
        all(
            _inside(new.ranges[tag], found)
            for tag, found in old.ranges.items()
            if tag in same or tag.kind == "entry"
            if (tag.kind, tag.site) != ("met", site)
        )
        and old.flags in (None, new.flags)
        and (old.escaped or not new.escaped)
        and (old.escaped or new.addresses() <= old.addresses())
    )


def _inside(new: Range, old: Range) -> bool:
    if old == ANYTHING:
        return True
    return new.stack == old.stack and sets.within(new.interval, old.interval)


def joined_ranges(found: Sequence[Range]) -> Range:
    total = found[0]
    for one in found[1:]:
        if one.stack != total.stack:
            return ANYTHING
        total = Range(sets.join(total.interval, one.interval), total.stack)
    return total


def constant(value: int) -> Value:
    return Value(Form(value % sets.MODULUS))
