"""``wcetchar profile fit`` with caches and with what disturbs: what is refused, and where."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fit_machine import (
    MAP,
    STATES,
    Machine,
    Service,
    cycles,
    disturbed,
    profile_text,
    write_characterization,
    write_measured,
)

from wcetchar.cli import main
from wcetchar.model.service import Parameter, ParameterKind
from wcetchar.store import characterization_json, load_characterization

MACHINE = Machine()
SERVICES = {
    "plain": Service(10, 0, 3, 1, 0),
    "loads": Service(3, 5, 0, 1, 2),
    "long": Service(1, 1, 20, 4, 1),
    "mixed": Service(7, 2, 2, 3, 2),
}
MASTER = "{every: 30 cycles, takes: 0..20 cycles}"


class Files:
    """A characterization, what was measured, a profile to begin with, a map."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fitted = folder / "fitted.yaml"
        write_characterization(folder / "c.json", SERVICES)
        self.measured("cold", "warm", "off")
        self.profile(profile_text())
        (folder / "map.yaml").write_text(MAP)

    def measured(self, *labels: str) -> None:
        rows = [
            (s, label, cycles(MACHINE, SERVICES[s], label)) for s in SERVICES for label in labels
        ]
        write_measured(self.folder / "m.csv", rows)

    def profile(self, text: str) -> None:
        (self.folder / "p.yaml").write_text(text)

    def fit(self, *options: str) -> Result:
        command = [
            "profile",
            "fit",
            str(self.folder / "m.csv"),
            "-o",
            str(self.fitted),
            "--hold-out",
            "0",
        ]
        command += ["--characterization", str(self.folder / "c.json"), "--step", "1"]
        command += ["--profile", str(self.folder / "p.yaml")]
        command += ["--map", str(self.folder / "map.yaml"), *options]
        return CliRunner().invoke(main, command)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def _refused(files: Files, result: Result, *messages: str, code: int = 3) -> None:
    assert result.exit_code == code, result.output
    for message in messages:
        assert message in result.stderr
    assert not files.fitted.exists()


def test_the_profile_has_what_lines_take_and_all_else_as_it_was(files: Files) -> None:
    result = files.fit(*STATES)
    assert result.exit_code == 0, result.output
    text = files.fitted.read_text()
    assert "line refill: 22 cycles" in text
    assert "load miss penalty: 14 cycles" in text
    assert "instruction cache: {line: 32, size: 4 KiB, ways: 1}    # 4 KiB" in text
    assert "fitted: 0 of 12 rows unsafe; overestimation: least 0.0 %, median 0.0 %, most 0.0 %" in (
        result.stdout
    )
    assert "only sums" not in result.stdout


def test_a_line_that_is_told_in_a_sum_alone_is_refused(files: Files) -> None:
    """One service, cold: that it takes so long is said, and not what of it."""
    rows = [("plain", "cold", cycles(MACHINE, SERVICES["plain"], "cold"))]
    write_measured(files.folder / "m.csv", rows)
    result = files.fit("--instruction-cache", "cold=cold", "--data-cache", "cold=cold")
    _refused(
        files,
        result,
        "p.yaml:16:18: these measurements do not tell regions: flash: line refill from",
        "core: events: alu",
        "with caches both cold and warm",
    )


