"""Small programs for the graph: assembled, and their graphs in terms of labels."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from needs import need

from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.model.characterization import Place
from wcetchar.model.flow import FunctionGraph, ProgramGraph, TransferKind
from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable
from wcetchar.static.flow.graph import program_graph
from wcetchar.static.program import Program as Analysed

OPTIONS = {
    "v7m": ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb"],
    "v7em": [
        "arm-none-eabi-gcc",
        "-mcpu=cortex-m4",
        "-mthumb",
        "-mfloat-abi=hard",
        "-mfpu=fpv4-sp-d16",
    ],
    "v6m": ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb"],
    "arm": ["arm-none-eabi-gcc", "-mcpu=arm7tdmi", "-marm"],
    "thumb": ["arm-none-eabi-gcc", "-mcpu=arm7tdmi", "-mthumb", "-mthumb-interwork"],
    "riscv": ["riscv64-unknown-elf-gcc", "-march=rv32imac_zicsr", "-mabi=ilp32", "-mno-relax"],
}
_ROM = "MEMORY { r : ORIGIN = 0x1000, LENGTH = 8M } SECTIONS { .text : { *(.text*) } > r "
_SCRIPT = (
    _ROM + ".rodata : { *(.rodata*) *(.srodata*) } > r .data 0x20000000 : { *(.data*) *(.sdata*) "
    "*(.bss*) *(.sbss*) *(COMMON) } "
    "/DISCARD/ : { *(.note*) *(.comment) *(.eh_frame*) *(.ARM.ex*) } }"
)


@dataclass(frozen=True)
class Program:
    image: Image
    table: InstructionTable

    def at(self, name: str) -> int:
        """The address of a label."""
        return self.image.symbol(name).address

    def graph(
        self,
        *entries: str,
        targets: Mapping[str, Iterable[str]] | None = None,
        no_return: Iterable[str] = (),
        never: Iterable[str] = (),
    ) -> ProgramGraph:
        return program_graph(
            self.image,
            self.table,
            [self.at(name) for name in entries],
            targets={
                self.at(at): tuple(self.at(goal) for goal in goals)
                for at, goals in (targets or {}).items()
            },
            no_return=[self.at(name) for name in no_return],
            never=[self.at(name) for name in never],
        )

    def label(self, address: int) -> str:
        """The label at an address, or its address."""
        names = [s.name for s in self.image.symbols if s.address == address and s.name]
        return min(names, default=hex(address))

    def edges(self, function: FunctionGraph) -> set[tuple[str, str, str]]:
        """Edges between blocks that begin at labels; blocks of other outcomes are marked by !."""
        names = [self.block(function, number) for number in range(len(function.blocks))]
        return {(names[e.source], e.kind.value, names[e.target]) for e in function.edges}

    def block(self, function: FunctionGraph, number: int) -> str:
        block, rows = function.blocks[number], self.table.instructions
        name = self.label(rows[block.first].address)
        if name.startswith("0x"):
            name = self.label(rows[block.last].address)
        return name + ("!" if block.skipped else "")

    def goals(self, function: FunctionGraph, label: str) -> set[tuple[str, str]]:
        """Where blocks go that end with the instruction at a label, and by which kind of edge."""
        at = self.at(label)
        rows = self.table.instructions
        return {
            (edge.kind.value, self.label(rows[function.blocks[edge.target].first].address))
            for edge in function.edges
            if rows[function.blocks[edge.source].last].address == at
        }

    def blocks(self, function: FunctionGraph, numbers: Iterable[int]) -> set[str]:
        return {self.block(function, number) for number in numbers}

    def calls(self, function: FunctionGraph) -> set[tuple[str, str, str]]:
        short = {TransferKind.CALL: "call", TransferKind.TAIL_CALL: "tail"}
        return {
            (self.block(function, t.block), short[t.kind], self.label(target))
            for t in function.transfers
            for target in t.targets
        }

    def function(self, graph: ProgramGraph, name: str) -> FunctionGraph:
        return graph.functions[self.at(name)]


def analysed_in(
    made: Program, graph: ProgramGraph, called: Mapping[int, frozenset[int]] | None = None
) -> Analysed:
    """What graphs of paths are made from; everything is in one section, and no place is known."""
    none = np.zeros(len(made.table.instructions), dtype=np.int64)
    return Analysed(
        made.table, graph, (".text",), none, none, lambda _: Place(), called=called or {}
    )


def thumb_function(name: str, text: str) -> str:
    return f".thumb\n.global {name}\n.type {name}, %function\n.thumb_func\n{name}: {text}\n"


def built(
    folder: Path, target: str, source: str, *, c: bool = False, more: Iterable[str] = ()
) -> Program:
    """A program of assembler or C text."""
    compiler, *options = OPTIONS[target]
    need(compiler, "gcc-arm-none-eabi" if target != "riscv" else "gcc-riscv64-unknown-elf")
    file = folder / ("program.c" if c else "program.s")
    if not c:
        state = {"arm": ".arm\n", "riscv": ""}.get(target, ".thumb\n")
        source = ("" if target == "riscv" else ".syntax unified\n") + state + source
    file.write_text(source)
    (folder / "program.ld").write_text(_SCRIPT)
    elf = folder / "program.elf"
    optimization = [option for option in more if not option.startswith("-l")]
    libraries = [option for option in more if option.startswith("-l")] + ["-lgcc"] * c
    # GCC has a library for this architecture only under its name without zicsr.
    machine = [option.replace("_zicsr", "") for option in options]
    run = [compiler, *options, *optimization, "-c", file.name, "-o", "program.o"]
    subprocess.run(run, check=True, cwd=folder, capture_output=True)
    link = [compiler, *machine, "-nostdlib", "-static", "-T", "program.ld", "-Wl,-e,0x1000"]
    link += ["-Wl,--no-relax"] * (target == "riscv")
    link += ["program.o", *libraries, "-o", elf.name]
    subprocess.run(link, check=True, cwd=folder, capture_output=True)
    image = load_image(str(elf))
    return Program(image, decode_image(image))
