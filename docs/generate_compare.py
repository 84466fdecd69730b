"""Writes docs/reference/freertos-compare.md: compares cells of the FreeRTOS campaign.

python docs/generate_compare.py [--jobs N]

The cells go to build/campaign, as of `make campaign`; what is there is not made again. Everything
on the page is printed by `wcetchar compare`, as Markdown or as JSON; each table stands under the
command.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "freertos-compare.md"
CAMPAIGN = "rtos_tests/freertos/campaign.yaml"
CELLS = "build/campaign"
AT_ONE_GHZ = "build/compare"

M3, RV32 = "mps2-an385", "virt"
HEAPS = ("heap_1", "heap_4", "heap_2", "heap_5")
OPTIONS = ("size", "stack-check", "generic-selection", "no-slicing", "whole-list-ends")
BOARDS = (M3, "mps2-an386", RV32, "versatilepb", "versatilepb-thumb")
PROFILES = {
    M3: ("cortex-m3/zero-wait-sram", "cortex-m3/flash-3ws", "cortex-m3/external-16bit"),
    RV32: ("rv32/two-stage", "vexriscv/imc-zero-wait"),
}
SHOWN = {M3: "cortex-m3/flash-3ws", RV32: "rv32/two-stage"}
"""On which profile the services are listed; the sums are of all."""
ZERO_WAIT = ("cortex-m3/zero-wait-sram", "cortex-m4/zero-wait-sram", "rv32/two-stage") + (
    ("arm7tdmi/zero-wait-sram",) * 2
)
OF_THE_HEAP = ("pvPortMalloc", "vPortFree", "xTaskCreate", "xQueueCreate", "vTaskDelete")
BLOCKS = (1, 2, 4, 8, 16)
KINDS = {"total": "Total", "interrupts": "Interrupts masked", "preemption": "Preemption held off"}

INTRODUCTION = """\
# FreeRTOS: which configuration is better for which service, on which hardware

<!-- Written by docs/generate_compare.py; do not edit. -->

What `wcetchar compare` prints ([comparison](comparison.md)) about cells of the [FreeRTOS
matrix](freertos-matrix.md): the kernel's heaps, settings that an integrator decides, and
instruction sets. Times are safe ends in ns, of the whole service, with interrupts masked, and with
preemption held off. They hold for FreeRTOS V11.2.0 as the suite builds it
([README](../../rtos_tests/freertos/README.md)). Versions of the kernel are not compared here, for
no other one is to be had as a package: of `freertos-next` the versions up to 0.6.1 carry no kernel
and those since (0.7.0, 0.7.6, 0.11.0 and 0.12.0 were looked at) this one alone, `freertos-sys` is
withdrawn by its author, and among npm's, PyPI's and Debian's packages a search found none. In
tables of services, `at` is where the other exceeds the base most, and `change` is there; what was
found over the whole range of the parameters stands behind it. The cells are made by

```sh
{campaign}
```

"""

HEAP_TEXT = """\
## Heaps

All in the configuration `full`. Those that give memory back, over the whole range of N, the blocks
in the free list; what N counts differs a little from heap to heap, see the notes:

"""

CROSSING_TEXT = """\
Where they cross: {kind} in ns, over N. `heap_1` gives nothing back, so it has no `vPortFree` and no
`vTaskDelete`, and keeps no list; of the others the least is bold. One command for each N:

"""

HEAP_3_TEXT = """\
### heap_3

What is published of `heap_3` is the kernel's part: `malloc` and `free` of the C library are left
out ([README](../../rtos_tests/freertos/README.md)). So `other` is no time of the whole call: what
it lies below `base` is what the C library may take in all, with the scheduler locked, before
`heap_3` is the slower one there.

"""

OPTION_TEXT = """\
## Settings of the kernel and the compiler

The configuration `basic` with one thing decided otherwise
([`options/`](../../rtos_tests/freertos/README.md)):

| option | what | why one would |
|---|---|---|
| `size` | `-Os` in the place of `-O2` | less code |
| `stack-check` | `configCHECK_FOR_STACK_OVERFLOW` 1 | a stack that is too small is noticed |
| `generic-selection` | `configUSE_PORT_OPTIMISED_TASK_SELECTION` 0 | more than 32 priorities |
| `no-slicing` | `configUSE_TIME_SLICING` 0 | tasks of one priority run until they wait |
| `whole-list-ends` | `configUSE_MINI_LIST_ITEM` 0 | safe with strict aliasing |

