"""``west wcet``: wcetchar on the current build of Zephyr.

Each subcommand calls the command line with what the build folder says, and ends with its exit
code. Results are left in ``BUILD/wcet``.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import webbrowser
from pathlib import Path

from west.commands import Verbosity, WestCommand

# West loads this file by its path.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from build_folder import BuildFolder, NotKnown, read_build_folder

DESCRIPTION = """\
Worst-case execution time of kernel calls on the current build.

west wcet characterize   run the firmware in an emulator, and count what each service does
west wcet profile        begin a hardware profile: regions from the build's devicetree
west wcet map            derive from the build where the sections of the kernel lie
west wcet estimate       what each service takes on a hardware profile
west wcet report         the same as one page, in the browser

Board, machine, instruction set and devicetree are those of the build folder. Options behind `--`
go to the `wcetchar` command that is called. `west config wcet.profile FILE` sets a profile for the
workspace, `west config wcet.wcetchar PROGRAM` the program, where it is not on the path; paths begin
at the top of the workspace.
"""


class Wcet(WestCommand):
    """The command; see ``DESCRIPTION``."""

    def __init__(self) -> None:
        super().__init__(
            "wcet",
            "worst-case execution time of kernel calls on the current build",
            DESCRIPTION,
            accepts_unknown_args=True,
        )

    def do_add_parser(self, parser_adder):  # type: ignore[no-untyped-def]
        parser = parser_adder.add_parser(
            self.name,
            help=self.help,
            description=self.description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
        for name, (run, options, text) in _VERBS.items():
            verb = verbs.add_parser(name, help=text, description=text)
            verb.set_defaults(run_verb=run)
            verb.add_argument(
                "-d", "--build-dir", metavar="FOLDER", help="the build folder; default: build"
            )
            verb.add_argument("--domain", metavar="NAME", help="of a build with sysbuild")
            for option in options:
                option(verb)
        return parser

    def do_run(self, args: argparse.Namespace, unknown: list[str]) -> None:
        try:
            build = read_build_folder(self._folder(args), args.domain)
            more = unknown[1:] if unknown[:1] == ["--"] else unknown
            args.run_verb(self, build, args, more)
        except NotKnown as error:
            self.die(str(error))

    def wcetchar(self, *words: str | Path) -> None:
        """Calls the command line; where that fails, the command ends with its exit code."""
        program = self._configured_file("wcetchar") or shutil.which("wcetchar")
        if program is None:
            raise NotKnown(
                "wcetchar is not on the path: pip install it, or west config wcet.wcetchar"
            )
        command = [program, *(str(word) for word in words)]
        self.dbg("+", shlex.join(command), level=Verbosity.DBG)
        sys.stdout.flush()
        status = subprocess.run(command, check=False).returncode
        if status:
            sys.exit(status if status > 0 else 128 - status)

    def _folder(self, args: argparse.Namespace) -> Path:
        if args.build_dir:
            return Path(args.build_dir)
        form = self._configured("build", "dir-fmt") or "build"
        if "{" in form:
            raise NotKnown(f"build.dir-fmt is {form!r}: name the build folder with --build-dir")
        return Path(form)

    def profile(self, args: argparse.Namespace) -> str:
        profile = args.profile or self._configured_file("profile")
        if profile is None:
            raise NotKnown("which hardware: --profile NAME|FILE, or west config wcet.profile FILE")
        return str(profile)

    def _configured_file(self, name: str) -> str | None:
        """A setting holds in every folder of the workspace: a path in it begins at its top."""
        found = self._configured("wcet", name)
        if found is None or not self.topdir or not (Path(self.topdir) / found).is_file():
            return found
        return str(Path(self.topdir) / found)

    def _configured(self, section: str, name: str) -> str | None:
        found = self.config.get(f"{section}.{name}") if self.config is not None else None
        return None if found is None else str(found)


def _out(build: BuildFolder, name: str) -> Path:
    folder = build.folder / "wcet"
    folder.mkdir(exist_ok=True)
    return folder / name


def _each(option: str, values: list[str] | None) -> list[str]:
    return [word for value in values or [] for word in (option, value)]


def _services(build: BuildFolder, args: argparse.Namespace) -> list[str]:
    """Services files and, unless they are said to have them, Zephyr's linker sections."""
    rules = [] if args.rules == "none" else [args.rules or build.rules]
    return _each("--services", [*(args.services or []), *rules])


def _characterization(build: BuildFolder, args: argparse.Namespace) -> str:
    if args.characterization:
        return str(args.characterization)
    own = build.folder / "wcet" / "kernel.json"
    if not own.is_file():
        raise NotKnown(
            f"there is no {own}: west wcet characterize first, or name a vendor's with "
            "--characterization"
        )
    return str(own)


def _characterize(
    west: Wcet, build: BuildFolder, args: argparse.Namespace, more: list[str]
) -> None:
    if not args.services:
        raise NotKnown(
            "which services: --services FILE, for each file; docs/reference/services-file.md says "
            "what stands in one"
        )
    parameter, variable, values = _sweep(args.sweep)
    until = ["--until", args.until] if args.until else []
    capture = ["--machine", args.machine or build.machine, *until]
    traces, told = [], []
    for value in values:
        trace = _out(build, f"{value}.trace" if variable else "kernel.trace")
        initialize = ["--initialize", f"{variable}={value}"] if variable else []
        west.wcetchar("capture", build.elf, *capture, *initialize, "-o", trace)
        traces.append(str(trace))
        told += ["--set", f"{trace}:{parameter}={value}"] if variable else []
    services = _services(build, args)
    output = args.output or _out(build, "kernel.json")
    west.wcetchar(
        *("characterize", build.elf, *traces, *services, *told, "--contents", "-o", output, *more)
    )


