"""Whatever is wrong with a file, the message says what to do next.

Good files of every kind are damaged line by line: keys that are misspelt, values of another kind,
lines that are gone. What is still good after that is taken; everything else is refused, with a
place and a next step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from bad_input import CHARACTERIZATION, MAP, PROFILE, SERVICES, run, write
from click.testing import Result

from wcetchar import store
from wcetchar.errors import InputError, InputErrors, Location
from wcetchar.store import document
from wcetchar.store.names import PUBLISHED

ROOT = Path(__file__).parents[2]
MOST = 8
"""Lines of a file that are damaged, from its beginning to its end."""

SYSTEM = """\
schema: wcetchar/system/1
name: three tasks
kernel:
  characterization: renaux2010
  profile: renaux2010/platform1
  map: renaux2010/map1
  context switch: 1 us
  set: {N: 5}
tasks:
  fast: {priority: 3, period: 1 ms, wcet: 100 us}
  maker: {priority: 2, period: 5 ms, wcet: 1 ms, calls: [{service: CreateThread, times: 2}]}
"""
BUDGET = """\
schema: wcetchar/budget/1
profile: renaux2010/platform1
map: renaux2010/map1
budgets:
  - service: CreateThread
    total: 90 us
    set: {N: 5}
"""
SVD = """\
<device><name>soc</name><peripherals><peripheral>
<name>UART</name>
<baseAddress>0x40000000</baseAddress>
<addressBlock><offset>0x0</offset><size>0x400</size><usage>registers</usage></addressBlock>
</peripheral></peripherals></device>
"""
DEVICETREE = """\
/dts-v1/;
/ {
	#address-cells = <1>;
	#size-cells = <1>;
	cpus { cpu@0 { clock-frequency = <72000000>; }; };
	ram: memory@20000000 {
		device_type = "memory";
		reg = <0x20000000 0x8000>;
	};
};
"""
MEASURED = "service,N,ns\nwalk,1,100\nwalk,4,400\n"


def published(name: str) -> str:
    return (PUBLISHED / name).read_text()


def loaded(load: Callable[[str], object], file: str) -> InputError | None:
    """What no verb reads before it has an image, or none but the demo."""
    try:
        load(file)
    except InputError as error:
        return error
    return None


Read = Callable[[str], Result | InputError | None]
ON_BOARD = ("--profile", "p.yaml", "--map", "m.yaml")
KINDS: dict[str, tuple[str, Read]] = {
    "p.yaml": (PROFILE, lambda f: run("estimate", "k.json", *ON_BOARD)),
    "m.yaml": (MAP, lambda f: run("estimate", "k.json", *ON_BOARD)),
    "k.json": (CHARACTERIZATION, lambda f: run("estimate", "k.json", *ON_BOARD)),
    "services.yaml": (SERVICES, partial(loaded, store.load_services)),
    "system.yaml": (SYSTEM, lambda f: run("system", "check", f)),
    "budget.yaml": (BUDGET, lambda f: run("check", "renaux2010", "--budget", f)),
    "campaign.yaml": (
        (ROOT / "rtos_tests/freertos/campaign.yaml").read_text(),
        lambda f: run("campaign", f, "--dry-run"),
    ),
    "sets.yaml": (
        published("kaiser2008.working-sets.yaml"),
        lambda f: run("system", "loss", "--working-set", f"{f}:celeron-64k-dirty", "--at", "1ms"),
    ),
    "partitions.yaml": (
        published("kaiser2008.partitions.yaml"),
        lambda f: run("system", "slices", f),
    ),
    "device.yaml": (
        published("schoenberg-wide.shared-device.yaml"),
        lambda f: run("system", "device", f),
    ),
    "slowdowns.yaml": (
        published("schoenberg.slowdowns.yaml"),
        lambda f: run("system", "slowdown", "--measured", f),
    ),
    "plan.yaml": (published("muller-arm9.measure.yaml"), lambda f: run("measure", "expect", f)),
    "measured.yaml": (
        published("renaux2010.measured.yaml"),
        partial(loaded, store.load_measurements),
    ),
    "measured.csv": (
        MEASURED,
        lambda f: run("validate", "k.json", *ON_BOARD, "--measured", f),
    ),
    "board.dts": (DEVICETREE, lambda f: run("profile", "init", "board", "--devicetree", f)),
    "soc.svd": (SVD, lambda f: run("profile", "init", "soc", "--svd", f)),
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, (text, _) in KINDS.items():
        write(name, text)


def damaged(text: str) -> Iterator[str]:
    """The whole file, and some of its lines, spoilt in different ways."""
    yield ""
    yield "\0\0"
    yield "[1, 2]\n"
    yield "just text\n"
    yield text[: len(text) // 2]
    yield text.replace("/1\n", "/99\n", 1)
    yield f"{text}nonsense: 1\n"
    lines = text.splitlines(keepends=True)
    keyed = [n for n, line in enumerate(lines) if re.match(r"\s*(- )?[\w\".][^#{]*:\s", line)]
    for number in (keyed or list(range(len(lines))))[:: max(1, len(keyed or lines) // MOST)]:
        line = lines[number]
        key, colon, value = line.partition(":")
        for new in (f"{key.rstrip()}x{colon}{value}", f"{key}{colon} {{a: 1}}\n", ""):
            yield "".join([*lines[:number], new, *lines[number + 1 :]])


@pytest.mark.parametrize("kind", KINDS)
def test_every_refusal_says_what_to_do_next(kind: str) -> None:
    text, read = KINDS[kind]
    good = read(kind)
    refusals = 0
    assert good is None or (isinstance(good, Result) and good.exit_code in (0, 1)), good.output  # type: ignore[union-attr]
    for bad in damaged(text):
        write(kind, bad)
        result = read(kind)
        if result is None or (isinstance(result, Result) and result.exit_code in (0, 1)):
            continue
        refusals += 1
        said = result.stderr if isinstance(result, Result) else str(result)
        assert "Traceback" not in said
        last = said.rstrip().splitlines()[-1]
        assert last.startswith("  next: "), f"{bad}\n----\n{said}"
    assert refusals > 5


def test_a_file_that_is_not_there() -> None:
    for arguments in (
        ("estimate", "none.json", *ON_BOARD),
        ("capture", "none.elf", "--machine", "mps2-an385", "-o", "t"),
        ("campaign", "none.yaml"),
        ("system", "check", "none.yaml"),
        ("validate", "k.json", *ON_BOARD, "--measured", "none.csv"),
    ):
        assert "  next: " in run(*arguments).stderr, arguments


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("estimate", "k.json", *ON_BOARD, "--service", "wolk"), "walk"),
        (("estimate", "k.json", *ON_BOARD, "--set", "NN=1"), "N"),
        (("estimate", "renaux2011", *ON_BOARD), "renaux2010"),
        (("estimate", "k.json", "--profile", "renaux2010/platfrom1"), "renaux2010/platform1"),
        (("compare", "k.json", "k.json", *ON_BOARD, "--service", "wal"), "walk"),
        (("capture", "k.json", "--machine", "versatilpb", "-o", "t"), "versatilepb"),
        (("measure", "expect", "muller-arm"), "muller-arm9"),
        (("campaign", "campaign.yaml", "--dry-run", "--only", "bord=virt"), "board"),
        (("campaign", "campaign.yaml", "--dry-run", "--only", "board=virtt"), "virt"),
        (("doctor", "--for", "captur"), "capture"),
    ],
)
def test_did_you_mean(arguments: tuple[str, ...], meant: str) -> None:
    result = run(*arguments)
    assert result.exit_code in (2, 3)
    assert re.search(rf"(next: |\()did you mean [`']{meant}[`']\?", result.stderr), result.stderr


def test_a_region_and_a_key_that_are_nearly_right() -> None:
    write("m.yaml", MAP.replace("flash", "flahs"))
    assert "did you mean `flash`?" in run("estimate", "k.json", *ON_BOARD).stderr
    write("m.yaml", MAP.replace("parameters:", "parametres:"))
    assert "did you mean `parameters`?" in run("estimate", "k.json", *ON_BOARD).stderr


def test_advice_that_holds_for_several_mistakes_is_given_once() -> None:
    mistakes = [InputError(f"mistake {n}", where=Location("f", n)) for n in (1, 2, 3)]
    mistakes[1].hint = "its own"
    for mistake in mistakes:
        mistake.advice = "read the page"
    text = str(InputErrors(mistakes))
    assert text.count("next: read the page") == 1
    assert text.splitlines()[-1] == "  next: read the page"
    assert "  next: its own" in text


def test_pages_that_are_named_are_there() -> None:
    schemas = [value for name, value in vars(document).items() if name.isupper()]
    assert len(schemas) > 10
    for schema in schemas:
        (page,) = re.findall(r"docs/reference/[a-z-]+\.md", document.advice_on(schema))
        assert (ROOT / page).is_file()
