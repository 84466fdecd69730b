"""What follows an instruction must be what it can lead to.

Inputs: the instructions of a window in order, the accesses of table jumps. Output: nothing, or an
error at the first transfer that the program cannot have made. A trace from which an instruction is
missing, or that has one twice, is told here; so is one in which two threads were taken for one.

Checked are, beside the successors of direct jumps and calls:

* returns: control goes back behind a call that the window made and that has not returned yet;
* table jumps (Armv7-M ARM, A7.7.182, TBB/TBH): the target is address + 4 + 2 * entry, with the
  entry read from the image at the address that the trace shows;
* indirect calls: where the target lies in a function, it is the first instruction of it;
* other indirect jumps: the target lies in the same function, is the first instruction of one, is
  where a call returns to, or lies in none that the image names;
* returns of libgcc's helpers for switches in Thumb code of Armv4T and Armv6-M (config/arm/
  lib1funcs.S), which go on through a table behind the call: the target lies in the same function as
  the call.

Caveat: the instruction behind an indirect jump within a function (a switch by a table of addresses)
may be any of that function.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.resolve import Resolved
from wcetchar.counting.columns import FLOW, Codes, Columns
from wcetchar.model.instruction import Flow

_CALLS = (FLOW[Flow.CALL], FLOW[Flow.CALL_INDIRECT])
_RETURN, _INDIRECT = FLOW[Flow.RETURN], FLOW[Flow.JUMP_INDIRECT]
_CALL_INDIRECT = FLOW[Flow.CALL_INDIRECT]
_CASES = "__gnu_thumb1_case_"


def impossible_transfer(
    index: Codes,
    address: Codes,
    taken: npt.NDArray[np.bool_],
    calls: tuple[int, ...],
    columns: Columns,
    resolved: Resolved,
) -> int | None:
    """The first instruction after which control went where it cannot have gone.

    Args:
        calls: where calls return to that were made before the first instruction.
        index, address: table index and address of each instruction of a window.
        taken: it sent control elsewhere than to the next one.
    """
    flow = columns.flow[index]
    ends = address + columns.length[index]
    image = resolved.image
    stack = list(calls)
    transfers = np.flatnonzero(taken[:-1] & np.isin(flow[:-1], (*_CALLS, _RETURN, _INDIRECT)))
    for i in transfers.tolist():
        target = int(address[i + 1])
        if flow[i] in _CALLS:
            stack.append(int(ends[i]))
            if flow[i] == _CALL_INDIRECT:
                function = image.function_at(target)
                if function is not None and function.address != target:
                    return i
            continue
        if target in stack:
            # Calls above it do not return: they ended in a jump to another function.
            while stack.pop() != target:
                pass
            continue
        if flow[i] == _RETURN:
            # One that changes lr is called for that; nothing is left of the call behind it.
            helper = image.function_at(int(address[i]))
            if helper is None or not helper.name.startswith(_CASES) or not stack:
                return i
            caller = image.function_at(stack.pop() - 1)
            if caller is None or image.function_at(target) is not caller:
                return i
            continue
        function = image.function_at(target)
        if (
            function is not None
            and function.address != target
            and function is not image.function_at(int(address[i]))
        ):
            return i
    return None


def impossible_table_jump(
    index: Codes,
    address: Codes,
    owner: Codes,
    entry: Codes,
    columns: Columns,
    resolved: Resolved,
) -> int | None:
    """The first table jump that did not go where its table says.

    Args:
        index, address: table index and address of each instruction of a window.
        owner, entry: of each data access, the instruction (0..n-1) that made it and its address.

    Raises:
        InputError: the table is not in the image.
    """
    jumps = np.flatnonzero(columns.flow[index[owner]] == FLOW[Flow.JUMP_TABLE])
    for k in jumps.tolist():
        i = int(owner[k])
        if i + 1 >= len(address):
            return i
        width = int(columns.bytes[index[i]])
        distance = int.from_bytes(resolved.image.read(int(entry[k]), width), "little")
        if int(address[i + 1]) != int(address[i]) + 4 + 2 * distance:
            return i
    return None
