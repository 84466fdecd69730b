"""Services files that do not fit the firmware, and instructions that nobody knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bad_input import (
    INSIDE,
    OUTSIDE,
    SERVICES,
    SOURCE,
    captured,
    linked,
    own_cache,
    refused,
    run,
    write,
)
from click.testing import Result

# Instructions of Armv7E-M in an image that says it is Armv7-M; the emulator executes them.
SMLAD = " .inst.w 0xfb222202\n"
QADD = " .inst.w 0xfa82f282\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_cache(monkeypatch)
    monkeypatch.chdir(tmp_path)


def characterize(
    services: str, *options: str, firmware: Path | None = None, trace: Path | None = None
) -> Result:
    elf = firmware or linked()
    write("s.yaml", services)
    write("out.json", "older")
    result = run(
        *("characterize", elf, trace or captured(elf), "--services", "s.yaml"),
        *("-o", "out.json", *options),
    )
    if result.exit_code:
        assert Path("out.json").read_text() == "older"
    return result


def changed(*pairs: tuple[str, str]) -> str:
    text = SERVICES
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def at(services: str, text: str) -> str:
    """``s.yaml:LINE:COLUMN`` of the first place where ``text`` stands."""
    before = services[: services.index(text)]
    return f"s.yaml:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ("entries: [service]", "entries: [servcie]", "servcie", "there is no symbol 'servcie'"),
        ("symbol: wcet_mark", "symbol: wcet_mrak", "wcet_mrak", "there is no symbol 'wcet_mrak'"),
        ("[.bss]", "[.bsss]", ".bsss", "names linker section '.bsss'"),
        ("linker sections: [.bss]", "symbols: [cuonter]", "cuonter", "no symbol 'cuonter'"),
        ("linker sections: [.bss]", "symbols: [stack_top]", "stack_top", "has no size"),
        ("values: 256", "values: 300", "300", "the mark array wcet_mark has 1024 bytes"),
        ("entries: [service]", "entries: [counter]", "counter", "is no decodable instruction"),
    ],
)
def test_names_that_the_image_does_not_have(old: str, new: str, place: str, said: str) -> None:
    services = changed((old, new))
    refused(characterize(services), 3, f"{at(services, place)}: ", said)


def test_what_was_meant() -> None:
    services = changed(
        ("entries: [service]", "entries: [servcie]"),
        ("[.bss]", "[.bsss]"),
        ("wcet_mark", "wcet_mak"),
    )
    error = refused(characterize(services), 3)
    for meant in ("'service'", "'.bss'", "'wcet_mark'"):
        assert f"did you mean {meant}?" in error


def test_all_names_at_once_in_the_order_of_the_file() -> None:
    services = changed(
        ("entries: [service]", "entries: [servcie]"),
        ("[.bss]", "[.bsss, .bss2]"),
        ("wcet_mark", "wcet_mak"),
    )
    error = refused(characterize(services), 3)
    places = [line.split(": ")[0] for line in error.splitlines() if line.startswith("s.yaml")]
    assert places == [at(services, text) for text in ("wcet_mak", ".bsss", ".bss2", "servcie")]


def test_two_sections_that_claim_one_address() -> None:
    services = changed(
        (
            "    linker sections: [.bss]\n",
            "    address ranges:\n      - {base: 0x20000000, size: 64 B}\n",
        ),
        (
            "    linker sections: [.stack]\n",
            "    address ranges:\n      - {base: 0x20000020, size: 64 B}\n",
        ),
    )
    error = refused(characterize(services), 3, "both claim 0x20000020")
    assert error.startswith(f"{at(services, '{base: 0x20000020')}: ")
    assert at(services, "{base: 0x20000000") in error


def test_memory_that_no_logical_section_has() -> None:
    services = changed(("  data:\n    kind: data\n    linker sections: [.bss]\n", ""))
    refused(
        characterize(services),
        3,
        f"{at(services, 'sections:')}: ",
        "the access to 0x20000000 in linker section .bss at service",
        "belongs to no logical section",
    )


def test_a_service_that_no_trace_shows() -> None:
    services = SERVICES + "  other:\n    mark: 9\n    kind: call\n    entries: [drive]\n"
    refused(
        characterize(services), 3, f"{at(services, 'other:')}: no trace shows other", "--partial"
    )
    assert characterize(services, "--partial").exit_code == 0
    only = changed(("  service:\n    mark: 3", "  service:\n    mark: 4"))
    refused(characterize(only), 3, "service number 3, which no service has")


def test_a_parameter_out_of_its_declared_range() -> None:
    refused(characterize(changed(("1..6", "1..4"))), 3, "service begins with N = 5", "1..4")


TWO = """
static int __attribute__((noinline)) helper(int a) { return a * %d; }
int %s(int a) { return helper(a); }
"""


def test_an_ambiguous_symbol(tmp_path: Path) -> None:
    for name, factor in (("one", 3), ("two", 5)):
        write(f"{name}.c", TWO % (factor, name))
    files = [str(tmp_path / f"{name}.c") for name in ("one", "two")]
    elf = linked(SOURCE.replace("bl service", "bl one"), "-O1", *files)
    services = changed(("entries: [service]", "entries: [helper]"))
    error = refused(characterize(services, firmware=elf), 3, "symbol 'helper' is ambiguous")
    assert error.startswith(f"{at(services, 'helper')}: ")
    assert "rename one of the static functions" in error
    result = run("capture", elf, "--machine", "mps2-an385", "-o", "x", "--exclude", "helper")
    refused(result, 3, "--exclude: symbol 'helper' is ambiguous")
    assert not Path("x").exists()


def test_an_inlined_service() -> None:
    # The function is still there, for other callers; between the marks it was inlined.
    elf = linked(SOURCE.replace(" bl service\n", " nop\n"))
    refused(
        characterize(SERVICES, firmware=elf),
        3,
        f"{captured(elf)}: service was never entered between its marks",
        "inlined",
    )
    # And gone altogether.
    source = SOURCE.replace(" bl service\n", " nop\n").replace("function service", "function other")
    gone = linked(source.replace(".size service", ".size other").replace("-service", "-other"))
    refused(characterize(SERVICES, firmware=gone), 3, "there is no symbol 'service'", "inlined")


@pytest.mark.parametrize(("instruction", "what"), [(SMLAD, "smlad"), (QADD, "qadd")])
def test_an_unknown_instruction_inside_a_service(instruction: str, what: str) -> None:
    elf = linked(SOURCE.replace(INSIDE, instruction + INSIDE))
    refused(
        characterize(SERVICES, firmware=elf),
        3,
        f"{captured(elf)}: unknown instruction at service+4",
        what,
        "inside service",
    )


@pytest.mark.parametrize("instruction", [SMLAD, QADD])
def test_an_unknown_instruction_outside_is_counted(instruction: str) -> None:
    elf = linked(SOURCE.replace(OUTSIDE, instruction + OUTSIDE))
    result = characterize(SERVICES, firmware=elf)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-1].endswith(" 6")
    assert "not decodable" in result.stdout.splitlines()[-1]
    result = characterize(SERVICES, "--json", firmware=elf)
    document = json.loads(result.stdout)
    assert document["undecoded"] == 6  # drive runs six times
    assert document["conserved"] is True
    published = json.loads(Path("out.json").read_text())["conservation"]
    assert published["undecoded"] == 6
    # It changes nothing of the service's counts, but the word for them is the weakest one.
    (found,) = document["services"]
    (good,) = json.loads(characterize(SERVICES, "--json").stdout)["services"]
    assert found["sections"] == good["sections"]
    assert (good["word"], found["word"]) == ("high-water mark", "estimate")
    assert any("not decoded" in note for note in found["notes"])


def test_marks_of_a_filter() -> None:
    capture = ("capture", linked(), "--machine", "mps2-an385", "-o", "x", "--marked", "s.yaml")
    for old, new, place, said in (
        ("wcet_mark", "wcet_mak", "wcet_mak", "there is no symbol 'wcet_mak'"),
        ("values: 256", "values: 512", "512", "the mark array wcet_mark has 1024 bytes"),
    ):
        services = changed((old, new))
        write("s.yaml", services)
        refused(run(*capture), 3, f"{at(services, place)}: ", said)
    write("s.yaml", "schema: wcetchar/services/1\n")
    refused(run(*capture), 3, "s.yaml:1:1: the key `kernel` is missing")
    assert not Path("x").exists()


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("nothing", 3, "there is no symbol 'nothing'"),
        ("stack_top", 3, "the size of 'stack_top' is not stated"),
        ("0x10", 2, "no address range"),
        ("0x10-zz", 2, "no address range"),
        ("0x10-0x4", 2, "is empty"),
        ("0x10-0x100000000ff", 2, "not in 32 bits"),
        ("16-20", 3, "there is no symbol '16-20'"),
    ],
)
def test_what_cannot_be_excluded(text: str, code: int, said: str) -> None:
    result = run("capture", linked(), "--machine", "mps2-an385", "-o", "x", "--exclude", text)
    refused(result, code, said)
    assert not Path("x").exists()


def test_all_mistakes_of_a_services_file_in_its_order() -> None:
    services = changed(
        ("  name: tiny", "  nmae: tiny"),
        ("    linker sections: [.vectors]\n", ""),
        ("    linker sections: [.bss]\n", "    linker sections: [.text]\n"),
        ("main stack: stack", "main stack: stakc"),
        ("kind: call", "kind: cal"),
        ("range: 1..6", "range: 6..1"),
    )
    error = refused(
        characterize(services),
        3,
        "the key `name` is missing",
        "did you mean `name`?",
        "nothing belongs to the logical section `vectors`",
        "the linker section `.text` is listed twice",
        "did you mean `stack`?",
        "did you mean `call`?",
        "the lower end of `6..1` is above its upper end",
    )
    lines = [int(line.split(":")[1]) for line in error.splitlines() if line.startswith("s.yaml")]
    assert lines == sorted(lines)
    for text in ("nmae", ".text]\n  stack", "stakc", "cal\n", "6..1"):
        assert at(services, text) in error
