"""Flow facts that are printed are read back; no text makes the parser fail but by an InputError."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from wcetchar.errors import InputError, InputErrors, Location
from wcetchar.model.expression import (
    Binary,
    BinaryOperator,
    Call,
    Compare,
    Comparison,
    Expression,
    Function,
    Name,
    Negate,
    Number,
)
from wcetchar.model.flow_fact import (
    Accesses,
    CodePlace,
    EntryValue,
    Exclusive,
    Fact,
    FactOrigin,
    LoopBound,
    Never,
    NoReturn,
    PlaceKind,
    Recursion,
    Relation,
    SwitchedAway,
    Targets,
)
from wcetchar.static.facts import parse_facts, to_text
from wcetchar.static.facts.relations import Side, Term, sides_of, terms_of

NOWHERE = Location("")
untimed = settings(deadline=None, phases=[Phase.explicit, Phase.generate])
"""Files of facts take too long to be made smaller on the way."""

symbols = st.sampled_from(
    ["pvPortMalloc", "loop", "in", "called", "_start", "f.part.0", "$x", "g@0x1f0", "count", "min"]
)
files = st.sampled_from(["heap_4.c", "portable/MemMang/heap_4.c", "../x-y+z.c", "odd name.c", "f"])
texts = st.text(
    st.characters(codec="utf-8", exclude_characters="\n", exclude_categories=("Cs",)), min_size=1
).filter(str.strip)
reasons = (
    st.just("")
    | texts
    | st.lists(st.sampled_from(["the", "list", "N", '"', "\\"])).map(
        lambda words: " ".join(words * 9)
    )
)
_OPERATORS = (BinaryOperator.ADD, BinaryOperator.SUBTRACT, BinaryOperator.MULTIPLY)
_DIVIDED = (st.just(BinaryOperator.DIVIDE), st.just(Name("N")), st.builds(Number, st.just(4)))
chains = st.lists(symbols, max_size=3).map(tuple)


@st.composite
def places(draw: st.DrawFn, chain: bool = True) -> CodePlace:
    called = draw(chains) if chain else ()
    inside = draw(st.just("") | symbols)
    match draw(st.sampled_from(PlaceKind)):
        case PlaceKind.FUNCTION:
            offset = draw(st.integers(0, 2**40))
            return CodePlace(
                PlaceKind.FUNCTION,
                name=draw(symbols),
                offset=offset,
                inside=inside if offset else "",
                called=called,
            )
        case PlaceKind.LINE:
            line = draw(st.integers(1, 10_000_000))
            return CodePlace(
                PlaceKind.LINE, file=draw(files), line=line, inside=inside, called=called
            )
        case PlaceKind.TEXT:
            return CodePlace(
                PlaceKind.TEXT, file=draw(files), text=draw(texts), inside=inside, called=called
            )
        case _:
            address = draw(st.integers(0, 2**64 - 1))
            return CodePlace(PlaceKind.ADDRESS, address=address, inside=inside, called=called)


numbers = st.builds(Number, st.integers(0, 2**63 - 1))
names = st.builds(Name, st.sampled_from(["N", "size", "count", "in", "loop", "because"]))
halves = st.builds(lambda x: Call(Function.CEIL, (x,)), st.builds(Binary, *_DIVIDED))
trees = st.recursive(
    numbers | names | halves,
    lambda below: st.one_of(
        st.builds(Binary, st.sampled_from(_OPERATORS), below, below),
        st.builds(Negate, below),
        st.builds(Compare, st.sampled_from(Comparison), below, below),
        st.builds(Call, st.just(Function.MAX), st.tuples(below, below)),
    ),
    max_leaves=5,
)
# A limit without names is evaluated, and must not be negative.
limits = (
    st.builds(Number, st.integers(1, 2**63 - 1))
    | names
    | st.builds(Binary, st.sampled_from(_OPERATORS), names, trees)
    | st.builds(Binary, st.sampled_from(_OPERATORS), trees, names)
)


def _unsigned(factor: Expression) -> Expression:
    while isinstance(factor, Negate):
        factor = factor.operand
    return factor


factors = (st.just(Number(1)) | trees).map(_unsigned)
counts = st.builds(Term, factors, places(), st.none() | places())
constants = st.none() | trees.filter(lambda tree: tree not in (Number(0), Negate(Number(0))))
sides = st.builds(Side, st.lists(counts, max_size=2).map(tuple), constants)


@st.composite
def relations(draw: st.DrawFn) -> list[Fact]:
    left, right = draw(sides), draw(sides)
    if not left.counts and not right.counts:
        left = replace(left, counts=(draw(counts),))
    if left.counts and draw(st.booleans()):
        each = replace(left.counts[0], edge=None, each=True)
        left = replace(left, counts=(each, *left.counts[1:]))
    one = Relation(NOWHERE, terms=terms_of(left, right))
    smaller, larger = sides_of(one.terms)
    reverse = Relation(NOWHERE, terms=terms_of(larger, smaller))
    return [one, reverse] if draw(st.booleans()) else [one]


@st.composite
def entries(draw: st.DrawFn) -> EntryValue:
    value = draw(st.integers(-(1 << 31), (1 << 32) - 1))
    offset, at_start = draw(st.integers(0, 2**32)), draw(st.booleans())
    return EntryValue(NOWHERE, name=draw(symbols), offset=offset, value=value, at_start=at_start)


sections = st.lists(
    st.sampled_from([".bss", "kernel objects", "stack/x"]), min_size=1, unique=True
).map(tuple)
single = st.one_of(
    st.builds(LoopBound, st.just(NOWHERE), place=places(), limit=limits, total=st.booleans()),
    st.builds(Never, st.just(NOWHERE), place=places()),
    st.builds(
        Targets,
        st.just(NOWHERE),
        place=places(),
        targets=st.lists(places(chain=False), min_size=1, max_size=3, unique=True).map(tuple),
    ),
    st.builds(Recursion, st.just(NOWHERE), function=symbols, limit=limits),
    st.builds(
        Exclusive,
        st.just(NOWHERE),
        places=st.lists(places(), min_size=2, max_size=3, unique=True).map(tuple),
    ),
    st.builds(NoReturn, st.just(NOWHERE), function=symbols),
    st.builds(Accesses, st.just(NOWHERE), place=places(), sections=sections),
    st.builds(SwitchedAway, st.just(NOWHERE), place=places()),
    entries(),
).map(lambda fact: [fact])
services = st.lists(
    st.sampled_from(["xQueue*", "xQueueReceive/call", "context switch", "in", "?"]),
    max_size=2,
    unique=True,
).map(tuple)


@st.composite
def facts(draw: st.DrawFn) -> tuple[Fact, ...]:
    found: list[Fact] = []
    for group in draw(st.lists(single | relations(), max_size=4)):
        said = {
            "services": draw(services),
            "because": draw(reasons),
            "origin": draw(st.sampled_from(FactOrigin)),
            "where_present": draw(st.booleans())
            and not any(isinstance(fact, SwitchedAway) for fact in group),
        }
        found += [replace(fact, **said) for fact in group]
    return tuple(found)


def nowhere(read: tuple[Fact, ...]) -> tuple[Fact, ...]:
    return tuple(replace(fact, where=NOWHERE) for fact in read)


@untimed
@given(facts())
def test_printed_facts_are_read_back(stated: tuple[Fact, ...]) -> None:
    text = to_text(stated)
    again = parse_facts(text, "x.ff")
    assert nowhere(again.facts) == stated
    assert to_text(again) == text


_words = (
    "service in called from through where present observed because each loop at never",
    "call jump recursion of exclusive no return access switch entry count most total ceil( min(",
    "N 0x10 010 12",
    'heap.c:12 heap.c:"while" "text" " { } ( ) : , + - * / <= == < -> # \\ é',
)
_pieces = st.sampled_from([*" ".join(_words).split(), "\n", "\t", "\r"])


@untimed
@given(st.text() | st.lists(_pieces, max_size=60).map(" ".join))
@example("")
@example("in f {\n" * 5_000)
@example("called from a {\n" * 1_000 + "never f\n" + "}\n" * 1_000)
@example("count(a) <= " + "1+" * 3_000 + "1")
@example("count(a) <= " + "-" * 3_000 + "1")
@example("-" * 3_000 + "count(a) <= 1")
@example("2*" * 3_000 + "count(a) <= 1")
@example("loop at f: at most " + "(" * 3_000)
@example("never f called from " + "a through " * 900 + "b")
@example("lop\n" * 1_000)
@example("never f\0")
@example("\ud800")
@example('never f because "a\\"')
def test_any_text_is_facts_or_an_input_error(text: str) -> None:
    errors: tuple[InputError, ...] = ()
    read = None
    try:
        read = parse_facts(text, "x.ff")
    except InputErrors as several:
        errors = several.errors
    except InputError as single:
        errors = (single,)
    if read is None:
        assert len(errors) > 0
        for error in errors:
            assert len(str(error)) < 5_000
            assert error.where is not None
            assert error.where.column is not None
        return
    assert nowhere(parse_facts(to_text(read), "y.ff").facts) == nowhere(read.facts)
