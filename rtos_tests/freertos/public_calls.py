"""The public calls of the kernel's headers, and which of them the suite characterizes.

The headers are read as text: declarations of functions, and macros with the functions that they
come to. A function is characterized if some service has it among its entries. A macro is, if a
service has its name (``NAME`` or ``NAME_state``) and such an entry; if it is another name of a
function that is characterized; or if another macro that is characterized hands the same function
the same constants. One that comes to no function is, if its service's entry is a function of the
application that holds it alone (``application_NAME``). All others stand in
not-characterized.yaml or stands-for.yaml, each with a reason.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

SUITE = Path(__file__).resolve().parent
ROOT = SUITE.parents[1]
KERNEL = Path(
    os.environ.get("FREERTOS_KERNEL")
    or ROOT / "build" / "firmware" / "freertos" / "FreeRTOS-Kernel"
)
LISTS = SUITE / "not-characterized.yaml", SUITE / "stands-for.yaml"
HEADERS = (
    *("task.h", "queue.h", "semphr.h", "event_groups.h", "stream_buffer.h", "message_buffer.h"),
    *("timers.h", "portable.h", "croutine.h"),
)
INLINE = "atomic.h"
"""Its functions are defined in it, to be compiled into their callers."""
HEAP = re.compile(r"Malloc|Calloc|Free|Heap|InitialiseBlocks")
"""Of portable.h: what is called by an application. The rest is what kernel and ports say to each
other."""
PORT = "portable/GCC/ARM_CM3/portmacro.h"
"""Where the port's macros are, which a few of the kernel's come to, and the one function of a port
that applications call."""
OF_PORT = "xPortIsInsideInterrupt"


@dataclass
class Calls:
    """Public functions, and macros with the functions that they come to. ``constants``: the words
    in the body of a macro but its parameters and types."""

    functions: set[str] = field(default_factory=set)
    macros: dict[str, set[str]] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        return self.functions | self.macros.keys()


def lines_of(path: Path) -> str:
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return text.replace("\\\n", " ")


def functions_in(text: str) -> Iterator[str]:
    """Names of declared functions: a name, its parameters, and the end of the statement."""
    code = re.sub(r"^[ \t]*#.*$", "", text, flags=re.MULTILINE)
    for found in re.finditer(r"\b([a-z]\w+)\s*\(", code):
        depth = end = 0
        for end in range(found.end() - 1, len(code)):
            depth += (code[end] == "(") - (code[end] == ")")
            if depth == 0:
                break
        tail = re.match(r"[\sA-Z_a-z0-9]*;", code[end + 1 :])
        before = code[: found.start()].rstrip()
        if tail and before and (before[-1] == "*" or re.search(r"\w$", before)):
            yield found[1]


def macros_in(text: str) -> Iterator[tuple[str, str, str]]:
    """(name, parameters, body); an empty string for the parameters of one that has none."""
    pattern = r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)]*\))?[ \t]*(.*)$"
    for name, parameters, body in re.findall(pattern, text, flags=re.MULTILINE):
        yield name, parameters.strip("()"), body


@cache
def calls() -> Calls:
    """Of the headers of ``KERNEL``."""
    found = Calls()
    texts = {name: lines_of(KERNEL / "include" / name) for name in HEADERS}
    bodies: dict[str, str] = {}
    public = set()
    for name, text in texts.items():
        declared = set(functions_in(text))
        if name == "portable.h":
            declared = {function for function in declared if HEAP.search(function)}
        found.functions |= declared
        for macro, parameters, body in macros_in(text):
            bodies[macro] = bodies.get(macro, "") + " " + body
            public.add(macro)
            own = [word for word in re.split(r"[\s,]+", parameters) if word]
            rest = [w for w in re.findall(r"\w+", body) if w not in own and not w.endswith("_t")]
            found.constants[macro] = " ".join(rest)
    inline = lines_of(KERNEL / "include" / INLINE)
    found.functions |= set(re.findall(r"\bportFORCE_INLINE\b[\w\s*]*?(\w+)\s*\(", inline))
    of_port = lines_of(KERNEL / PORT)
    found.functions |= {OF_PORT} & set(re.findall(r"\w+", of_port))
    for macro, _, body in macros_in(of_port):
        bodies.setdefault(macro, body)
    port = {"vPortEnterCritical", "vPortExitCritical", "ulPortRaiseBASEPRI", "vPortRaiseBASEPRI"}

    def reached(macro: str, seen: frozenset[str]) -> set[str]:
        functions = set()
        for word in re.findall(r"\w+", bodies[macro]):
            if word in bodies and word not in seen:
                functions |= reached(word, seen | {word})
            elif word in found.functions or word in port:
                functions.add(word)
        return functions

    for macro in public:
        prefix = re.match(r"[a-z]+(Task|Queue|Semaphore|Event|Stream|Message|Timer|Port)", macro)
        lower = macro.startswith("task") and not macro.startswith("taskSCHEDULER")
        if (prefix or lower) and reached(macro, frozenset({macro})):
            found.macros[macro] = reached(macro, frozenset({macro}))
        elif re.match(r"task(YIELD|ENTER|EXIT|DISABLE|ENABLE)", macro):
            found.macros[macro] = set()
    found.functions -= found.macros.keys()
    return found


@cache
def services() -> dict[str, set[str]]:
    """Entries of every service of the suite, by its name."""
    found: dict[str, set[str]] = {}
    for path in sorted(SUITE.rglob("*.yaml")):
        described = YAML(typ="safe", pure=True).load(path).get("services")
        for name, service in (described if isinstance(described, dict) else {}).items():
            found.setdefault(name, set()).update(service["entries"])
    return found


@cache
def listed() -> dict[str, Any]:
    return {
        key: value
        for path in LISTS
        for key, value in YAML(typ="safe", pure=True).load(path).items()
    }


def stands_for() -> dict[str, str]:
    return {
        call: service
        for group in listed()["stands for"]
        for call, service in group["calls"].items()
    }


def left_out() -> list[str]:
    return [call for group in listed()["left out"] for call in group["calls"]]


def characterized(known: Calls, entries: Mapping[str, set[str]]) -> set[str]:
    functions = {name for name in known.functions if any(name in e for e in entries.values())}

    def own(macro: str) -> bool:
        return any(
            (service == macro or service.startswith(macro + "_"))
            and used & (known.macros[macro] or {f"application_{macro}"})
            for service, used in entries.items()
        )

    macros = {macro for macro in known.macros if own(macro)}
    same = {known.constants[macro] for macro in macros} | functions
    return functions | macros | {m for m in known.macros if known.constants[m] in same}
