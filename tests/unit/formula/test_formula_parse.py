"""Trees and messages, written down by hand."""

from __future__ import annotations

import pytest

from wcetchar.errors import InputError, Location
from wcetchar.formula import MAX_CHARACTERS, MAX_DEPTH, evaluate, names, parse
from wcetchar.model.expression import (
    Binary,
    BinaryOperator,
    Call,
    Compare,
    Comparison,
    Function,
    Name,
    Negate,
    Number,
)

N, SIZE = Name("N"), Name("size")


def _binary(operator: str, left: object, right: object) -> Binary:
    return Binary(BinaryOperator(operator), left, right)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1", Number(1)),
        (" \n N\t", N),
        ("3*N+5", _binary("+", _binary("*", Number(3), N), Number(5))),
        ("N-1-2", _binary("-", _binary("-", N, Number(1)), Number(2))),
        ("N-(1-2)", _binary("-", N, _binary("-", Number(1), Number(2)))),
        ("-N*2", _binary("*", Negate(N), Number(2))),
        ("-(N*2)", Negate(_binary("*", N, Number(2)))),
        ("N - -2", _binary("-", N, Negate(Number(2)))),
        ("ceil(size/4)", Call(Function.CEIL, (_binary("/", SIZE, Number(4)),))),
        (
            "floor(size*3/4)",
            Call(Function.FLOOR, (_binary("/", _binary("*", SIZE, Number(3)), Number(4)),)),
        ),
        ("floor(log2(N))", Call(Function.FLOOR, (Call(Function.LOG2, (N,)),))),
        ("min(N, 2, size)", Call(Function.MIN, (N, Number(2), SIZE))),
        ("N + 1 >= size", Compare(Comparison.GREATER_EQUAL, _binary("+", N, Number(1)), SIZE)),
        ("(N > 1)*2", _binary("*", Compare(Comparison.GREATER, N, Number(1)), Number(2))),
        ("minimum", Name("minimum")),
        ("log20 + ceil_", _binary("+", Name("log20"), Name("ceil_"))),
    ],
)
def test_tree(text: str, tree: object) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize("operator", ["<", "<=", "==", "!=", ">=", ">"])
def test_every_comparison(operator: str) -> None:
    assert parse(f"N {operator} 3") == Compare(Comparison(operator), N, Number(3))


