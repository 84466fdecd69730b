"""Value analysis: what registers, stack slots and addresses of a function can be."""

from wcetchar.static.values.analysis import AbstractAddress, Values, analyse
from wcetchar.static.values.form import Form, Range, Tag, Value
from wcetchar.static.values.interval import Interval

__all__ = ["AbstractAddress", "Form", "Interval", "Range", "Tag", "Value", "Values", "analyse"]