With `generic-selection`, `context_switch` has a parameter that it does not have otherwise: E,
priorities without a ready task that are passed over.

"""

SET_TEXT = """\
## Instruction sets

The configuration `basic` on each board, with memory that needs no wait states, in core cycles: the
profiles are the shipped ones with their clock at 1 GHz, so that a nanosecond is a cycle.

```sh
mkdir -p {folder}
for p in {profiles}; do
    sed 's/^  clock: .*/  clock: 1000 MHz/' hwprofiles/$p.yaml > {folder}/$(dirname $p).yaml
done
{command}
```

A port differs in more than its instructions: on RISC-V and Armv4T the tick interrupt holds the
switch (`tick_interrupt`), and on Armv4T a task is found priority by priority (E of
`context_switch`, which only these have). `versatilepb` runs the kernel in Arm state,
`versatilepb-thumb` in Thumb state. What is held off goes on with what follows the service's own
stretch ([chains](../explanation/model.md#chains)), and so can be longer than the service. Services
that all five have, each at the largest values of its parameters; the least is bold.

"""


def wcetchar(*arguments: str) -> str:
    command = [sys.executable, "-m", "wcetchar", *arguments]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def cell(name: str) -> str:
    return f"{CELLS}/{name}/characterization.json"


def hardware(profiles: Iterable[str]) -> list[str]:
    return [word for p in profiles for word in ("--profile", p, "--map", map_of(p))]


def map_of(profile: str) -> str:
    folder, _, name = profile.partition("/")
    return f"{folder}/map-{name}"


def listed(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def shown(arguments: Sequence[str]) -> str:
    """A command of wcetchar as a shell reads it, with lines of some 100 characters."""
    words = [shlex.quote(word) for word in ("wcetchar", *arguments)]
    lines, line = [], words[0]
    for word in words[1:]:
        # A value stays on the line of its option.
        if len(line) + len(word) > 96 and not line.split()[-1].startswith("--"):
            lines.append(line)
            line = "   "
        line += f" {word}"
    return " \\\n".join([*lines, line])


def fenced(*arguments: str) -> str:
    return f"```sh\n{shown(arguments)}\n```\n\n"


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Title and text of each part of a comparison as Markdown."""
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        yield title, body.strip("\n")


def compared(arguments: Sequence[str], *wanted: str) -> str:
    """The command and, of what it prints, the parts whose titles begin so, in its order."""
    found = [
        f"**{title}**\n\n{body}\n\n"
        for title, body in blocks(wcetchar(*arguments))
        if title.startswith(wanted)
    ]
    return fenced(*arguments) + "".join(found)


def row(cells: Iterable[object]) -> str:
    return "| " + " | ".join(str(text) for text in cells) + " |\n"


def figures(times: Sequence[float | None]) -> list[str]:
    """Times with the least in bold; what has none is a dash."""
    known = [time for time in times if time is not None]
    return [
        "–" if t is None else f"**{t:,}**" if t == min(known) and max(known) > t else f"{t:,}"
        for t in times
    ]


def metric_of(service: dict[str, Any], kind: str, number: int) -> dict[str, Any] | None:
    for metric in service["metrics"]:
        if (metric["metric"], metric["hardware"]) == (kind, number):
            found: dict[str, Any] = metric
            return found
    return None


def heaps() -> str:
    files = [cell(f"{M3}+{heap}") for heap in HEAPS]
    options = [*listed("--service", OF_THE_HEAP), *hardware(PROFILES[M3])]
    common = ["compare", *files, *options]
    giving = [file for file in files if "heap_1" not in file]
    text = HEAP_TEXT + compared(
        ["compare", *giving, *options, "--format", "markdown"], "Best, ", "To be kept in mind"
    )
    at_n = {
        n: json.loads(wcetchar(*common, "--set", f"N={n}", "--json"))["services"] for n in BLOCKS
    }
    for kind in ("total", "preemption"):
        text += CROSSING_TEXT.format(kind=KINDS[kind].lower())
        text += fenced(*common, "--set", f"N={BLOCKS[0]}", "--json")
        for number, profile in enumerate(PROFILES[M3]):
            text += f"**{KINDS[kind]}, ns on {profile}**\n\n"
            text += row(("service", "N", *HEAPS)) + "| --- |" + " ---: |" * (1 + len(HEAPS)) + "\n"
            for name in OF_THE_HEAP:
                for n, services in at_n.items():
                    text += crossing_row(services, name, n, kind, number)
            text += "\n"
    three = ["compare", cell(f"{M3}+heap_4"), cell(f"{M3}+heap_3"), *options]
    return text + HEAP_3_TEXT + compared([*three, "--format", "markdown"], "total ns on")


def crossing_row(
    services: Sequence[dict[str, Any]], name: str, n: int, kind: str, number: int
) -> str:
    (service,) = (s for s in services if s["service"] == name)
    metric = metric_of(service, kind, number)
    if metric is None:
        raise SystemExit(f"{name} at N={n}: {service['problem']}")
    (corner,) = metric["corners"]
    times = {label.rpartition("+")[2]: ns for label, ns in corner["ns"].items()}
    others = figures([times.get(heap) for heap in HEAPS if heap != "heap_1"])
    return row((f"`{name}`", n, *figures([times.get("heap_1")]), *others))


def options() -> str:
    text = OPTION_TEXT
    for board, profiles in PROFILES.items():
        text += f"### On {board}\n\nAll together, as sums over all services:\n\n"
        files = [cell(f"{board}+basic"), *(cell(f"{board}+basic-{name}") for name in OPTIONS)]
        every = ["compare", *files, *hardware(profiles), "--format", "markdown"]
        text += compared(every, "Settings that differ", "Services by verdict", "Services for which")
        for name in OPTIONS:
            text += f"#### {name} on {board}\n\n"
            files = [cell(f"{board}+basic"), cell(f"{board}+basic-{name}")]
            one = ["compare", *files, *hardware([SHOWN[board]]), "--changed"]
            text += compared(
                [*one, "--format", "markdown"], "total ns on", "blocks", "Where something blocks"
            )
    return text


def sets() -> str:
    (ROOT / AT_ONE_GHZ).mkdir(parents=True, exist_ok=True)
    arguments = ["compare", *(cell(f"{board}+basic") for board in BOARDS), "--paired"]
    for profile in ZERO_WAIT:
        source = (ROOT / "hwprofiles" / f"{profile}.yaml").read_text(encoding="utf-8")
        changed = re.sub(r"^  clock: .*", "  clock: 1000 MHz", source, flags=re.MULTILINE)
        file = f"{AT_ONE_GHZ}/{profile.partition('/')[0]}.yaml"
        (ROOT / file).write_text(changed, encoding="utf-8")
        arguments += ["--profile", file, "--map", map_of(profile)]
    arguments.append("--json")
    text = SET_TEXT.format(
        folder=AT_ONE_GHZ, profiles=" ".join(dict.fromkeys(ZERO_WAIT)), command=shown(arguments)
    )
    services = json.loads(wcetchar(*arguments))["services"]
    for kind, title in KINDS.items():
        text += f"**{title}, core cycles**\n\n"
        text += row(("service", "at", *BOARDS)) + "| --- | --- |" + " ---: |" * len(BOARDS) + "\n"
        text += "".join(cycles_rows(services, kind)) + "\n"
    return text


def cycles_rows(services: Iterable[dict[str, Any]], kind: str) -> Iterator[str]:
    for service in services:
        metric = metric_of(service, kind, 0)
        if metric is None or len(service["in"]) < len(BOARDS):
            continue
        corner = metric["corners"][-1]
        times = {label.partition("+")[0]: ns for label, ns in corner["ns"].items()}
        if any(times.values()):
            at = ", ".join(f"{name}={value}" for name, value in corner["parameters"].items())
            yield row((f"`{service['service']}`", at, *figures([times[b] for b in BOARDS])))


def main(arguments: Sequence[str]) -> int:
    chosen = [f"{M3}+heap_*", *(f"{board}+basic*" for board in PROFILES)]
    chosen += [f"{board}+basic" for board in BOARDS if board not in PROFILES]
    command = ["campaign", CAMPAIGN, "-o", CELLS, *listed("--only", chosen)]
    (ROOT / "build").mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "wcetchar", *command, *arguments],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        return done.returncode
    text = INTRODUCTION.format(campaign=shown(command)) + heaps() + options() + sets()
    PAGE.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
