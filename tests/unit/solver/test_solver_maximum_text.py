"""The text of a program to be maximised, read by another solver's front end."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import highspy
import pytest

from wcetchar.solver import Constraint, LinearProgram, Variable, lp_text, maximum

F = Fraction


def test_the_text_says_maximise(tmp_path: Path) -> None:
    program = LinearProgram(
        (Variable("x", integer=True), Variable("y", F(0), F(2), True)),
        (Constraint("both", {"x": F(1), "y": F(1)}, upper=F(4)),),
        {"x": F(3), "y": F(5)},
    )
    path = tmp_path / "program.lp"
    path.write_text(lp_text(program, maximise=True))
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    solver.run()
    assert solver.getInfo().objective_function_value == pytest.approx(16)
    assert maximum(program).bound == 16


def test_no_line_is_too_long_for_a_reader(tmp_path: Path) -> None:
    names = [f"x{n}" for n in range(400)]
    program = LinearProgram(
        tuple(Variable(name, integer=True) for name in names),
        (Constraint("at most " + "long " * 200, {n: F(2, 3) for n in names}, upper=F(5)),),
        {name: F(number) for number, name in enumerate(names)},
    )
    text = lp_text(program, maximise=True)
    assert max(map(len, text.splitlines())) <= 200
    path = tmp_path / "program.lp"
    path.write_text(text)
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    solver.run()
    assert solver.getInfo().objective_function_value == pytest.approx(7 * 399)
