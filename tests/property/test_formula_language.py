"""Formulas against a second parser and a second evaluator.

The second parser is CPython's own (``ast``): on what the two languages share, precedence and
associativity must be the same. The second evaluator works on ``Fraction`` throughout.
"""

from __future__ import annotations

import ast
import keyword
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wcetchar.errors import InputError
from wcetchar.formula import evaluate, evaluate_many, names, parse, to_text
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

NAMES = ("N", "size", "a_1")
untimed = settings(deadline=None)

_literals = st.integers(0, 9) | st.integers(0, 2**63 - 1)
_divisors = st.integers(1, 9) | st.integers(1, 2**63 - 1)


def _trees(rounded: bool, levels: int) -> st.SearchStrategy[Expression]:
    leaves = st.builds(Number, _literals) | st.builds(Name, st.sampled_from(NAMES))
    if levels == 0:
        return leaves
    below = st.deferred(lambda: _trees(rounded, levels - 1))
    inside = st.deferred(lambda: _trees(True, levels - 1))
    sums = st.sampled_from([BinaryOperator.ADD, BinaryOperator.SUBTRACT, BinaryOperator.MULTIPLY])
    rounding = st.sampled_from([Function.CEIL, Function.FLOOR])
    picking = st.sampled_from([Function.MIN, Function.MAX])
    choices = [
        leaves,
        st.builds(Binary, sums, below, below),
        st.builds(Negate, below),
        st.builds(Compare, st.sampled_from(Comparison), below, below),
        st.builds(Call, picking, st.lists(below, min_size=2, max_size=3).map(tuple)),
        st.builds(lambda f, x: Call(f, (x,)), rounding, inside),
        st.builds(lambda f, x: Call(f, (Call(Function.LOG2, (x,)),)), rounding, inside),
    ]
    if rounded:
        divided = st.builds(Number, _divisors)
        choices.append(st.builds(Binary, st.just(BinaryOperator.DIVIDE), below, divided))
    return st.one_of(choices)


trees = _trees(False, 4)
values = st.integers(-100, 100) | st.integers(-(2**63), 2**63 - 1)


@untimed
@given(trees)
def test_printed_trees_are_read_back(tree: Expression) -> None:
    text = to_text(tree)
    again = parse(text, names=NAMES)
    assert again == tree
    assert to_text(again) == text


def _with_all_parentheses(tree: Expression) -> str:
    match tree:
        case Number(value):
            return f"(({value}))"
        case Name(name):
            return f"( {name} )"
        case Negate(operand):
            return f"(- {_with_all_parentheses(operand)})"
        case Binary(BinaryOperator.DIVIDE, left, Number(divisor)):
            return f"({_with_all_parentheses(left)}/{divisor})"
        case Binary(operator, left, right) | Compare(operator, left, right):
            return f"({_with_all_parentheses(left)}{operator}{_with_all_parentheses(right)})"
        case Call(function, arguments):
            return f"{function} ({','.join(map(_with_all_parentheses, arguments))})"


@untimed
@given(trees)
def test_parentheses_that_print_does_not_need_change_nothing(tree: Expression) -> None:
    assert parse(_with_all_parentheses(tree)) == tree
    assert to_text(tree).count("(") <= _with_all_parentheses(tree).count("(")


# The second evaluator, over CPython's syntax tree.


def _log2(function: str, value: Fraction) -> int:
    power = 0
    if function == "floor":
        while 2 ** (power + 1) <= value:
            power += 1
    else:
        while 2**power < value:
            power += 1
    return power


def _python(node: ast.expr, given_values: dict[str, int]) -> Fraction:
    def value(inner: ast.expr) -> Fraction:
        return _python(inner, given_values)

    match node:
        case ast.Constant(number):
            return Fraction(number)
        case ast.Name(name):
            return Fraction(given_values[name])
        case ast.UnaryOp(ast.USub(), operand):
            return -value(operand)
        case ast.BinOp(left, ast.Add(), right):
            return value(left) + value(right)
        case ast.BinOp(left, ast.Sub(), right):
            return value(left) - value(right)
        case ast.BinOp(left, ast.Mult(), right):
            return value(left) * value(right)
        case ast.BinOp(left, ast.Div(), right):
            return value(left) / value(right)
        case ast.Compare(left, [operator], [right]):
            one, other = value(left), value(right)
            holds = {
                ast.Lt: one < other,
                ast.LtE: one <= other,
                ast.Eq: one == other,
                ast.NotEq: one != other,
                ast.GtE: one >= other,
                ast.Gt: one > other,
            }
            return Fraction(holds[type(operator)])
        case ast.Call(ast.Name(outer), [ast.Call(ast.Name("log2"), [inner])]):
            return Fraction(_log2(outer, value(inner)))
        case ast.Call(ast.Name("min"), arguments):
            return min(map(value, arguments))
        case ast.Call(ast.Name("max"), arguments):
            return max(map(value, arguments))
        case ast.Call(ast.Name("floor"), [inner]):
            exact = value(inner)
            return Fraction(exact.numerator // exact.denominator)
        case ast.Call(ast.Name("ceil"), [inner]):
            exact = -value(inner)
            return -Fraction(exact.numerator // exact.denominator)
    raise AssertionError(ast.dump(node))


@untimed
@given(trees, st.tuples(values, values, values))
def test_value_against_the_second_evaluator(
    tree: Expression, given_values: tuple[int, ...]
) -> None:
    bound = dict(zip(NAMES, given_values, strict=True))
    text = to_text(tree)
    assert evaluate(tree, bound) == _python(ast.parse(text, mode="eval").body, bound)
    assert names(tree) == {
        node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)
    } - {function.value for function in Function}


@untimed
@given(trees, st.lists(st.tuples(values, values, values), max_size=5))
def test_columns_are_the_single_values_or_refused(
    tree: Expression, points: list[tuple[int, ...]]
) -> None:
    single = [evaluate(tree, dict(zip(NAMES, point, strict=True))) for point in points]
    table = np.array(points, dtype=np.int64).reshape(len(points), 3)
    columns = {name: table[:, i] for i, name in enumerate(NAMES)}
    if all(-(2**63) <= value < 2**63 for value in single):
        assert evaluate_many(tree, columns).tolist() == single
    else:
        with pytest.raises(InputError, match="64 bits"):
            evaluate_many(tree, columns)


_alphabet = st.sampled_from(
    [*"+-*/<>=!(),. \n0123456789", "N", "size", "min", "max(", "ceil(", "floor(", "log2(", "/4"]
)


@untimed
@given(st.text() | st.lists(_alphabet, max_size=40).map("".join))
@example("ceil(" * 600 + "N")
@example("(" * 4000)
@example("1" + "+1" * 1999)
@example("-" * 3999 + "1")
@example("min(" + "1," * 1990 + "1)")
@example("9" * 4000)
@example("N\0")
@example("\ud800")
def test_any_text_is_a_formula_or_an_input_error(text: str) -> None:
    message = ""
    try:
        tree = parse(text)
    except InputError as error:
        message = str(error)
    if message:
        assert len(message) < 1000
        return
    assert parse(to_text(tree)) == tree
    if any(map(keyword.iskeyword, re.findall(r"\w+", text))):
        return  # CPython's keywords are names here
    try:
        python = ast.parse(text.strip(" \t\r\n"), mode="eval").body
    except SyntaxError:
        # CPython wants a line break inside parentheses; it has no other reason to refuse these.
        assert "\n" in text or "\r" in text
        return
    bound = dict.fromkeys(names(tree), 3)
    assert evaluate(tree, bound) == _python(python, bound)