@pytest.mark.parametrize(
    ("text", "character", "message"),
    [
        ("", 1, "empty formula"),
        ("  ", 1, "empty formula"),
        ("N +", 4, "ends too early"),
        ("(N", 3, "ends too early"),
        ("N )", 3, "unexpected ')'"),
        ("N N", 3, "unexpected 'N'"),
        ("2N", 2, "unexpected 'N'"),
        ("N $ 2", 3, "unexpected '$'"),
        ("N ** 2", 4, "unexpected '*'"),
        ("N < 2 < 3", 7, "unexpected '<'"),
        ("N = 2", 3, "unexpected '='"),
        ("1.5", 2, "unexpected '.'"),
        ("Größe", 3, r"unexpected '\xf6'"),
        ("٣", 1, r"unexpected '\u0663'"),  # a digit, but not one that everybody reads
        ("010", 1, "starts with 0"),
        ("9223372036854775808", 1, "number too large"),
        ("9" * 400, 1, "number too large"),
        ("N/4", 2, "division outside ceil or floor"),
        ("ceil(N) + N/4", 12, "division outside ceil or floor"),
        ("min(N/4, 1)", 6, "division outside ceil or floor"),
        ("ceil(N/0)", 8, "division by zero"),
        ("ceil(N/size)", 8, "unexpected 'size'"),
        ("ceil(N/-4)", 8, "unexpected '-'"),
        ("ceil(N/(4))", 8, "unexpected '('"),
        ("log2(N)", 1, "log2 that is not directly inside"),
        ("ceil(2*log2(N))", 8, "log2 that is not directly inside"),
        ("ceil(log2(log2(N)))", 11, "log2 that is not directly inside"),
        ("min(N)", 1, "min takes two or more arguments, here 1"),
        ("2 + ceil(N, 2)", 5, "ceil takes one argument, here 2"),
        ("ceil(log2(N, 2))", 6, "log2 takes one argument, here 2"),
        ("min()", 5, "unexpected ')'"),
        ("max + 1", 1, "max without its arguments"),
        ("(floor)", 2, "floor without its arguments"),
        ("abs(N)", 1, "unknown function 'abs'"),
        ("N(2)", 1, "unknown function 'N'"),
        ("__import__('os')", 1, "unknown function '__import__'"),
    ],
)
def test_mistake(text: str, character: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text, where=Location("kernel.yaml", 7, 20))
    assert f"character {character}: " in caught.value.message
    assert message in caught.value.message
    assert caught.value.where == Location("kernel.yaml", 7, 20 + character - 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("N +", "a number, a name, a function (min, max, ceil, floor, log2), '(', '-'"),
        ("min(N,", "a number, a name, a function (min, max, ceil, floor, log2), '(', '-'"),
        ("(N", "')'"),
        ("N N", "a comparison, '+', '-', '*', '/', the end of the formula"),
        ("min(N N", "')', ',', a comparison, '+', '-', '*', '/'"),
        ("ceil(N/", "a number"),
    ],
)
def test_expected_is_what_the_grammar_takes_there(text: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert set((caught.value.expected or "").split(", ")) == set(expected.split(", "))


def test_unknown_names_are_all_listed_with_the_known_ones() -> None:
    assert parse("N + size", names=["size", "N"]) == parse("N + size")
    with pytest.raises(InputError) as caught:
        parse("N + M*q + M", names={"N", "size"}, where=Location("map.yaml", 3, 5))
    assert "unknown name 'M', 'q'" in caught.value.message
    assert caught.value.expected == "one of N, size"
    assert caught.value.where == Location("map.yaml", 3, 9)
    with pytest.raises(InputError, match="unknown name"):
        parse("N", names=())


def test_place_without_column_or_after_a_line_break() -> None:
    with pytest.raises(InputError) as caught:
        parse("N N", where=Location("a.json", 4))
    assert caught.value.where == Location("a.json", 4)
    with pytest.raises(InputError) as caught:
        parse("N +\n +", where=Location("a.yaml", 4, 9))
    assert caught.value.where == Location("a.yaml", 5)
    with pytest.raises(InputError) as caught:
        parse("N N")
    assert caught.value.where is None
    assert "'N N', character 3" in str(caught.value)


def test_limits() -> None:
    longest = "a" * MAX_CHARACTERS
    assert parse(longest) == Name(longest)
    assert parse(" ".join(["a"] + ["+ a"] * 10)) == parse("a" + "+a" * 10)
    for text in ("a" * (MAX_CHARACTERS + 1), " " * 5 * MAX_CHARACTERS + "a"):
        with pytest.raises(InputError, match="formula too long"):
            parse(text)
    assert evaluate(parse("+".join(["1"] * MAX_DEPTH)), {}) == MAX_DEPTH
    with pytest.raises(InputError, match="formula too deep"):
        parse("+".join(["1"] * (MAX_DEPTH + 1)))
    assert evaluate(parse("-" * (MAX_DEPTH - 1) + "1"), {}) == -1
    with pytest.raises(InputError, match="formula too deep"):
        parse("-" * MAX_DEPTH + "1")
    half = MAX_CHARACTERS // 2
    assert parse("(" * (half - 1) + "a" + ")" * (half - 1)) == Name("a")  # adds no depth
    with pytest.raises(InputError, match="ends too early"):
        parse("(" * MAX_CHARACTERS)
    with pytest.raises(InputError, match="formula too deep"):
        parse("ceil(" * 600 + "a" + ")" * 600)


def test_long_texts_are_not_repeated_in_messages() -> None:
    with pytest.raises(InputError) as caught:
        parse("b" * 3_000 + " $")
    assert len(str(caught.value)) < 300


def test_names() -> None:
    assert names(parse("min(N, M)*N + ceil(log2(size/2)) - (a > b)")) == {
        *("N", "M", "size", "a", "b")
    }
    assert names(Number(3)) == frozenset()
