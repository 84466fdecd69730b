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