def test_sums_that_stay_together_are_named(files: Files) -> None:
    files.profile(profile_text().replace("load: 1 cycle", "load: 0..9 cycles"))
    result = files.fit(*STATES, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    (group,) = document["together"]
    assert {tuple(place) for place in group} == {
        ("core", "events", "load"),
        ("regions", "ram", "read"),
    }
    plain = files.fit(*STATES).stdout
    assert "only sums are told of core: events: load, regions: ram: read" in plain


@pytest.mark.parametrize(
    ("options", "message", "code"),
    [
        (("--instruction-cache", "old=cold"), "no measurement has the label 'old'", 3),
        (("--data-cache", "old=cold"), "one of cold, off, warm", 3),
        (("--undisturbed", "old"), "no measurement has the label 'old'", 3),
        (("--undisturbed", "cold"), "neither refresh nor arbitration", 3),
        (("--instruction-cache", "cold"), "is no label with a state", 2),
        (("--data-cache", "cold=hot"), "one of always miss, cold, warm", 2),
        (("--data-cache", "cold=cold", "--data-cache", "cold=warm"), "has two states", 2),
    ],
)
def test_what_is_no_situation_is_refused(
    files: Files, options: tuple[str, ...], message: str, code: int
) -> None:
    _refused(files, files.fit(*options), message, code=code)


def test_all_labels_that_are_wrong_are_named_at_once(files: Files) -> None:
    result = files.fit("--instruction-cache", "a=cold", "--data-cache", "b=cold")
    _refused(files, result, "the label 'a'", "the label 'b'")


def test_without_the_geometry_a_state_says_nothing(files: Files) -> None:
    files.profile(profile_text(caches=False))
    result = files.fit("--instruction-cache", "cold=cold", "--data-cache", "cold=cold")
    _refused(
        files, result, "has no instruction cache", "has no data cache", "line: 32, size: 4 KiB"
    )
    files.profile(profile_text().replace("  instruction cache:", "  # instruction cache:"))
    _refused(files, files.fit(*STATES), "the core has no instruction cache")


def test_states_that_are_not_said_are_asked_for(files: Files) -> None:
    """Each line would count as loaded, and seem to take less than it does; and where that is known,
    so would all else."""
    result = files.fit("--instruction-cache", "cold=cold", "--instruction-cache", "warm=warm")
    _refused(
        files,
        result,
        "--instruction-cache: times are to be found",
        "calls labelled off began",
        "--data-cache: times are to be found",
        "calls labelled cold, warm, off began",
    )
    known = profile_text().replace("refill: 0..200", "refill: 22").replace("ty: 0..200", "ty: 14")
    files.profile(known)
    _refused(
        files, files.fit(), "--instruction-cache: times", "calls labelled cold, warm, off began"
    )
    text = (files.folder / "m.csv").read_text().replace("cold", "")
    (files.folder / "m.csv").write_text(text)
    files.profile(profile_text())
    result = files.fit(*STATES[:-4], "--data-cache", "warm=warm", "--data-cache", "off=always miss")
    _refused(files, result, "no measurement has the label 'cold'")
    states = [word.replace("cold=cold", "=cold") for word in STATES]
    assert files.fit(*states).exit_code == 0


def test_data_that_may_lie_in_other_lines_are_not_told(files: Files) -> None:
    (files.folder / "map.yaml").write_text(MAP.replace("[data alignment]", "[]"))
    states = [word.replace("warm=warm", "warm=cold") for word in STATES]
    _refused(files, files.fit(*states), "data may lie in lines otherwise")


def test_code_that_lies_in_other_lines_is_not_told(files: Files) -> None:
    """Half a line further on, and without its place where none is needed to price it."""
    (files.folder / "map.yaml").write_text(MAP.replace(".text: 4096", ".text: 4112"))
    _refused(files, files.fit(*STATES), "it is not said that .text lies in the same lines")
    (files.folder / "map.yaml").write_text(MAP.replace(".text: 4096, ", ""))
    states = [
        word.replace("=cold", "=always miss").replace("=warm", "=always miss") for word in STATES
    ]
    _refused(files, files.fit(*states), "it is not said that .text lies in the same lines")


def test_addresses_that_a_state_needs_are_asked_for(files: Files) -> None:
    (files.folder / "map.yaml").write_text(MAP.replace("addresses:", "# addresses:"))
    result = files.fit(*STATES)
    _refused(files, result, "where .text begins is not said", "map.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("service,label,cycles\nplain,cold,-3\n", "m.csv:2:12"),
        ("service,label,X,cycles\nplain,cold,1,3\n", "has a parameter X"),
        ("service,label,cycles\nplane,cold,3\n", "did you mean `plain`?"),
    ],
)
def test_measurements_that_cannot_be_meant(files: Files, text: str, message: str) -> None:
    (files.folder / "m.csv").write_text(text)
    _refused(files, files.fit(), message)