def _sweep(text: str | None) -> tuple[str, str, list[str]]:
    """Parameter, variable and values; one value and no names where nothing is swept."""
    if text is None:
        return "", "", [""]
    names, _, values = text.partition(":")
    parameter, _, variable = names.partition("=")
    each = [value.strip() for value in values.split(",")]
    if not parameter or not variable or not all(value.isdecimal() for value in each):
        raise NotKnown(f"--sweep {text!r} is not PARAMETER=VARIABLE:VALUE,VALUE...")
    return parameter, variable, each


def _profile(west: Wcet, build: BuildFolder, args: argparse.Namespace, more: list[str]) -> None:
    name = args.name or build.board.replace("/", "-")
    output = args.output or _out(build, f"{name}.yaml")
    west.wcetchar("profile", "init", name, "--devicetree", build.devicetree, "-o", output, *more)
    west.inf(f"{output}: every TODO in it is yours")


def _derived(west: Wcet, build: BuildFolder, args: argparse.Namespace, more: list[str]) -> Path:
    output = Path(args.output) if args.verb == "map" and args.output else _out(build, "map.yaml")
    linker_map = [str(build.linker_map)] if build.linker_map.is_file() else []
    west.wcetchar(
        *("map", "init", build.elf, "--characterization", _characterization(build, args)),
        *("--profile", west.profile(args), *_services(build, args)),
        *_each("--linker-map", linker_map),
        *_each("--place", args.place),
        *("-o", output, *more),
    )
    return output


def _map(west: Wcet, build: BuildFolder, args: argparse.Namespace, more: list[str]) -> None:
    output = _derived(west, build, args, more)
    west.inf(output.read_text(encoding="utf-8").rstrip())


def _prices(west: Wcet, build: BuildFolder, args: argparse.Namespace) -> list[str]:
    section_map = args.map or str(_derived(west, build, args, []))
    found = [_characterization(build, args), "--profile", west.profile(args), "--map", section_map]
    return [*found, *_each("--set", args.set)]


def _estimate(west: Wcet, build: BuildFolder, args: argparse.Namespace, more: list[str]) -> None:
    prices = [*_prices(west, build, args), *_each("--service", args.service), "--maximum"]
    west.wcetchar("estimate", *prices, "--format", "json", "-o", _out(build, "estimates.json"))
    west.wcetchar("estimate", *prices, *(more or ["--format", "summary"]))


def _report(west: Wcet, build: BuildFolder, args: argparse.Namespace, more: list[str]) -> None:
    output = Path(args.output) if args.output else _out(build, "report.html")
    prices = [*_prices(west, build, args), *_each("--service", args.service)]
    west.wcetchar("report", *prices, "-o", output, *more)
    west.inf(str(output))
    if not args.no_open:
        webbrowser.open(output.resolve().as_uri())


def _with_profile(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--profile", metavar="NAME|FILE", help="hardware profile")


def _with_services(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--services", action="append", metavar="FILE", help="services file; repeatable"
    )
    verb.add_argument(
        "--rules",
        metavar="NAME",
        help="shipped linker sections; default: those of Zephyr on the build's instruction set; "
        "none: the services files have them",
    )


def _with_output(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("-o", "--output", metavar="FILE", help="default: a file in BUILD/wcet")


def _with_machine(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--machine", metavar="NAME", help="emulated machine; default: the board's")


def _with_runs(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--until",
        metavar="FUNCTION:TIMES",
        help="where a run ends that does not end by itself (wcetchar capture --until)",
    )
    verb.add_argument(
        "--sweep",
        metavar="PARAMETER=VARIABLE:VALUES",
        help="a run for each value, such as N=sample_count:1,2,4: the variable begins with it, and "
        "the parameter has it",
    )


def _with_name(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--name", metavar="NAME", help="of the profile; default: the board's")


def _with_characterization(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--characterization",
        metavar="NAME|FILE",
        help="default: that of this build, BUILD/wcet/kernel.json",
    )


def _with_places(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--place",
        action="append",
        metavar="SECTION=REGION",
        help="where a logical section lies; repeatable",
    )


def _with_prices(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--map", metavar="NAME|FILE", help="section map; default: it is derived")
    verb.add_argument(
        "--set", action="append", metavar="NAME=VALUE", help="value of a parameter; repeatable"
    )
    verb.add_argument(
        "--service", action="append", metavar="NAME", help="only this one; repeatable"
    )


def _with_browser(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--no-open", action="store_true", help="leave the browser alone")


_FOR_MAP = (_with_characterization, _with_profile, _with_services, _with_places)
_VERBS = {
    "characterize": (
        _characterize,
        (_with_services, _with_machine, _with_runs, _with_output),
        "Run the firmware in an emulator, and count what each service does.",
    ),
    "profile": (
        _profile,
        (_with_name, _with_output),
        "Begin a hardware profile: regions from the build's devicetree.",
    ),
    "map": (
        _map,
        (*_FOR_MAP, _with_output),
        "Derive from the build where the sections of the kernel lie.",
    ),
    "estimate": (
        _estimate,
        (*_FOR_MAP, _with_prices),
        "What each service takes on a hardware profile.",
    ),
    "report": (
        _report,
        (*_FOR_MAP, _with_prices, _with_output, _with_browser),
        "What each service takes on a hardware profile, as one page in the browser.",
    ),
}
