"""Facts and messages, written down by hand."""

from __future__ import annotations

import pytest

from wcetchar.errors import InputError, InputErrors, Location
from wcetchar.formula import parse
from wcetchar.model.access import Operation
from wcetchar.model.expression import Name, Negate, Number
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
    Term,
)
from wcetchar.static.facts import parse_facts, to_text

HERE = Location("a.ff", 1, 1)
ONE = Number(1)


def function(name: str, offset: int = 0, **more: object) -> CodePlace:
    return CodePlace(PlaceKind.FUNCTION, name=name, offset=offset, **more)  # type: ignore[arg-type]


def at(line: int, file: str = "heap_4.c", **more: object) -> CodePlace:
    return CodePlace(PlaceKind.LINE, file=file, line=line, **more)  # type: ignore[arg-type]


def text(what: str, file: str = "heap_4.c", **more: object) -> CodePlace:
    return CodePlace(PlaceKind.TEXT, file=file, text=what, **more)  # type: ignore[arg-type]


A, B = function("A"), function("B")


@pytest.mark.parametrize(
    ("written", "fact"),
    [
        (
            'loop at heap_4.c:"while" in pvPortMalloc: at most N',
            LoopBound(HERE, place=text("while", inside="pvPortMalloc"), limit=Name("N")),
        ),
        (
            "loop at f+0x1c: at most 3 * N in total",
            LoopBound(HERE, place=function("f", 28), limit=parse("3*N"), total=True),
        ),
        ('never heap_4.c:"xReturn = 0"', Never(HERE, place=text("xReturn = 0"))),
        ("never 0x80001234", Never(HERE, place=CodePlace(PlaceKind.ADDRESS, address=0x80001234))),
        ("never switch at heap_4.c:3", Never(HERE, place=at(3), switch=True)),
        ("never switch", Never(HERE, place=function("switch"))),
        (
            "never a/b.c:3 called from A through B # so",
            Never(HERE, place=at(3, "a/b.c", called=("A", "B"))),
        ),
        ("call at heap_4.c:3: A, B", Targets(HERE, place=at(3), targets=(A, B))),
        ("jump at A+2: A+4", Targets(HERE, place=function("A", 2), targets=(function("A", 4),))),
        ("recursion of A: at most d + 1", Recursion(HERE, function="A", limit=parse("d + 1"))),
        ("exclusive A, B", Exclusive(HERE, places=(A, B))),
        ("no return from A", NoReturn(HERE, function="A")),
        (
            'access at A+2: .bss, "x y"',
            Accesses(HERE, place=function("A", 2), sections=(".bss", "x y")),
        ),
        (
            "read at A: .bss",
            Accesses(HERE, place=A, sections=(".bss",), operation=Operation.READ),
        ),
        (
            "write at A: .bss",
            Accesses(HERE, place=A, sections=(".bss",), operation=Operation.WRITE),
        ),
        ("switch at A", SwitchedAway(HERE, place=A)),
        ("at entry x == 0", EntryValue(HERE, name="x", value=0)),
        ("at entry x+4 == 0xff", EntryValue(HERE, name="x", offset=4, value=255)),
        ("at entry x == -1", EntryValue(HERE, name="x", value=-1)),
        ("at thread start x == 1", EntryValue(HERE, name="x", value=1, at_start=True)),
        ("where present never A", Never(HERE, place=A, where_present=True)),
        (
            "where present observed never A",
            Never(HERE, place=A, origin=FactOrigin.OBSERVED, where_present=True),
        ),
        (
            "where present { in A { never heap_4.c:3 } }",
            Never(Location("a.ff", 1, 24), place=at(3, inside="A"), where_present=True),
        ),
        (
            "count(each A) <= 2",
            Relation(HERE, terms=(Term(ONE, A, each=True), Term(Negate(Number(2))))),
        ),
        (
            "count(each called from A) <= 2",
            Relation(
                HERE,
                terms=(Term(ONE, function("each", called=("A",))), Term(Negate(Number(2)))),
            ),
        ),
        (
            "count(each each) <= 2",
            Relation(HERE, terms=(Term(ONE, function("each"), each=True), Term(Negate(Number(2))))),
        ),
        (
            'observed never A because "traces" "say so"',
            Never(HERE, place=A, because="traces say so", origin=FactOrigin.OBSERVED),
        ),
        ('never A because\n"x"', Never(HERE, place=A, because="x")),
        ("never loop", Never(HERE, place=function("loop"))),
        (
            "service s*, t/call { never A }",
            Never(Location("a.ff", 1, 22), ("s*", "t/call"), place=A),
        ),
        ("in A { never heap_4.c:3 }", Never(Location("a.ff", 1, 8), place=at(3, inside="A"))),
        (
            "called from A { called from B through C { never f called from D } }",
            Never(Location("a.ff", 1, 43), place=function("f", called=("A", "B", "C", "D"))),
        ),
        (
            "count(A) <= 2 * count(B) + N - 1",
            Relation(
                HERE, terms=(Term(ONE, A), Term(Negate(Number(2)), B), Term(Negate(parse("N - 1"))))
            ),
        ),
        (
            "count(A -> heap_4.c:3) - count(B) >= 1",
            Relation(HERE, terms=(Term(ONE, B), Term(ONE), Term(Negate(ONE), A, at(3)))),
        ),
        ("N*count(A)*2 <= 0", Relation(HERE, terms=(Term(parse("N*2"), A),))),
    ],
)
def test_facts(written: str, fact: Fact) -> None:
    assert parse_facts(written, "a.ff").facts == (fact,)