def test_ranges_of_lines_that_allow_too_little(files: Files) -> None:
    files.profile(profile_text(MACHINE).replace("line refill: 22", "line refill: 0..2"))
    _refused(files, files.fit(*STATES), "long (cold): measured", code=4)


class Disturbed(Files):
    """Measured undisturbed, and with another master."""

    def __init__(self, folder: Path, master: str = MASTER, successions: bool = True) -> None:
        super().__init__(folder)
        machine = Machine(takes=4, every=30)
        write_characterization(folder / "c.json", SERVICES, successions=successions)
        rows = []
        for name, service in SERVICES.items():
            quiet = cycles(machine, service, "warm")
            rows += [(name, "quiet", quiet), (name, "busy", disturbed(machine, quiet))]
        write_measured(folder / "m.csv", rows)
        self.profile(profile_text(caches=False, master=master))


def test_what_the_other_master_takes_is_found(tmp_path: Path) -> None:
    files = Disturbed(tmp_path)
    result = files.fit("--undisturbed", "quiet")
    assert result.exit_code == 0, result.output
    assert "arbitration: {every: 30 cycles, takes: 4 cycles}" in files.fitted.read_text()


def test_what_undisturbed_rows_say_of_accesses_stays(tmp_path: Path) -> None:
    """The other master hit calls with loads alone. A dearer read would be less in total, and would
    say of a memory that is slow by itself that nobody else slows it down."""
    files = Disturbed(tmp_path)
    rows = []
    for name, service in SERVICES.items():
        quiet = cycles(Machine(), service, "warm")
        rows += [(name, "quiet", quiet), (name, "busy", quiet + 2 * service.load)]
    write_measured(files.folder / "m.csv", rows)
    result = files.fit("--undisturbed", "quiet")
    assert result.exit_code == 0, result.output
    text = files.fitted.read_text()
    assert "read: 2 cycles" in text
    assert "takes: 10 cycles" in text


def test_without_undisturbed_rows_it_is_not(tmp_path: Path) -> None:
    """It would be hidden in what accesses take."""
    files = Disturbed(tmp_path)
    place = "p.yaml:18:44: regions: ram: arbitration: takes is to be found"
    _refused(files, files.fit(), place, "no row was measured without it")
    files.profile(profile_text(caches=False, master=MASTER.replace("0..20 cycles", "4 cycles")))
    place = "p.yaml:7:10: core: events: alu is to be found"
    _refused(
        files,
        files.fit(),
        place,
        "regions: ram: read",
        "measured without refresh and other masters",
    )
    result = files.fit("--undisturbed", "quiet")
    assert result.exit_code == 0, result.output
    assert "read: 2 cycles" in files.fitted.read_text()


@pytest.mark.parametrize("master", [MASTER, "{every: 30 cycles, takes: 4 cycles}"])
def test_what_only_disturbed_rows_pay_is_refused(tmp_path: Path, master: str) -> None:
    """What the other master may take, and did not, would be taken off it."""
    files = Disturbed(tmp_path, master)
    rows = [("plain", "quiet", cycles(Machine(), SERVICES["plain"], "warm"))]
    rows += [(name, "busy", cycles(Machine(), SERVICES[name], "warm")) for name in SERVICES]
    write_measured(files.folder / "m.csv", rows)
    result = files.fit("--undisturbed", "quiet")
    _refused(files, result, "regions: ram: read", "no row that pays it was measured without")


def test_too_few_rows_are_refused(files: Files) -> None:
    files.profile(profile_text(caches=False))
    write_measured(files.folder / "m.csv", [("long", "warm", 100), ("loads", "warm", 100)])
    _refused(files, files.fit(), "m.csv: 2 rows do not tell 3 times from one another")


