"""The Cortex-M4 with floating point: every window of the FreeRTOS firmware against the independent
count of chain_oracle, exception frames by the EXC_RETURN values of QEMU's log."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import chain_stream
import pytest
from chain_listing import listing_of
from chain_made import (
    ROOT,
    SERVICES,
    SUITE,
    WCETCHAR,
    Oracle,
    Shared,
    command,
    make_oracle,
    services_document,
)
from chain_published import by_key, counts_at
from needs import need

pytest_plugins = ("chain_fixtures",)
pytestmark = pytest.mark.firmware

BOARD = "mps2-an386"
FILES = tuple(name.replace("mps2-an385", BOARD) for name in SERVICES)
KERNEL = ROOT / "build" / "firmware" / "freertos" / "FreeRTOS-Kernel"


def kernel_source() -> Path:
    need("arm-none-eabi-gcc", "gcc-arm-none-eabi")
    need("qemu-system-arm", "qemu-system-arm")
    kernel = Path(os.environ.get("FREERTOS_KERNEL", KERNEL))
    if not kernel.exists():
        pytest.skip("the kernel's source is not there (make firmware)")
    return kernel


def make_firmware(
    source: Path, folder: Path, kernel: Path, *goals: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "-s", "-C", source, f"BOARD={BOARD}", f"BUILD={folder}", *goals],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "FREERTOS_KERNEL": str(kernel)},
    )


@pytest.fixture(scope="module")
def float_services() -> dict[str, Any]:
    return services_document(FILES)


@pytest.fixture(scope="module")
def float_run(shared: Shared, float_services: dict[str, Any]) -> tuple[Oracle, dict[str, Any]]:
    """Builds, runs, captures and characterizes: the independent count, and what is published."""
    kernel = kernel_source()

    def make() -> tuple[Oracle, dict[str, Any]]:
        folder = shared.folder / BOARD
        done = make_firmware(SUITE, folder, kernel)
        assert done.returncode == 0, done.stderr
        firmware, trace = folder / "freertos.elf", folder / "freertos.trace"
        command("capture", firmware, "--machine", BOARD, "-o", trace)
        files = [word for name in FILES for word in ("--services", name)]
        command("characterize", firmware, trace, *files, "-o", folder / "freertos.json")
        published: dict[str, Any] = json.loads((folder / "freertos.json").read_text())
        listing = listing_of(firmware)
        run = chain_stream.run_of(chain_stream.decode(trace))
        return make_oracle(firmware, folder, listing, run, float_services, BOARD), published

    return shared.made(BOARD, make)


def test_the_trace_is_qemus_own_log(float_run: tuple[Oracle, dict[str, Any]]) -> None:
    oracle, _ = float_run
    assert oracle.differences == []


def test_every_window_is_the_oracles(
    float_run: tuple[Oracle, dict[str, Any]], float_services: dict[str, Any]
) -> None:
    oracle, published = float_run
    services = {service["name"]: service for service in published["services"]}
    assert {window.service for window in oracle.windows} == set(float_services["services"])
    for window in oracle.windows:
        service = services[window.service]
        names = [parameter["name"] for parameter in service.get("parameters", [])]
        values = dict(zip(names, window.values, strict=True))
        stated = counts_at(service["counts"], values)
        differing = {
            key: (stated[key], window.counts[key])
            for key in stated.keys() | window.counts.keys()
            if stated[key] != window.counts[key]
        }
        assert differing == {}, f"{window.service} at {values}: (published, counted)"


def test_only_what_uses_floating_point_has_such_a_frame(
    float_run: tuple[Oracle, dict[str, Any]],
) -> None:
    """By hand: vstmdb and vldmia of sixteen registers, and the hardware's seventeen words."""
    _, published = float_run
    counts = {
        service["name"]: by_key(counts_at(service["counts"], {}))
        for service in published["services"]
        if not service.get("parameters")
    }
    plain, floating = counts["context_switch"], counts["context_switch_fp"]
    for operation in ("read", "write"):
        for pattern, more in (("first", 2), ("next", 15 + 16)):
            key = ("stack.task", operation, "32", pattern)
            assert floating[key] - plain[key] == more
    for name, found in counts.items():
        floats = {key[1] for key in found if len(key) == 2 and key[1].startswith("float")}
        assert bool(floats) == (name in ("context_switch_fp", "interrupt_fp"))
    # vadd and bx lr; eight words each way and seventeen more
    interrupt = counts["interrupt_fp"]
    assert interrupt["caller.text", "float"] == interrupt["caller.text", "return"] == 1
    for operation in ("read", "write"):
        assert interrupt["stack.task", operation, "32", "first"] == 2
        assert interrupt["stack.task", operation, "32", "next"] == 7 + 16


def estimate(folder: Path, name: str, core: str) -> subprocess.CompletedProcess[str]:
    file = folder / BOARD / "freertos.json"
    hardware = ("--profile", f"{core}/zero-wait-sram", "--map", f"{core}/map-zero-wait-sram")
    return subprocess.run(
        [*WCETCHAR, "estimate", file, *hardware, "--service", name, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_the_registers_cost(shared: Shared, float_run: tuple[Oracle, dict[str, Any]]) -> None:
    """By hand, in cycles of 40 ns: 66 words, two transfers of 1 to 2 cycles, two of
    0 to 3 by the core itself, and the two that are skipped without floating point."""
    low, high = (66 + 2 + 0 - 2) * 40, (66 + 4 + 6 - 2) * 40
    ranges = []
    for name in ("context_switch", "context_switch_fp"):
        (found,) = json.loads(estimate(shared.folder, name, "cortex-m4").stdout)["estimates"]
        ranges.append(found["range_ns"])
    assert ranges[1]["low"] - ranges[0]["low"] == low
    assert ranges[1]["high"] - ranges[0]["high"] == high


@pytest.mark.parametrize("name", ["zero-wait-sram", "flash-3ws"])
def test_the_shipped_profiles_price_every_service(
    shared: Shared, float_run: tuple[Oracle, dict[str, Any]], name: str
) -> None:
    file = shared.folder / BOARD / "freertos.json"
    hardware = ("--profile", f"cortex-m4/{name}", "--map", f"cortex-m4/map-{name}")
    command("estimate", file, *hardware, "--maximum", "--format", "summary")


def test_a_profile_without_floating_point_prices_only_what_has_none(
    shared: Shared, float_run: tuple[Oracle, dict[str, Any]]
) -> None:
    assert estimate(shared.folder, "context_switch", "cortex-m3").returncode == 0
    refused = estimate(shared.folder, "context_switch_fp", "cortex-m3")
    assert refused.returncode != 0
    assert "float" in refused.stderr


def test_the_kernels_own_assertions_hold(tmp_path: Path) -> None:
    done = make_firmware(SUITE, tmp_path, kernel_source(), "check-elf", "run-check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "invocations" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("    fill(2);\n", ""),  # the driver's own registers
        ("        CHECK(holds(1));\n", "        CHECK(holds(1)); fill(2);\n"),  # the partner's
    ],
)
def test_registers_that_a_switch_lost_would_fail_the_run(
    tmp_path: Path, right: str, wrong: str
) -> None:
    kernel = kernel_source()
    copy = shutil.copytree(SUITE, tmp_path / "rtos_tests" / "freertos")
    file = copy / "boards" / BOARD / "float.c"
    assert file.read_text().count(right) == 1
    file.write_text(file.read_text().replace(right, wrong))
    done = make_firmware(copy, tmp_path / "out", kernel, "all", "run")
    assert done.returncode != 0
    assert "does not hold: holds(" in done.stdout + done.stderr
