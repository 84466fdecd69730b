"""Which reader opens a file, and the parts that the readers share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.errors import InputError
from wcetchar.readers import READERS, open_trace
from wcetchar.readers.columns import Text
from wcetchar.readers.encoding import InstructionSet, length
from wcetchar.readers.files import MAX_LINE_BYTES


def test_names_are_distinct() -> None:
    names = [reader.name for reader in READERS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"\x7fELF\x01\x01", "no trace format"),
        (b"hello\n", "no trace format"),
        (b"\x1f\x8bnot gzip", "no trace format"),
        (bytes(100000), "no trace format"),
    ],
)
def test_a_foreign_file_is_refused_with_all_formats_named(
    data: bytes, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "trace"
    path.write_bytes(data)
    with pytest.raises(InputError, match=said) as error:
        open_trace(str(path))
    assert error.value.where is not None
    assert error.value.where.file == str(path)
    for reader in READERS:
        assert reader.name in str(error.value)


def test_a_file_that_is_not_there_and_a_format_that_is_not(tmp_path: Path) -> None:
    none = str(tmp_path / "none")
    with pytest.raises(InputError, match="cannot be read"):
        open_trace(none)
    for reader in READERS:
        # Some readers look at the file only when they are asked for events.
        with pytest.raises(InputError, match="cannot be read"):
            list(open_trace(none, format=reader.name, machine="mps2-an385").batches())
    with pytest.raises(InputError, match="no trace format 'vcd'"):
        open_trace(none, format="vcd")


def test_a_line_without_an_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(b"IN: f\n" + b"x" * (20 * MAX_LINE_BYTES))
    with pytest.raises(InputError, match="a line of more than"):
        list(open_trace(str(path)).batches())


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20), st.booleans(), st.data())
def test_hexadecimal_columns_are_what_int_reads(
    values: list[int], upper: bool, data: st.DataObject
) -> None:
    ends = data.draw(st.lists(st.sampled_from(', \n]/:;@G`g"xé'), min_size=20, max_size=20))
    text = b""
    at = []
    for value, end in zip(values, ends, strict=False):
        at.append(len(text))
        text += (f"{value:X}" if upper else f"{value:x}").encode() + end.encode()
    found, digits = Text(text + b"\n").hex(np.array(at))
    assert found.tolist() == values
    assert digits.tolist() == [len(f"{value:x}") for value in values]


def test_hexadecimal_columns_say_where_no_number_or_too_long_a_one_is() -> None:
    text = Text(b"g1234567" + b"1" * 17 + b"," + b"2" * 30 + b"\n")
    _, digits = text.hex(np.array([0, 8, 26, 1]))
    assert digits.tolist() == [0, 17, 17, 17]


@pytest.mark.parametrize(
    ("half", "instruction_set", "expected"),
    [
        (0xE7FF, InstructionSet.THUMB, 2),
        (0xE800, InstructionSet.THUMB, 4),
        (0xF000, InstructionSet.THUMB, 4),
        (0xFFFF, InstructionSet.THUMB, 4),
        (0xDFFF, InstructionSet.THUMB, 2),
        (0x0001, InstructionSet.A32, 4),
        (0x0001, InstructionSet.RISCV, 2),
        (0x0013, InstructionSet.RISCV, 4),
        (0x001F, InstructionSet.RISCV, 0),
    ],
)
def test_lengths(half: int, instruction_set: InstructionSet, expected: int) -> None:
    assert length(half, instruction_set) == expected
