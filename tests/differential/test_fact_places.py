"""Places of flow facts in small compiled programs, against binutils' reading of lines.

Which instructions a line names is worked out a second time from ``addr2line -i``; loops are those
of a flow graph that this file makes of direct branches.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import networkx as nx
import pytest
from needs import need

from wcetchar import isa
from wcetchar.errors import InputError
from wcetchar.image import load_image
from wcetchar.model.flow import BasicBlock, Edge, EdgeKind, FunctionGraph, Loop
from wcetchar.model.flow_fact import CodePlace, PlaceKind
from wcetchar.model.image import Image
from wcetchar.model.instruction import Flow, InstructionTable
from wcetchar.static.facts import Places

SOURCE = """\
volatile int port, other;
struct list { struct list *next; int size; } *head;
#define SPIN(n) for (int k = 0; k < (n); k++) port = k
static inline __attribute__((always_inline)) int search(struct list *at, int size)
{
    while (at && at->size < size)
        at = at->next;
    return at ? at->size : 0;
}
int __attribute__((noinline)) nested(int n, int m)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++)
            sum += port;
        other = sum;
    }
    return sum;
}
int __attribute__((noinline)) twice(int n)
{
    int a = search(head, n);
    port = a;
    int b = search(head, 2 * a);
    SPIN(n); port = 0; SPIN(a);
    return a + b;
}
int __attribute__((noinline)) cleared(int n)
{
    int sum = 0;
    do {
        for (int j = 0; j < 2; j++)
            sum += other;
        port = sum;
    } while (--n > 0);
    return sum;
}
int __attribute__((noinline)) endless(int n)
{
    for (;;) {
        if (port == n)
            return n;
        n += other;
        while (other)
            port = 2;
        port = n;
    }
}
int __attribute__((noinline)) both(int n)
{
    for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) port = j;
    return n;
}
void _start(void)
{
    for (;;)
        port = nested(port, other) + twice(port) + cleared(port) + endless(port) + both(port);
}
"""
TOOLS = {
    "arm": ("arm-none-eabi-", ("-mcpu=cortex-m3", "-mthumb"), "gcc-arm-none-eabi"),
    "riscv": (
        "riscv64-unknown-elf-",
        ("-march=rv32imc", "-mabi=ilp32"),
        "gcc-riscv64-unknown-elf",
    ),
}


def line(text: str) -> int:
    """The number of the one line that has a text."""
    found = [n for n, content in enumerate(SOURCE.splitlines(), 1) if text in content]
    assert len(found) == 1, text
    return found[0]


class Program:
    def __init__(self, machine: str, elf: Path) -> None:
        self.machine = machine
        self.elf = elf
        self.image = load_image(str(elf))
        self.table = isa.decode_image(self.image)
        self.places = Places(
            self.image, self.table, lambda name: SOURCE.splitlines() if name == "a.c" else None
        )

    def graph(self, name: str) -> FunctionGraph:
        return graph_of(self.image, self.table, name)


@pytest.fixture(scope="module", params=["arm-Os", "arm-Og", "riscv-Os"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    machine, level = request.param.split("-")
    prefix, flags, package = TOOLS[machine]
    need(f"{prefix}gcc", package)
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "a.c").write_text(SOURCE)
    command = [f"{prefix}gcc", *flags, "-g", f"-{level}", "-nostdlib", "-ffreestanding", "a.c"]
    subprocess.run([*command, "-o", "a.elf"], check=True, cwd=folder)
    return Program(machine, folder / "a.elf")


def graph_of(image: Image, table: InstructionTable, name: str) -> FunctionGraph:
    """Of a function whose jumps are all direct."""
    symbol = image.symbol(name)
    inside = [n for n, i in enumerate(table.instructions) if i.address in symbol]
    number = {table.instructions[n].address: n for n in inside}
    leaders = {inside[0]}
    for n in inside:
        instruction = table.instructions[n]
        if instruction.flow in (Flow.JUMP, Flow.RETURN) or instruction.conditional:
            leaders |= {n + 1} & set(inside)
            if instruction.target in number:
                leaders.add(number[instruction.target])
    ordered = sorted(leaders)
    ends = [*(n - 1 for n in ordered[1:]), inside[-1]]
    blocks = tuple(BasicBlock(first, last) for first, last in zip(ordered, ends, strict=True))
    block_of = {first: n for n, first in enumerate(ordered)}
    edges, returns = [], []
    for n, block in enumerate(blocks):
        last = table.instructions[block.last]
        if last.flow is Flow.JUMP and last.target in number:
            edges.append(Edge(n, block_of[number[last.target]], EdgeKind.TAKEN))
        if last.flow is Flow.RETURN:
            returns.append(n)
        falls = last.flow not in (Flow.JUMP, Flow.RETURN) or last.conditional
        if falls and block.last + 1 in block_of:
            edges.append(Edge(n, block_of[block.last + 1], EdgeKind.NEXT))
    flow = nx.DiGraph([(edge.source, edge.target) for edge in edges])
    flow.add_node(0)
    above = nx.immediate_dominators(flow, 0)

    def dominates(one: int, other: int) -> bool:
        while other not in (one, 0):
            other = above[other]
        return one == other

    bodies: dict[int, set[int]] = {}
    for edge in edges:
        if dominates(edge.target, edge.source):
            reach = (
                nx.ancestors(flow.subgraph(set(flow) - {edge.target}), edge.source)
                if (edge.source != edge.target)
                else set()
            )
            bodies.setdefault(edge.target, {edge.target}).update(reach | {edge.source})
    loops = [
        Loop(
            header,
            tuple(e for e in edges if e.target == header and e.source in members),
            tuple(e for e in edges if e.target == header and e.source not in members),
            frozenset(members),
        )
        for header, members in sorted(bodies.items(), key=lambda item: -len(item[1]))
    ]
    return FunctionGraph(
        name, symbol.address, blocks, tuple(edges), (0,), (), tuple(returns), loops=tuple(loops)
    )


def said(program: Program) -> list[list[int]]:
    """Lines of each instruction by ``addr2line -i``, the innermost first."""
    addresses = [i.address for i in program.table.instructions]
    done = subprocess.run(
        [f"{TOOLS[program.machine][0]}addr2line", "-a", "-i", "-e", program.elf],
        input="\n".join(map(hex, addresses)),
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[int, list[int]] = {}
    here: list[int] = []
    for row in done.stdout.splitlines():
        if row.startswith("0x"):
            here = found.setdefault(int(row, 16), [])
        else:
            here.append(int(row.partition(" (")[0].rpartition(":")[2]))
    return [found[address] for address in addresses]


def at(number: int, **more: str) -> CodePlace:
    return CodePlace(PlaceKind.LINE, file="a.c", line=number, **more)


def with_text(text: str, **more: str) -> CodePlace:
    return CodePlace(PlaceKind.TEXT, file="a.c", text=text, **more)


def test_lines_are_the_beginnings_that_addr2line_shows(program: Program) -> None:
    """A run goes on while the chain from the line outwards stays the same."""
    stacks = said(program)
    functions = [program.image.function_at(i.address) for i in program.table.instructions]

    def around(index: int, number: int) -> list[int] | None:
        stack = stacks[index]
        return stack[stack.index(number) + 1 :] if number in stack else None

    checked = 0
    for number in range(1, len(SOURCE.splitlines()) + 1):
        expected = {
            index
            for index in range(len(stacks))
            if around(index, number) is not None
            and not (
                index
                and functions[index - 1] == functions[index]
                and around(index - 1, number) == around(index, number)
            )
        }
        if not expected:
            with pytest.raises(InputError, match="has no code"):
                program.places.indices(at(number))
            continue
        assert program.places.indices(at(number)) == expected, number
        checked += 1
    assert checked > 20


def test_what_is_inlined_twice_is_two_beginnings(program: Program) -> None:
    walk = program.places.indices(with_text("at = at->next", inside="twice"))
    assert walk == program.places.indices(with_text("at = at->next", inside="search"))
    assert len(walk) >= 2
    calls = [program.places.indices(with_text(f"int {name} = search")) for name in "ab"]
    stacks = said(program)
    for index in walk:
        assert line("int a = search") in stacks[index] or line("int b = search") in stacks[index]
    assert not calls[0] & calls[1]


def addresses(graph: FunctionGraph, program: Program, loops: Sequence[int]) -> list[int]:
    return [
        program.table.instructions[graph.blocks[graph.loops[n].header].first].address for n in loops
    ]


def test_lines_of_nested_loops_name_one_each(program: Program) -> None:
    graph = program.graph("nested")
    assert len(graph.loops) == 2
    assert program.places.loops(with_text("int i = 0; i < n; i++) {"), graph) == (0,)
    assert program.places.loops(with_text("j < m; j++"), graph) == (1,)
    assert program.places.loops(with_text("sum += port"), graph) == ()


def test_a_line_of_what_is_inlined_twice_names_both_loops(program: Program) -> None:
    graph = program.graph("twice")
    assert len(graph.loops) == 4
    walks = program.places.loops(with_text("while (at &&"), graph)
    spins = program.places.loops(with_text("SPIN(n);"), graph)
    assert len(walks) == len(spins) == 2
    assert sorted(walks + spins) == [0, 1, 2, 3]
    assert program.places.loops(with_text("int a = search"), graph) == ()
    assert program.places.loops(with_text("while (at &&", inside="search"), graph) == walks


def test_a_loop_that_was_unrolled_leaves_its_line_no_other(program: Program) -> None:
    """``j`` takes two values; what is left is the loop around it, or both."""
    graph = program.graph("cleared")
    outer = program.places.loops(with_text("while (--n > 0)"), graph)
    inner = program.places.loops(with_text("j < 2; j++"), graph)
    assert outer == (0,)
    assert inner == tuple(range(1, len(graph.loops)))


def test_a_loop_without_a_condition(program: Program) -> None:
    graph = program.graph("endless")
    assert program.places.loops(with_text("if (port == n)"), graph) == (0,)
    assert program.places.loops(with_text("while (other)"), graph) == (1,)


def test_loops_of_one_line_cannot_be_told_apart(program: Program) -> None:
    graph = program.graph("both")
    assert len(graph.loops) == 2
    with pytest.raises(InputError, match="one inside of it") as caught:
        program.places.loops(with_text("j < i"), graph)
    named = [detail.split()[1] for detail in caught.value.details]
    for number, name in enumerate(named):
        function, _, offset = name.partition("+")
        place = CodePlace(PlaceKind.FUNCTION, name=function, offset=int(offset, 16))
        assert program.places.loops(place, graph) == (number,)


def test_every_loop_has_a_name(program: Program) -> None:
    for name in ("nested", "twice", "cleared", "endless", "both"):
        graph = program.graph(name)
        for number in range(len(graph.loops)):
            place = program.places.name_loop(graph, number)
            assert program.places.loops(place, graph) == (number,)
    graph = program.graph("nested")
    assert program.places.name_loop(graph, 1).kind is PlaceKind.TEXT


def test_functions_and_addresses(program: Program) -> None:
    symbol = program.image.symbol("nested")
    (index,) = program.places.indices(CodePlace(PlaceKind.FUNCTION, name="nested"))
    assert program.table.instructions[index].address == symbol.address
    second = program.table.instructions[index + 1].address
    place = CodePlace(PlaceKind.FUNCTION, name="nested", offset=second - symbol.address)
    assert program.places.indices(place) == {index + 1}
    assert program.places.indices(CodePlace(PlaceKind.ADDRESS, address=second)) == {index + 1}
    for wrong in (
        CodePlace(PlaceKind.FUNCTION, name="nestde"),
        CodePlace(PlaceKind.FUNCTION, name="nested", offset=symbol.size),
        CodePlace(PlaceKind.FUNCTION, name="nested", offset=1),
        CodePlace(PlaceKind.ADDRESS, address=second + 1),
        CodePlace(PlaceKind.ADDRESS, address=0),
        CodePlace(PlaceKind.FUNCTION, name="search"),
        CodePlace(PlaceKind.ADDRESS, address=second, inside="both"),
    ):
        with pytest.raises(InputError):
            program.places.indices(wrong)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (CodePlace(PlaceKind.FUNCTION, name="nestde"), "did you mean nested"),
        (CodePlace(PlaceKind.FUNCTION, name="search"), "inlined wherever"),
        (at(2), "lines with code near there: "),
        (at(14, inside="both"), "in both: 5"),
        (at(14, inside="bot"), "did you mean both"),
        (with_text("while (nothing)"), "no line of a.c has the text"),
        (with_text("do {"), "has no code"),
        (CodePlace(PlaceKind.LINE, file="b.c", line=3), "no code comes from"),
    ],
)
def test_what_is_said_of_places_that_match_nothing(
    program: Program, place: CodePlace, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        program.places.indices(place)
    assert message in str(caught.value)


def test_a_source_that_cannot_be_read_is_said(program: Program) -> None:
    places = Places(program.image, program.table, lambda name: None)
    with pytest.raises(InputError, match="cannot be read"):
        places.indices(with_text("while"))
    assert places.indices(at(line("return at ?")))


def functions_around(program: Program) -> list[list[str]]:
    """Names of the functions that each instruction is in by ``addr2line -f -i``, the innermost
    first."""
    addresses = [i.address for i in program.table.instructions]
    done = subprocess.run(
        [f"{TOOLS[program.machine][0]}addr2line", "-a", "-f", "-i", "-e", program.elf],
        input="\n".join(map(hex, addresses)),
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[int, list[str]] = {}
    here: list[str] = []
    for row in done.stdout.splitlines():
        if row.startswith("0x"):
            here = found.setdefault(int(row, 16), [])
        elif ":" not in row:
            here.append(row)
    return [found[address] for address in addresses]


def test_accesses_of_a_function_are_all_in_it_and_where_it_was_inlined(program: Program) -> None:
    around = functions_around(program)
    rows = program.table.instructions
    for name in ("search", "twice", "nested"):
        expected = {n for n, row in enumerate(rows) if row.memory and name in around[n]}
        place = CodePlace(PlaceKind.FUNCTION, name=name)
        assert expected
        assert program.places.accessing(place) == expected
        for n in expected:
            assert program.places.rank(name, n) == around[n].index(name)


def test_accesses_of_a_line_are_all_of_its_instructions(program: Program) -> None:
    number = line("while (at && at->size < size)")
    expected = {
        n
        for n, (row, lines) in enumerate(
            zip(program.table.instructions, said(program), strict=True)
        )
        if row.memory and number in lines
    }
    assert len(expected) > 1
    assert program.places.accessing(at(number)) == expected


BARE = """\
void _start(void) { for (;;) ; }
__asm__(".text\\n.globl bare\\nbare: nop\\nnop\\n");
"""


def test_code_in_assembler_that_is_no_function_is_named_by_its_label(tmp_path: Path) -> None:
    prefix, flags, package = TOOLS["riscv"]
    need(f"{prefix}gcc", package)
    (tmp_path / "a.c").write_text(BARE)
    command = [f"{prefix}gcc", *flags, "-g", "-Os", "-nostdlib", "-ffreestanding", "a.c"]
    subprocess.run([*command, "-o", "a.elf"], check=True, cwd=tmp_path)
    program = Program("riscv", tmp_path / "a.elf")
    (label,) = program.image.find("bare")
    assert label.kind != "function"
    rows = program.table.instructions
    for offset in (0, 2):
        place = CodePlace(PlaceKind.FUNCTION, name="bare", offset=offset)
        assert [rows[n].address for n in program.places.indices(place)] == [label.address + offset]
    away = program.image.symbol("_start").address - label.address
    with pytest.raises(InputError, match="lies outside"):
        program.places.indices(CodePlace(PlaceKind.FUNCTION, name="bare", offset=away))
