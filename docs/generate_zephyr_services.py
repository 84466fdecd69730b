"""Writes docs/reference/zephyr-services.md from the services files of rtos_tests/zephyr: what each
service is, in which state it is called and which parameters it has; and which calls another service
stands for, or none (stands-for.yaml, not-characterized.yaml). No workspace is needed.

python docs/generate_zephyr_services.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from generate_services import groups, other_calls, sentence

from wcetchar.model.service import Service, ServiceKind
from wcetchar.store import load_services

ROOT = Path(__file__).resolve().parents[1]
SUITE = ROOT / "rtos_tests" / "zephyr"
PAGE = ROOT / "docs" / "reference" / "zephyr-services.md"
SUITES = {
    "services.yaml": "",
    "sched-scalable.yaml": "With the scheduler *scalable*",
    "timeslicing.yaml": "With time slices",
    "tickless.yaml": "With the tickless kernel",
    "irq-offload.yaml": "With `irq_offload`",
}
"""Files that have services, and a heading for those of an option."""

INTRODUCTION = """\
# Zephyr: services and activities

<!-- Written by docs/generate_zephyr_services.py; do not edit. -->

{number} services of [the application](../../rtos_tests/zephyr/README.md): what each is, the
state in which it is called and which parameters its formula has. What they come to is in the
tables for [Cortex-M](zephyr.md) and [RISC-V](zephyr-riscv.md). Functions and macros of
`include/zephyr/kernel.h` that are none of these stand [behind
them](#calls-that-another-service-stands-for), `k_fifo_put` and its like, too.
`python docs/generate_zephyr_services.py` writes the page from the files of the application.

Worst states are reasoned from the kernel's source and checked by the driver before and after each
call; they are not proven, but for [the trees](zephyr.md#trees) of the scheduler *scalable*. A
service that stands for several (`_waiter`, `_switch`, `_poller`, ...) does so because the worst of
all is no formula of one set of parameters: to be safe in any state, take the largest.

A text that says what to *add* names what a call may do beside, which is not driven with it, and
the service that does the same. For all of them: where work polls an object and not a thread, add
what `k_poll_signal_raise_work` takes more than `k_poll_signal_raise_waiter`; in an interrupt
handler no call costs more than in a thread that does not switch, so that what has no `_isr` of its
own has there the figures of `_waiter` and `_poller`.
"""
KINDS = {
    ServiceKind.CALL: "",
    ServiceKind.BLOCKING_CALL: "until the switch, and from there on",
    ServiceKind.FINAL_CALL: "it does not return",
    ServiceKind.HANDLER: "a handler",
    ServiceKind.ACTIVATION: "a thread, until it waits again",
}


def entry(service: Service) -> Iterator[str]:
    kind = KINDS[service.kind]
    yield f"**`{service.name}`**: {sentence(service.description)}" + (f" ({kind})" if kind else "")
    yield ""
    for parameter in service.parameters:
        values = f"{parameter.minimum}..{parameter.maximum}"
        yield f"* {parameter.name} {values}: {parameter.meaning}"
    yield f"* worst state: {sentence(service.worst_state)}"
    yield ""


def page() -> str:
    lines: list[str] = []
    number = 0
    for file, option in SUITES.items():
        of_scheduler = file.startswith("sched")
        parts = ("services.yaml", file) if of_scheduler else (file, "sched-dumb.yaml")
        found = load_services(*(str(SUITE / name) for name in (*parts, "sections.yaml")))
        known = {service.name: service for service in found.services}
        for group, names in groups(SUITE, [file]).items():
            lines += [f"## {option or group.partition('. ')[0]}", ""]
            for name in names:
                lines += entry(known[name])
                number += 1
    text = INTRODUCTION.format(number=number) + "\n" + "\n".join(lines)
    return text + "\n" + other_calls(SUITE)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
