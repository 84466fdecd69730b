"""Which node a comment belongs to, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from wcetchar.store.comments import Comments, read_comments
from wcetchar.store.document import PROFILE, read_document
from wcetchar.store.names import profile_names, profile_path
from wcetchar.store.source import places_of

TEXT = """\
# yaml-language-server: $schema=x
#
# Head,
# and more.
a: 1 # one
# Of b,

# not this.
b:   # here
  # Of c.
  "c": 'x # y'   # two
  d: {e: 1, f: "#"}  # three
  # ends b
# Of g.
g: {h: 1,   # four
  # Of i.
  i: 2}     # five
j: |
  text # of it
k: >-
  text
# ends
"""


def test_by_hand() -> None:
    found = read_comments(TEXT)
    assert found.head == ("# Head,", "# and more.")
    assert {steps: one for steps, one in found.of.items() if one != Comments()} == {
        ("a",): Comments(behind="# one"),
        ("b",): Comments(above=("# not this.",), behind="# here"),
        ("b", "c"): Comments(above=("# Of c.",), behind="# two"),
        ("b", "d"): Comments(behind="# three"),
        ("b", "d", "f"): Comments(below=("# ends b",)),
        ("g",): Comments(above=("# Of g.",), behind="# five"),
        ("g", "h"): Comments(behind="# four"),
        ("g", "i"): Comments(above=("# Of i.",)),
    }
    assert ("j",) in found.of
    assert ("k",) in found.of


@pytest.mark.parametrize("name", profile_names())
def test_every_key_of_the_shipped_profiles_is_known(name: str) -> None:
    """As the reader of values sees them."""
    path = profile_path(name)
    keys = set(read_comments(Path(path).read_text()).of)
    assert keys == set(places_of(read_document(path, PROFILE))) - {()}