def test_a_fit_without_a_check_is_asked_for(files: Files) -> None:
    """The last option of two that are the same is taken."""
    files.profile(profile_text(caches=False))
    rows = [(name, "warm", cycles(MACHINE, SERVICES[name], "warm")) for name in SERVICES]
    write_measured(files.folder / "m.csv", rows)
    result = files.fit("--hold-out", "2")
    _refused(files, result, "m.csv: no service has 2 rows", "--hold-out 0 goes without a check")
    assert files.fit().exit_code == 0
    assert "nothing checks these times" in files.fit().stdout


def test_a_slip_in_the_unit_is_found(files: Files) -> None:
    """Cycles of 10 ns as if they were ns: a tenth of what all takes at the least."""
    files.profile(profile_text(caches=False).replace("0..60", "1..60"))
    rows = [(name, "warm", cycles(MACHINE, SERVICES[name], "warm")) for name in SERVICES]
    write_measured(files.folder / "m.csv", rows)
    assert files.fit().exit_code == 0
    files.fitted.unlink()
    table = files.folder / "m.csv"
    table.write_text(table.read_text().replace("cycles", "ns"))
    _refused(files, files.fit(), "m.csv:1: no measurement holds any time up", "is the unit")


def test_without_a_period_each_access_waits(tmp_path: Path) -> None:
    files = Disturbed(tmp_path, "{takes: 0..20 cycles}", successions=False)
    machine = Machine()
    rows = []
    for name, service in SERVICES.items():
        quiet = cycles(machine, service, "warm")
        rows += [(name, "quiet", quiet), (name, "busy", quiet + 3 * service.load)]
    write_measured(files.folder / "m.csv", rows)
    result = files.fit("--undisturbed", "quiet")
    assert result.exit_code == 0, result.output
    assert "arbitration: {takes: 3 cycles}" in files.fitted.read_text()


def test_a_period_needs_successions_and_has_to_be_exact(tmp_path: Path) -> None:
    files = Disturbed(tmp_path, successions=False)
    _refused(files, files.fit("--undisturbed", "quiet"), "--successions")
    files = Disturbed(tmp_path, "{every: 30..40 cycles, takes: 0..20 cycles}")
    _refused(files, files.fit("--undisturbed", "quiet"), "every is a range")


def test_validate_takes_the_same_situations(files: Files) -> None:
    files.profile(profile_text(MACHINE))
    command = ["validate", str(files.folder / "c.json"), "--profile", str(files.folder / "p.yaml")]
    command += ["--map", str(files.folder / "map.yaml")]
    command += ["--measured", str(files.folder / "m.csv"), "--json"]
    result = CliRunner().invoke(main, [*command, *STATES])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["overestimation_percent"]["maximum"] == 0
    always = json.loads(CliRunner().invoke(main, command).stdout)
    assert always["overestimation_percent"]["maximum"] > 10
    paths = CliRunner().invoke(main, [*command, *STATES, "--over-all-paths"])
    assert paths.exit_code == 2
    assert "those of one situation" in paths.stderr


def test_values_at_which_lines_were_not_observed_are_not_told(files: Files) -> None:
    """At three the lines of all other values would count."""
    path = files.folder / "c.json"
    known = load_characterization(str(path))
    parameter = Parameter("N", ParameterKind.STATE, 1, 3, "n")
    service = known.services[0]
    assert service.lines is not None
    assert service.data is not None
    points = ((1,), (2,))
    lines = replace(
        service.lines,
        footprints=tuple(replace(one, points=points) for one in service.lines.footprints),
    )
    data = tuple(replace(one, points=points) for one in service.data)
    service = replace(service, parameters=(parameter,), lines=lines, data=data)
    path.write_text(characterization_json(replace(known, services=(service, *known.services[1:]))))
    text = (files.folder / "m.csv").read_text()
    heading, *rows = text.splitlines()

    def measured(value: int) -> None:
        of = [f"{row},{value if row.startswith(service.name) else ''}" for row in rows]
        (files.folder / "m.csv").write_text("\n".join([f"{heading},N", *of, ""]))

    measured(3)
    _refused(files, files.fit(*STATES), "m.csv:2: which lines 3 rows load was not observed")
    measured(2)
    assert files.fit(*STATES).exit_code == 0
