"""Looks for the programs that verbs and the Makefile's targets call, and asks each for its version.

Nothing is built and nothing is run but what answers at once. Of QEMU a version says too little: it
is also asked to load a plugin that is not there, which one without plugins refuses in other words.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Collection
from typing import Final

from wcetchar.capture.build import OVERRIDE
from wcetchar.capture.emulator import NO_PLUGINS
from wcetchar.model.tool import Found, State, Tool, Use

_SECONDS: Final = 20
_QEMU: Final = "apt-get install {}; of any other system, QEMU built with --enable-plugins"
_HEADERS: Final = "#include <stdio.h>\n"
KERNEL: Final = "FREERTOS_KERNEL"
"""The variable that names a folder of FreeRTOS, so that none has to be got."""


def _debian(name: str, package: str, *ask: str, least: tuple[int, ...] = ()) -> Tool:
    return Tool(name, f"apt-get install {package}", ask or ("--version",), least)


def _qemu(name: str, package: str) -> Tool:
    return Tool(name, _QEMU.format(package), least=(7, 2), most=(11, 1))


TOOLS: Final = (
    _qemu("qemu-system-arm", "qemu-system-arm"),
    _qemu("qemu-system-riscv32", "qemu-system-misc"),
    _debian("cc", "gcc libc6-dev"),
    _debian("make", "make"),
    _debian("arm-none-eabi-gcc", "gcc-arm-none-eabi"),
    _debian("arm-none-eabi-objdump", "binutils-arm-none-eabi"),
    _debian("riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf"),
    _debian("riscv64-unknown-elf-objdump", "binutils-riscv64-unknown-elf"),
    Tool(
        "cargo",
        f"apt-get install cargo-web, which has 1.85; or {KERNEL}=FOLDER with a kernel's source",
        least=(1, 85),
    ),
    _debian("git", "git"),
    _debian("g++", "g++"),
    _debian("verilator", "verilator", least=(5,)),
    _debian("fdtget", "device-tree-compiler"),
    _debian("callgrind_annotate", "valgrind"),
    _debian("dot", "graphviz", "-V"),
    _debian("cmake", "cmake"),
    _debian("ninja", "ninja-build"),
    _debian("node", "nodejs"),
    _debian("npm", "npm"),
    _debian("chromium", "chromium"),
    Tool("west", "pip install west, in a workspace of Zephyr"),
)
LINUX: Final = "Linux"
_BOARDS: Final = ("qemu-system-arm", "qemu-system-riscv32")
_FIRMWARE: Final = (
    *(("make",), ("cc",), ("qemu-system-arm",), ("arm-none-eabi-gcc",)),
    *(("arm-none-eabi-objdump",), ("cargo",)),
)
_BOTH: Final = (
    *(*_FIRMWARE, ("qemu-system-riscv32",)),
    *(("riscv64-unknown-elf-gcc",), ("riscv64-unknown-elf-objdump",)),
)
_RTL: Final = (("g++",), ("verilator",))
USES: Final = (
    Use("capture", ((LINUX,), _BOARDS, ("cc",))),
    Use(
        "campaign",
        ((LINUX,), _BOARDS, ("cc",)),
        {
            "make": "builds of FreeRTOS",
            "arm-none-eabi-gcc": "builds for Arm",
            "riscv64-unknown-elf-gcc": "builds for RISC-V",
            "west": "builds of Zephyr",
            "cmake": "builds of Zephyr",
        },
    ),
    Use("paths", helps={"dot": "draws what --format dot prints"}),
    Use("export", helps={"callgrind_annotate": "lists what --format callgrind writes"}),
    Use("measure host", ((LINUX,), ("cc",))),
    Use("measure target", helps={"arm-none-eabi-gcc": "compiles what `measure header` writes"}),
    Use("make demo", _FIRMWARE),
    Use(
        "make test",
        (
            *_BOTH,
            ("git",),
            *_RTL,
            ("fdtget",),
            ("callgrind_annotate",),
            ("dot",),
            ("cmake",),
            ("ninja",),
            ("node",),
            ("chromium",),
        ),
        {"npm": "gets speedscope's schema"},
    ),
    Use("make campaign", _BOTH),
    Use("make validate", (*_BOTH, *_RTL)),
    Use("make fit", (*_BOTH, *_RTL)),
    Use("make bench", _BOTH),
)
"""All others need programs of nobody."""


def examine(names: Collection[str]) -> tuple[Found, ...]:
    """What is there of the tools of these names, in the order of ``TOOLS``."""
    system = (_system(),) if LINUX in names else ()
    return (*system, *(_examined(tool) for tool in TOOLS if tool.name in names))


def _system() -> Found:
    there = platform.system()
    if there == LINUX:
        return Found(LINUX, "system", State.FOUND, platform.release())
    problem = f"this is {there or 'another system'}"
    get = "do this in a Linux container; everything else runs anywhere"
    return Found(LINUX, "system", State.MISSING, problem=problem, get=get)


def _examined(tool: Tool) -> Found:
    path = shutil.which(tool.name)
    if path is None:
        instead = _instead(tool)
        state = State.FOUND if instead else State.MISSING
        return Found(tool.name, "program", state, wanted=tool.wanted, problem=instead, get=tool.get)
    said = _said([path, *tool.ask], fails=True)  # some end with an error after the answer
    version = re.search(r"\d+(\.\d+)+", re.sub(r"\(.*?\)", "", said or ""))
    text = version[0] if version else ""
    state, problem = _judged(tool, path, said, text)
    return Found(tool.name, "program", state, text, path, tool.wanted, problem, tool.get)


def _instead(tool: Tool) -> str:
    """What is there that makes a missing tool superfluous."""
    if tool.name == "cargo" and os.environ.get(KERNEL):
        return f"not needed: {KERNEL} is set"
    if tool.name == "cc" and os.environ.get(OVERRIDE):
        return f"not needed for captures: {OVERRIDE} is set"
    return ""


def _judged(tool: Tool, path: str, said: str | None, version: str) -> tuple[State, str]:
    if said is None:
        return State.UNFIT, "it cannot be run"
    if not version:
        unknown = "it does not say its version"
        return (State.UNFIT if tool.wanted else State.FOUND), unknown
    if not tool.takes(tuple(map(int, version.split(".")))):
        if _instead(tool):
            return State.FOUND, _instead(tool)
        return State.UNFIT, f"{version} is not known to work"
    if tool.name in _BOARDS and (refused := _without_plugins(path)):
        return State.UNFIT, refused
    if tool.name == "cc" and _said([path, "-E", "-"], _HEADERS) is None:
        return State.UNFIT, "the headers of the C library are not there"
    return State.FOUND, ""


def _without_plugins(qemu: str) -> str:
    """Why it loads no plugins, where that is so."""
    command = [qemu, *("-M", "none", "-nodefaults", "-display", "none", "-plugin", os.devnull)]
    said = _said(command, fails=True) or ""
    found = next(filter(None, map(NO_PLUGINS.search, said.splitlines())), None)
    return f"it has no plugins: {found[1] or found[2]}" if found else ""


def _said(command: list[str], given: str = "", fails: bool = False) -> str | None:
    """What a program prints; ``None``: it cannot be run, does not end or, but for ``fails``, ends
    with an error."""
    try:
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode and not fails else done.stdout + done.stderr
