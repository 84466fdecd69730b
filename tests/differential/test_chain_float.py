"""The Cortex-M4 with floating point: every window of the FreeRTOS firmware against the independent
count of chain_oracle, exception frames by the EXC_RETURN values of QEMU's log."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import chain_compare
import pytest
from chain_made import ROOT, SUITE, WCETCHAR, Firmware, Made, Shared, command, make
from chain_published import by_key, counts_at
from needs import need

pytest_plugins = ("chain_fixtures",)
pytestmark = [pytest.mark.firmware, pytest.mark.xdist_group("float")]

BOARD = "mps2-an386"
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
def float_made(shared: Shared) -> Made:
    """Builds, runs, captures, characterizes and counts once more."""
    kernel = kernel_source()

    def build() -> Made:
        folder = shared.folder / BOARD
        done = make_firmware(SUITE, folder, kernel)
        assert done.returncode == 0, done.stderr
        return make(Firmware(BOARD), folder, folder / "freertos.elf")

    return shared.made(BOARD, build)


def test_every_window_is_the_oracles(float_made: Made) -> None:
    assert chain_compare.all_of(float_made) == []
    assert float_made.oracle.instructions > 1_000_000


def test_only_what_uses_floating_point_has_such_a_frame(float_made: Made) -> None:
    """By hand: vstmdb and vldmia of sixteen registers, and the hardware's seventeen words."""
    counts = {
        service["name"]: by_key(counts_at(service["counts"], {}))
        for service in float_made.published["services"]
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
    # bx lr; eight words each way, and nothing of the room that is left for the others
    lazy = counts["interrupt_minimal_fp"]
    assert lazy["caller.text", "return"] == 1
    for operation in ("read", "write"):
        assert lazy["stack.task", operation, "32", "first"] == 1
        assert lazy["stack.task", operation, "32", "next"] == 7


def estimate(file: Path, name: str, core: str) -> subprocess.CompletedProcess[str]:
    hardware = ("--profile", f"{core}/zero-wait-sram", "--map", f"{core}/map-zero-wait-sram")
    return subprocess.run(
        [*WCETCHAR, "estimate", file, *hardware, "--service", name, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_the_registers_cost(float_made: Made) -> None:
    """By hand, in cycles of 40 ns: 66 words, two transfers of a cycle, two of 0 to 3 by the core
    itself, and the two that are skipped without floating point. What waits for the address that a
    transfer leaves waits for it in both."""
    low, high = (66 + 2 + 0 - 2) * 40, (66 + 2 + 6 - 2) * 40
    ranges = []
    for name in ("context_switch", "context_switch_fp"):
        (found,) = json.loads(estimate(float_made.characterization, name, "cortex-m4").stdout)[
            "estimates"
        ]
        ranges.append(found["range_ns"])
    assert ranges[1]["low"] - ranges[0]["low"] == low
    assert ranges[1]["high"] - ranges[0]["high"] == high


@pytest.mark.parametrize("name", ["zero-wait-sram", "flash-3ws"])
def test_the_shipped_profiles_price_every_service(float_made: Made, name: str) -> None:
    file = float_made.characterization
    hardware = ("--profile", f"cortex-m4/{name}", "--map", f"cortex-m4/map-{name}")
    command("estimate", file, *hardware, "--maximum", "--format", "summary")


def test_a_profile_without_floating_point_prices_only_what_has_none(float_made: Made) -> None:
    file = float_made.characterization
    assert estimate(file, "context_switch", "cortex-m3").returncode == 0
    refused = estimate(file, "context_switch_fp", "cortex-m3")
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
