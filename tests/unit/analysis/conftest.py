"""Lets the tests of this folder import their shared listing, and assembles RISC-V."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def assemble_riscv(tmp_path: Path) -> Callable[[str, str], Path]:
    """``assemble_riscv(source, script)``: links an assembler source for RV32IMC."""
    compiler = shutil.which("riscv64-unknown-elf-gcc")
    if compiler is None:
        pytest.skip("riscv64-unknown-elf-gcc is not installed (gcc-riscv64-unknown-elf)")

    def build(source: str, script: str) -> Path:
        (tmp_path / "test.s").write_text(source)
        (tmp_path / "test.ld").write_text(script)
        options = ["-march=rv32imc_zicsr", "-mabi=ilp32", "-mno-relax", "-Wl,--no-relax"]
        link = ["-nostdlib", "-static", "-T", "test.ld", "test.s", "-o", "test.elf"]
        subprocess.run([compiler, *options, *link], check=True, cwd=tmp_path)
        return tmp_path / "test.elf"

    return build
