from __future__ import annotations

import pytest

from wcetchar.errors import InputError
from wcetchar.formula import MAX_DEPTH, evaluate, evaluate_many, names, parse, to_text
from wcetchar.model.expression import (
    Binary,
    BinaryOperator,
    Call,
    Expression,
    Function,
    Name,
    Negate,
    Number,
)

N = Name("N")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1", "1"),
        ("( (N) )", "N"),
        ("N-1", "N - 1"),
        ("3*N+5", "3*N + 5"),
        ("ceil( size / 4 )", "ceil(size/4)"),
        ("(a+b)+c", "a + b + c"),
        ("a+(b+c)", "a + (b + c)"),
        ("a-(b+c)", "a - (b + c)"),
        ("(a*b)*c", "a*b*c"),
        ("a*(b*c)", "a*(b*c)"),
        ("(a+b)*c", "(a + b)*c"),
        ("a*(-b)", "a*-b"),
        ("-(-a)", "--a"),
        ("-(a+b)", "-(a + b)"),
        ("-(a*b)", "-(a*b)"),
        ("(-a)*b", "-a*b"),
        ("a-(-b)", "a - -b"),
        ("(a>b)*(c<=d)", "(a > b)*(c <= d)"),
        ("(a+1)>(b*2)", "a + 1 > b*2"),
        ("(a>b)==(c>d)", "(a > b) == (c > d)"),
        ("min((a>b),(c))", "min(a > b, c)"),
        ("floor((a*3)/4)", "floor(a*3/4)"),
        ("floor(a*(b/4))", "floor(a*(b/4))"),
        ("floor((a+1)/4)", "floor((a + 1)/4)"),
        ("floor(a/4/2)", "floor(a/4/2)"),
        ("floor(( log2 ( a ) ))", "floor(log2(a))"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    assert to_text(parse(text)) == canonical
    assert parse(canonical) == parse(text)


def test_negative_literal() -> None:
    tree = Binary(BinaryOperator.MULTIPLY, Number(-3), N)
    assert to_text(tree) == "-3*N"
    assert parse("-3*N") == Binary(BinaryOperator.MULTIPLY, Negate(Number(3)), N)


def _deep(levels: int) -> Expression:
    tree: Expression = N
    for _ in range(levels - 1):
        tree = Negate(tree)
    return tree


@pytest.mark.parametrize(
    "tree",
    [
        Binary(BinaryOperator.DIVIDE, N, Number(4)),
        Call(Function.CEIL, (Binary(BinaryOperator.DIVIDE, N, Number(0)),)),
        Call(Function.CEIL, (Binary(BinaryOperator.DIVIDE, N, Number(-4)),)),
        Call(Function.CEIL, (Binary(BinaryOperator.DIVIDE, N, N),)),
        Call(Function.LOG2, (N,)),
        Call(Function.CEIL, (Negate(Call(Function.LOG2, (N,))),)),
        Call(Function.CEIL, (Call(Function.LOG2, ()),)),
        Call(Function.CEIL, ()),
        Call(Function.MIN, (N,)),
        Name("min"),
        Name("a b"),
        Name(""),
        Number(2**63),
        Number(True),
        Number(0.5),  # type: ignore[arg-type]
        "N",
        None,
        _deep(MAX_DEPTH + 1),
        _deep(100_000),
    ],
    ids=lambda tree: type(tree).__name__,
)
def test_trees_that_are_no_formula_are_refused_everywhere(tree: Expression) -> None:
    for use in (
        to_text,
        names,
        lambda tree: evaluate(tree, {"N": 8}),
        lambda tree: evaluate_many(tree, {}),
    ):
        with pytest.raises(InputError):
            use(tree)


def test_deepest_tree_can_be_used() -> None:
    tree = _deep(MAX_DEPTH)
    assert parse(to_text(tree)) == tree
    assert evaluate(tree, {"N": 5}) == -5
