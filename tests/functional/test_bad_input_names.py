"""Names in files of strangers: nothing that a terminal would act on reaches it, and no name makes
a line of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from bad_input import (
    CHARACTERIZATION,
    INSIDE,
    MAP,
    PROFILE,
    SERVICES,
    SOURCE,
    files,
    linked,
    need,
    own_cache,
    process,
    refused,
    run,
    write,
)
from click.testing import Result

HOSTILE = "a\x1b[2J\x07<script>\n  next: rm\r\u202eb"
"""Clears the screen, rings, forges a line of a message, turns the direction of writing."""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_cache(monkeypatch)
    monkeypatch.chdir(tmp_path)


def harmless(result: Result) -> str:
    """Both streams hold printable lines only, none of them forged. Returns standard output."""
    for text in (result.stdout, result.stderr):
        for line in text.split("\n"):
            assert line.isprintable(), ascii(line)
            assert not line.startswith("  next: rm")
    return result.stdout


@pytest.fixture
def firmware() -> Path:
    """The tiny firmware with hostile names of symbols, of a section, and of a source file."""
    need("arm-none-eabi-objcopy")
    source = SOURCE.replace(" function service\n", ' .file 1 "x\\033[31m.c"\n function service\n')
    source = source.replace(INSIDE, " .loc 1 7\n" + INSIDE)
    subprocess.run(
        [
            *("arm-none-eabi-objcopy", linked(source, "-g"), "hostile.elf"),
            *("--redefine-sym", f"service={HOSTILE}"),
            *("--redefine-sym", f"drive=drive{HOSTILE}"),
            *("--rename-section", f".bss=.bss{HOSTILE}"),
        ],
        check=True,
    )
    names = subprocess.run(["arm-none-eabi-nm", "hostile.elf"], capture_output=True, check=True)
    assert b"\x1b[2J" in names.stdout
    result = run("capture", "hostile.elf", "--machine", "mps2-an385", "-o", "hostile.trace")
    assert result.exit_code == 0, result.stderr
    return Path("hostile.elf")


def quoted(name: str) -> str:
    """As YAML writes it, which is as JSON does."""
    return json.dumps(name)


def services(section: str = f".bss{HOSTILE}", name: str = "service") -> str:
    text = SERVICES.replace("entries: [service]", f"entries: [{quoted(HOSTILE)}]")
    text = text.replace("[.bss]", f"[{quoted(section)}]")
    return text.replace("  service:\n", f"  {quoted(name)}:\n")


def characterize(firmware: Path, text: str) -> Result:
    write("s.yaml", text)
    return run(
        *("characterize", firmware, "hostile.trace", "--services", "s.yaml", "-o", "out.json")
    )


def test_names_of_an_image(firmware: Path) -> None:
    good = characterize(firmware, services())
    assert good.exit_code == 0, good.stderr
    harmless(good)
    # A symbol that is not there: the message lists and proposes hostile names.
    wrong = services().replace(quoted(HOSTILE), quoted(HOSTILE + "x"))
    refused(characterize(firmware, wrong), 3, "\\x1b[2J", "did you mean")
    harmless(characterize(firmware, wrong))
    refused(characterize(firmware, services(section=".bsss")), 3, "one of .vectors", "\\x1b[2J")
    # Memory that belongs to no section: the message has function, section and source line.
    text = services().replace(
        f"linker sections: [{quoted('.bss' + HOSTILE)}]", "symbols: [stack_top]"
    )
    text = text.replace("symbols: [stack_top]", "symbols: [wcet_mark]")
    error = refused(characterize(firmware, text), 3, "belongs to no logical section")
    assert "\\x1b[2J" in error
    result = run(
        *("capture", firmware, "--machine", "mps2-an385", "-o", "x"),
        *("--exclude", HOSTILE + "x"),
    )
    refused(result, 3, "\\x1b[2J")


def test_names_of_a_services_file(firmware: Path) -> None:
    text = services(name=f"service {HOSTILE}").replace("name: tiny", f"name: {quoted(HOSTILE)}")
    result = characterize(firmware, text)
    assert result.exit_code == 0, result.stderr
    assert "\\x1b[2J" in harmless(result)
    document = run(
        *("characterize", firmware, "hostile.trace", "--services", "s.yaml", "-o", "out.json"),
        "--json",
    ).stdout
    assert document.isascii()
    assert "\x1b" not in document


@pytest.mark.parametrize("form", ["table", "csv", "markdown", "json"])
def test_names_in_an_estimate(form: str) -> None:
    name = quoted(HOSTILE)
    write(
        "k.json",
        CHARACTERIZATION.replace('"walk"', name)
        .replace('"data"', name)
        .replace('"tiny"', name)
        # the kind of a section is no name
        .replace(f'"kind": {name}', '"kind": "data"'),
    )
    write("p.yaml", PROFILE.replace("board", name).replace("sram:", f"{name}:"))
    write("m.yaml", MAP.replace("placed", name).replace("data: sram", f"{name}: {name}"))
    options = ("estimate", "k.json", "--profile", "p.yaml", "--map", "m.yaml", "--format", form)
    result = run(*options)
    assert result.exit_code == 0, result.stderr
    shown = harmless(result)
    assert "[2J" in shown.replace("\\[", "[")
    if form == "markdown":
        assert "<script>" not in shown.replace("\\<", "")
    # Errors about all of these names.
    write("m.yaml", MAP.replace("placed", name).replace("data: sram", f"{name}: x"))
    refused(run(*options), 3, "\\x1b[2J")
    write("m.yaml", MAP.replace("placed", name))
    refused(run(*options), 3, "\\x1b[2J")
    refused(run(*options, "--service", HOSTILE + "x"), 3, "\\x1b[2J")
    refused(run(*options, "--set", f"{HOSTILE}=3"), 3, "\\x1b[2J")


def test_names_of_files() -> None:
    name = HOSTILE.replace("/", "")
    write("k.json", CHARACTERIZATION)
    write("p.yaml", PROFILE)
    write(name, MAP.replace("N: 4", "N: 40"))
    result = run("estimate", "k.json", "--profile", "p.yaml", "--map", name)
    refused(result, 3, "\\x1b[2J", ":7:6: ")
    Path(name).unlink()
    write("out", "older")
    for arguments in (
        ("characterize", name, name, "--services", name, "-o", "out"),
        ("capture", name, "--machine", "mps2-an385", "-o", "out"),
        ("estimate", name, "--profile", name, "--map", name),
        ("estimate", "k.json", "--profile", "p.yaml", "--map", "p.yaml", "-o", f"no/{name}"),
    ):
        refused(run(*arguments), 3, "\\x1b[2J")
    assert Path("out").read_text() == "older"


def test_names_of_files_that_are_no_text() -> None:
    """Names are bytes; Python hands those that are not UTF-8 over as lone surrogates."""
    name = "caf\udce9.yaml"
    write("k.json", CHARACTERIZATION)
    write("p.yaml", PROFILE)
    write(name, MAP.replace("N: 4", "N: 40"))
    before = files(Path())
    options = ("estimate", "k.json", "--profile", "p.yaml", "--map", name)
    refused(process(*options), 3, "caf\\udce9.yaml:7:6: ")
    refused(process(*options, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}), 3, ":7:6: ")
    assert files(Path()) == before