def test_an_equation_is_two_relations() -> None:
    assert parse_facts("count(A) == count(B)", "a.ff").facts == (
        Relation(HERE, terms=(Term(ONE, A), Term(Negate(ONE), B))),
        Relation(HERE, terms=(Term(ONE, B), Term(Negate(ONE), A))),
    )


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("never   A", "never A"),
        ("loop at a.c:3 : at most (N)", "loop at a.c:3: at most N"),
        ("0 <= count(A) - count(B)", "count(B) <= count(A)"),
        ("count(A) - N <= 2", "count(A) <= N + 2"),
        ("count(A) >= N", "count(A) >= N"),
        ("N == count(A)", "count(A) == N"),
        ("count(A) <= count(B) - N + 2", "count(A) <= count(B) - N + 2"),
        ("(N > 1)*count(A) <= (N > 2)", "(N > 1)*count(A) <= (N > 2)"),
        ("call at A+2: A+4", "jump at A+0x2: A+0x4"),
        ('never "a.c":3', "never a.c:3"),
        ('never a.c:"say \\"\\\\\\""', 'never a.c:"say \\"\\\\\\""'),
        ("in A { never a.c:3\n never a.c:4 }", "never a.c:3 in A\nnever a.c:4 in A"),
        ("service s { never A\n never B }", "service s {\n    never A\n    never B\n}"),
    ],
)
def test_canonical_text(written: str, canonical: str) -> None:
    assert to_text(parse_facts(written, "a.ff")) == canonical + "\n"


def test_long_reasons_are_wrapped_and_read_back() -> None:
    reason = "it " * 60 + "is"
    facts = parse_facts(f'never A because "{reason}"', "a.ff").facts
    written = to_text(facts)
    assert max(map(len, written.splitlines())) <= 100
    assert parse_facts(written, "b.ff").facts[0].because == reason


@pytest.mark.parametrize(
    ("written", "where", "said"),
    [
        ("nevr A", "1:1", "did you mean 'never'?"),
        ("never", "1:6", "ends too early"),
        ("loop at A: atmost 3", "1:12", "expected: 'at'"),
        ('loop at a.c:"x: at most 3', "1:13", "without its closing quote"),
        ("loop at A: at most N/2", "1:21", "division outside ceil or floor"),
        ("loop at A: at most min(N,\n   M/2)", "2:5", "division outside ceil or floor"),
        ("loop at A: at most -1", "1:20", "a number from 0 on"),
        ("recursion of A: at most 0", "1:25", "a number from 1 on"),
        ("never A in B", "1:12", "A does not lie in B"),
        ("never a.c:0", "1:11", "a line's number"),
        ("never a.c:99999999", "1:11", "no file has so many lines"),
        ("count(A) < 1", "1:10", "expected: <=, == or >="),
        ("N <= 1", "1:1", "a relation without a count"),
        ("count(A)*count(B) <= 1", "1:1", "a product of counts"),
        ("exclusive A", "1:1", "excludes nothing"),
        ("exclusive A, A", "1:1", "named twice"),
        ("access at A: x, x", "1:1", "named twice"),
        ("at entry x == 010", "1:15", "starts with 0"),
        ("at entry x == 0x100000000", "1:1", "does not fit"),
        ("at entry x <= 2", "1:12", "a value with <="),
        ("at thread start x >= 2", "1:19", "a value with >="),
        ("count(each A) <= count(each B)", "1:1", "`each` twice"),
        ("count(each A -> B) <= 1", "1:7", "each of several ways"),
        ("in A { in B { never a.c:3 } }", "1:1", "around another one"),
        ("service s { service t { never A } }", "1:1", "around another one"),
        ("in A { recursion of B: at most 2 }", "1:8", "says nothing of this fact"),
        ("in A { never a.c:3 in B }", "1:8", "says nothing of this fact"),
        ("called from A { at entry x == 1 }", "1:17", "says nothing of this fact"),
        ("in A { never a.c:3", "1:19", "the block that is opened in line 1"),
        ("}", "1:1", "no block to close"),
        ('never A because ""', "1:17", "an empty reason"),
        ('never A "why"', "1:9", "because"),
        ("where present switch at A", "1:1", "what asks for a switch cannot be left out"),
        ("where present { in A { switch at a.c:3 } }", "1:24", "cannot be left out"),
    ],
)
def test_mistakes(written: str, where: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_facts(written, "a.ff")
    assert str(caught.value).startswith(f"a.ff:{where}: "), str(caught.value)
    assert said in str(caught.value)


def test_all_mistakes_are_said_at_once() -> None:
    wrong = "nevr A\nservice s,, t {\n  loop at A: at most N/2\n  never\n}\ncount(A) < 1\nnever B\n"
    with pytest.raises(InputErrors) as caught:
        parse_facts(wrong, "a.ff")
    lines = [error.where.line for error in caught.value.errors if error.where]
    assert lines == [1, 2, 3, 4, 6]


def test_what_cannot_be_written_is_refused() -> None:
    for fact in (
        Never(HERE, place=function("no name")),
        Never(HERE, place=text("two\nlines")),
        Never(HERE, place=function("A", inside="B")),
        LoopBound(HERE, place=A),
        EntryValue(HERE, name="no name"),
        Relation(HERE, terms=(Term(ONE),)),
    ):
        with pytest.raises(InputError):
            to_text([fact])


def test_alternative_callers() -> None:
    facts = parse_facts("called from A, B { never C called from D }", "x.ff").facts
    chains = [fact.place.called for fact in facts if isinstance(fact, Never)]
    assert chains == [("A", "D"), ("B", "D")]


def test_services_left_out() -> None:
    (fact,) = parse_facts("service x*, !xTask* { never C }", "x.ff").facts
    assert fact.services == ("x*", "!xTask*")
