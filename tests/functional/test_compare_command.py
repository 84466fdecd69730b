"""``wcetchar compare`` on the published characterization and changed copies of it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bad_input import process, refused, run
from terminal import on_terminal

from wcetchar.pipeline.compare import labels_of
from wcetchar.store.names import (
    characterization_path,
    map_names,
    maps_of,
    profile_names,
)

HARDWARE = ("--profile", "renaux2010/platform1", "--map", "renaux2010/map1")
THREE = tuple(
    word
    for n in (1, 2, 3)
    for word in ("--profile", f"renaux2010/platform{n}", "--map", f"renaux2010/map{n}")
)
Copy = Callable[..., str]


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    """``copy(name, change)``: writes a changed copy of the published characterization."""

    def write(name: str, change: Callable[[Any], object] = lambda data: None) -> str:
        data = json.loads(Path(characterization_path("renaux2010")).read_text())
        change(data)
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(data))
        return str(path)

    return write


def rows_of_n(data: Any) -> list[Any]:
    found = data["services"][0]["counts"]["rows"]
    return [row for row in found if "N" in row["repetition"]]


def dearer_loop(data: Any) -> None:
    for row in rows_of_n(data):
        for count in row["counts"]:
            count["count"] += 1


def add_to_first_loop(data: Any) -> None:
    for count in rows_of_n(data)[0]["counts"]:
        count["count"] += 1


def narrow(data: Any) -> None:
    data["services"][0]["parameters"][0]["maximum"] = 100


def second_service(data: Any) -> None:
    data["services"].append({**data["services"][0], "name": "Other"})


def compared(*arguments: str) -> Any:
    result = run("compare", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def only(document: Any, metric: str = "total") -> Any:
    (service,) = document["services"]
    (found,) = [m for m in service["metrics"] if m["metric"] == metric]
    return found


def test_a_characterization_equals_itself(copy: Copy) -> None:
    document = compared("renaux2010", copy("same"), *THREE)
    assert (document["kind"], document["schema_version"]) == ("wcetchar comparison", 1)
    assert len(document["hardware"]) == 3
    (service,) = document["services"]
    assert service["ranges"] == {"N": [0, 65535]}
    assert len(service["metrics"]) == 9
    for metric in service["metrics"]:
        (against,) = metric["against"]
        assert (against["verdict"], against["basis"]) == (
            "equal",
            "the formulas, over the whole range",
        )
        assert against["worst"]["change_percent"] == 0


def test_times_are_those_of_an_estimate(copy: Copy) -> None:
    found = only(compared("renaux2010", copy("dear", dearer_loop), *HARDWARE, "--set", "N=13"))
    (against,) = found["against"]
    assert (found["points"], against["claim"], against["verdict"]) == (1, "slower", "never faster")
    for name, key in (("renaux2010", "base_ns"), (copy("dear", dearer_loop), "ns")):
        (estimate,) = json.loads(
            run("estimate", name, *HARDWARE, "--set", "N=13", "--json").stdout
        )["estimates"]
        assert against["worst"][key] == estimate["total_ns"]
        assert against["worst"]["word" if key == "ns" else "base_word"] == estimate["word"]


def test_a_range_that_can_be_tried_is_tried(copy: Copy) -> None:
    found = only(compared(copy("base", narrow), copy("dear", dearer_loop), *HARDWARE))
    (against,) = found["against"]
    assert (found["points"], against["checked"]) == (101, 101)
    assert against["basis"] == "every point of the range"
    assert against["claim"] == "never faster, slower at 100 of 101 points"
    assert found["best"] == {"base": 101, "dear": 1}
    assert [corner["parameters"] for corner in found["corners"]] == [{"N": 0}, {"N": 100}]


def dearer_beside_the_loop(data: Any) -> None:
    """By as much as 40 of ``dearer_loop``."""
    loop = rows_of_n(data)[0]
    extra = [{**count, "count": 40} for count in loop["counts"]]
    data["services"][0]["counts"]["rows"].append({**loop, "repetition": "1", "counts": extra})


def test_the_best_of_several_is_said_of_each_service(copy: Copy) -> None:
    """``loop`` is cheaper up to N = 40 and equal there, ``fixed`` from there on; ``both`` never."""
    loop = copy("loop", lambda data: (narrow(data), add_to_first_loop(data)))
    fixed = copy("fixed", lambda data: (narrow(data), dearer_beside_the_loop(data)))
    both = copy(
        "both", lambda data: (narrow(data), dearer_loop(data), dearer_beside_the_loop(data))
    )
    printed = run("compare", loop, fixed, both, *HARDWARE, "--format", "markdown").stdout
    table = printed.partition("## Best, total ns on renaux2010/platform1")[2].splitlines()
    assert table[4] == (
        "| CreateThread | depends on the parameters: loop at 41, fixed at 61 of 101 points |"
    )
    base = copy("base", narrow)
    printed = run("compare", base, loop, both, *HARDWARE, "--format", "markdown").stdout
    table = printed.partition("## Best, total ns on renaux2010/platform1")[2].splitlines()
    assert table[4] == "| CreateThread | base |"
    assert "## Best" not in run("compare", base, both, *HARDWARE, "--format", "markdown").stdout
    assert "## Best" not in run("compare", base, base, base, *HARDWARE).stdout


def test_versions_of_a_kernel(copy: Copy) -> None:
    """Which they are is said; what only the newer one has is listed."""

    def version(number: str, *changes: Callable[[Any], object]) -> Callable[[Any], None]:
        def change(data: Any) -> None:
            data["kernel"]["version"] = number
            for one in changes:
                one(data)

        return change

    older = copy("older", version("V11.1.0", narrow))
    newer = copy("newer", version("V11.2.0", narrow, second_service, dearer_loop))
    document = compared(older, newer, *HARDWARE)
    kernels = [subject["kernel"].rpartition(" ")[2] for subject in document["characterizations"]]
    assert kernels == ["V11.1.0", "V11.2.0"]
    verdicts = {
        service["service"]: [metric["against"][0]["verdict"] for metric in service["metrics"]][:1]
        for service in document["services"]
    }
    assert verdicts == {"CreateThread": ["never faster"], "Other": []}
    printed = run("compare", older, newer, *HARDWARE, "--format", "markdown").stdout
    rows = printed.partition("## Compared, the base first")[2].splitlines()[4:6]
    assert ["V11.1.0 |" in rows[0], "V11.2.0 |" in rows[1]] == [True, True]
    assert "| Other | newer |" in printed


def test_the_gate(copy: Copy) -> None:
    base, dear = copy("base", narrow), copy("dear", dearer_loop)
    assert run("compare", dear, base, *HARDWARE, "--fail-if-slower").exit_code == 0
    result = run("compare", base, dear, *HARDWARE, "--fail-if-slower")
    assert result.exit_code == 1
    assert "times are above the base's, 0 cannot be compared" in result.stderr
    assert "CreateThread of dear at N=100: total ns +" in result.stderr
    assert "In sum" not in result.stderr
    assert "CreateThread" in result.stdout, "the comparison is printed all the same"
    assert run("compare", base, dear, *HARDWARE, "--fail-if-slower", "1000").exit_code == 0
    (service,) = compared(base, dear, *HARDWARE)["services"]
    lines = [against for metric in service["metrics"] for against in metric["against"]]
    exactly = max(line["worst"]["change_percent"] for line in lines)
    for percent, code in ((exactly - 0.1, 1), (exactly + 0.1, 0)):
        checked = run("compare", base, dear, *HARDWARE, "--fail-if-slower", f"{percent:.1f}")
        assert checked.exit_code == code


def test_the_gate_over_a_range_that_cannot_be_tried(copy: Copy) -> None:
    dear = copy("dear", dearer_loop)
    assert run("compare", "renaux2010", dear, *HARDWARE, "--fail-if-slower").exit_code == 1
    cheaper = run("compare", dear, "renaux2010", *HARDWARE, "--fail-if-slower")
    assert (cheaper.exit_code, cheaper.stderr) == (0, "")

    def other_shape(data: Any) -> None:
        for row in rows_of_n(data):
            row["repetition"] = row["repetition"].replace("N", "min(N, 65000)")

    unsure = run("compare", "renaux2010", copy("shape", other_shape), *HARDWARE, "--fail-if-slower")
    assert unsure.exit_code == 0
    assert "not checked everywhere: CreateThread of" in unsure.stderr
    assert "of 65,536" in unsure.stderr


def test_what_cannot_be_compared_fails_the_gate(copy: Copy) -> None:
    def beyond(data: Any) -> None:
        data["services"][0]["parameters"][0]["minimum"] = 101

    base, other = copy("base", narrow), copy("beyond", beyond)
    result = run("compare", base, other, *HARDWARE, "--fail-if-slower")
    assert result.exit_code == 1
    assert "cannot be compared: CreateThread: the ranges of N have no value in common" in (
        result.stderr
    )
    assert "Not comparable" in result.stdout


def test_services_that_only_one_has(copy: Copy) -> None:
    def missing(data: Any) -> None:
        data["not_characterized"] = [{"name": "Other", "reason": "no trace shows it"}]

    two, one = copy("two", second_service), copy("one", missing)
    result = run("compare", two, one, *HARDWARE)
    text = " ".join(result.stdout.split())
    assert "Not in all of them service only in" in text
    assert "Other two" in text
    assert "not characterized: no trace shows it" in text
    document = compared(two, one, *HARDWARE, "--changed")
    (service,) = document["services"]
    assert (service["service"], service["in"], service["metrics"]) == ("Other", ["two"], [])
    assert service["forms"]["one"]["form"] == "none"


def test_formulas_side_by_side_need_no_hardware(copy: Copy) -> None:
    def setting(data: Any) -> None:
        dearer_loop(data)
        data["kernel"]["configuration"] = {"OPTION": "on"}

    result = run("compare", "renaux2010", copy("dear", setting))
    assert result.exit_code == 0
    assert "Settings that differ" in result.stdout
    assert "OPTION" in result.stdout
    assert "ns on" not in result.stdout
    assert "Instructions" in result.stdout
    assert "against" not in result.stdout


def test_meanings_that_differ_are_noted(copy: Copy) -> None:
    def other_meaning(data: Any) -> None:
        data["services"][0]["parameters"][0]["meaning"] = "apples"

    document = compared("renaux2010", copy("apples", other_meaning), *HARDWARE)
    (note,) = document["services"][0]["notes"]
    assert note.startswith("N has several meanings: ")
    assert "apples" in note


def test_every_format_tells_the_same(copy: Copy) -> None:
    base, dear = copy("base", narrow), copy("dear", dearer_loop)
    document = compared(base, dear, *THREE)
    table = run("compare", base, dear, *THREE, "--format", "csv").stdout
    lines = list(csv.DictReader(io.StringIO(table)))
    (service,) = document["services"]
    assert len(lines) == len(service["metrics"]) == 9
    marked = run("compare", base, dear, *THREE, "--format", "markdown").stdout
    plain = run("compare", base, dear, *THREE).stdout
    for line, metric in zip(lines, service["metrics"], strict=True):
        (against,) = metric["against"]
        assert line["verdict"] == against["verdict"]
        assert float(line["ns"]) == against["worst"]["ns"]
        assert float(line["change_percent"]) == against["worst"]["change_percent"]
        shown = f"{against['worst']['ns']:,}"
        if against["worst"]["ns"]:
            assert f"| {shown} |" in marked
            assert shown in plain
    assert "\x1b" not in plain


def test_different_cores_have_their_own_hardware(copy: Copy) -> None:
    dear = copy("dear", dearer_loop)
    paired = compared("renaux2010", dear, *THREE[:8], "--paired")
    ((first, second),) = paired["hardware"]
    assert (first["profile"], second["profile"]) == (
        "renaux2010/platform1",
        "renaux2010/platform2",
    )
    (against,) = only(paired)["against"]
    for number, key, name in ((0, "base_ns", "renaux2010"), (1, "ns", dear)):
        pair = THREE[4 * number : 4 * number + 4]
        value = f"N={against['worst']['parameters']['N']}"
        (estimate,) = json.loads(run("estimate", name, *pair, "--set", value, "--json").stdout)[
            "estimates"
        ]
        assert against["worst"][key] == estimate["total_ns"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("renaux2010",), 2, "there is nothing to compare with"),
        (("renaux2010", "renaux2010", "--fail-if-slower"), 2, "without hardware there are none"),
        (("renaux2010", "renaux2010", "--map", "renaux2010/map1"), 2, "without a profile"),
        (("renaux2010", "renaux2010", *THREE, "--paired"), 2, "3 profiles for 2"),
        (("renaux2010", "renaux2010", *HARDWARE, "--fail-if-slower", "much"), 2, "no percentage"),
        (("renaux2010", "renaux2010", *HARDWARE, "--fail-if-slower", "1e3"), 2, "no percentage"),
        (
            ("renaux2010", "renaux2010", *HARDWARE, "--set", "M=1"),
            3,
            "no service has a parameter M",
        ),
        (("renaux2010", "renaux2010", "--service", "x"), 3, "no characterization has a service x"),
        (("renaux2010", "none.json"), 3, "no such characterization"),
        (("renaux2010", "renaux2010", "--json", "--format", "csv"), 2, "contradict"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: tuple[str, ...], code: int, said: str) -> None:
    refused(run("compare", *arguments), code, said)


def in_parts(data: Any) -> None:
    """The service in two parts, and another one."""
    (only,) = data["services"]
    data["services"] = [
        {**only, "name": name, "kind": kind} | ({"part": part} if part else {})
        for name, kind, part in (
            ("wait/call", "blocking call", "call until switch"),
            ("wait/resume", "blocking call", "resume until return"),
            ("waits", "call", None),
        )
    ]


def test_a_whole_service_is_all_of_its_parts(copy: Copy) -> None:
    one, other = copy("one", in_parts), copy("other", in_parts)
    for asked, names in (
        (["wait"], ["wait/call", "wait/resume"]),
        (["waits", "wait/resume", "wait"], ["waits", "wait/resume", "wait/call"]),
    ):
        words = [word for name in asked for word in ("--service", name)]
        done = run("compare", one, other, *words, "--json")
        assert done.exit_code == 0, done.output
        assert [s["service"] for s in json.loads(done.stdout)["services"]] == names


def test_a_section_without_a_place_is_located(copy: Copy, tmp_path: Path) -> None:
    empty = tmp_path / "map.yaml"
    empty.write_text("schema: wcetchar/section-map/1\nname: m\nsections: {}\n")
    options = ("--profile", "renaux2010/platform1", "--map", str(empty))
    refused(run("compare", "renaux2010", copy("same"), *options), 3, f"{empty}:3:11: no region")


@pytest.mark.parametrize(
    ("paths", "labels"),
    [
        (("a.json", "b.json"), ("a", "b")),
        (("x/a/characterization.json", "x/b/characterization.json"), ("a", "b")),
        (("x/a/k.json", "y/a/k.json"), ("x", "y")),
        (("a.json", "x/a.json"), ("a", "x/a")),
        (("a.json", "a.json"), ("1:a.json", "2:a.json")),
        (("v1.0/k.json", "v1.1/k.json"), ("v1.0", "v1.1")),
        (("a.json", "./a.json", "b.json"), ("1:a.json", "2:./a.json", "3:b.json")),
    ],
)
def test_labels_tell_apart(paths: tuple[str, ...], labels: tuple[str, ...]) -> None:
    assert labels_of(paths) == labels


def test_progress_on_a_terminal_and_none_in_a_pipe(copy: Copy) -> None:
    files = (copy("one", second_service), copy("two", second_service))
    code, printed, shown = on_terminal("compare", *files, *HARDWARE)
    assert code == 0
    assert "comparing" in shown
    assert "2 services" in shown
    assert "━" in shown
    piped = process("compare", *files, *HARDWARE)
    assert (piped.returncode, piped.stderr) == (0, "")
    assert piped.stdout == printed


def test_the_shipped_map_is_named_where_there_is_none() -> None:
    """No shipped profile has a default map; the map that goes with it is told."""
    names = [name for name in profile_names() if maps_of(name)]
    assert set(names) == set(profile_names())
    for name in names:
        assert set(maps_of(name)) <= set(map_names())
    assert maps_of("vexriscv/imc-board-b-shared") == ("vexriscv/map-imc-board-b",)
    assert maps_of("vexriscv/imc-board-b-cached") == ("vexriscv/map-imc-board-b-cached",)
    assert maps_of("renaux2010/platform1") == tuple(f"renaux2010/map{n}" for n in (1, 2, 3))
    assert maps_of("my/board.yaml") == maps_of("board") == ()
    for name in ("cortex-m3/flash-3ws", "renaux2010/platform1"):
        found = run("compare", "renaux2010", "renaux2010", "--profile", name)
        refused(found, 2, "has no default map", f"--map {' or '.join(maps_of(name))}")
