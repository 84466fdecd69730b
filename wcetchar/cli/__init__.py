"""The command line: one module per verb.

A verb is a module of this package that has a click command named ``command``. Only the verb that
is called is imported, so that pricing an estimate needs neither a decoder nor an emulator.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, Final

import click

from wcetchar import __version__
from wcetchar.cli.common import OnDemand, discard_output, say
from wcetchar.errors import InputError, InputErrors, UsageError, WcetcharError

VERBS: Final = {
    "demo": "Price the published example on three boards.",
    "doctor": "Say what is installed, and what is missing for which verb.",
    "completion": "Let a shell complete verbs, options and names.",
    "capture": "Run a firmware under an emulator and write its trace.",
    "characterize": "Turn traces into a kernel's characterization.",
    "campaign": "Characterize a matrix of firmware, what is new of it.",
    "estimate": "Price the services of a characterization on hardware.",
    "paths": "Show the worst path of services as a flow graph.",
    "check": "Hold traced paths against path models, services to budgets.",
    "export": "Show traced invocations, priced, in other programs.",
    "compare": "Hold characterizations against each other on hardware.",
    "report": "A kernel's datasheet, as a page or as text.",
    "sweep": "Services over clock, memories, bus width, caches, parameters.",
    "validate": "Hold estimates against measured times.",
    "measure": "Measure well: from the question to a verdict on each result.",
    "profile": "Make hardware profiles, and look into them.",
    "map": "Make section maps.",
    "system": "From services to systems: what switching takes.",
    "schema": "Print the JSON Schema of a file, for editors.",
}
"""Verbs, and what `--help` lists of each."""


def verb_names() -> tuple[str, ...]:
    """All of them, those of groups by both words; groups whose verbs need the same are one."""
    from wcetchar.cli.measure import VERBS as OF_MEASURE

    own = (name for name in VERBS if name != "measure")
    return (*own, *(f"measure {name}" for name in OF_MEASURE))


COMPLETE: Final = "_WCETCHAR_COMPLETE"
"""The variable with which a shell asks for completions."""
INTERRUPTED: Final = 130  # 128 + SIGINT, as shells have it
BROKEN_PIPE: Final = 141  # 128 + SIGPIPE


class _Verbs(OnDemand):
    """Turns errors into messages and exit codes."""

    def main(self, *args: Any, **extra: Any) -> Any:
        _open_standard_descriptors()
        # However it is called, as a module too: what `wcetchar completion` prints names this one.
        extra.setdefault("complete_var", COMPLETE)
        # Looking through all that is installed for plugins, of which none is wanted.
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        with _cleaning_up_when_ended():
            try:
                return super().main(*args, **extra)
            except OSError as error:  # of --help and --version; verbs end in invoke()
                discard_output()
                say(f"standard output cannot be written: {error.strerror or error}")
                sys.exit(WcetcharError.exit_code)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            # A reader that went away shows only when the buffer is written.
            if sys.stdout is not None:
                sys.stdout.flush()
        except WcetcharError as error:
            say(error.told(error.advice or _advice(error, ctx)))
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            say("interrupted")
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            discard_output()
            ctx.exit(BROKEN_PIPE)
        return result


def _advice(error: WcetcharError, ctx: click.Context) -> str | None:
    """What to do next about an error that does not say it itself."""
    if not isinstance(error, InputError | UsageError):
        return None
    places = [one.where for one in error.each] if isinstance(error, InputErrors) else [error.where]
    if any(where and where.line for where in places):
        return "correct it there"
    files = [where.file for where in places if where]
    if isinstance(error, UsageError) or any(file.startswith("-") for file in files):
        return f"see `{ctx.command_path} {ctx.invoked_subcommand} --help`"
    return "check it, or name another" if files else None  # None: the outputs', not the user's


def _open_standard_descriptors() -> None:
    """A closed standard stream (``>&-``) leaves its number to the next file that is opened; what
    a child process then writes to its standard output would land in that file."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


@contextlib.contextmanager
def _cleaning_up_when_ended() -> Iterator[None]:
    """SIGTERM and SIGHUP end the program as an interrupt does: emulators are ended and temporary
    files removed. Whoever ignores or handles them already is left alone."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    changed = []
    for number in (signal.SIGTERM, signal.SIGHUP):
        with contextlib.suppress(ValueError):  # not the main thread
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, end)
                changed.append(number)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


@click.group(
    cls=_Verbs,
    package=__name__,
    verbs=VERBS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="wcetchar")
def main() -> None:
    """Worst-case execution time of kernel services: characterized once, priced for any hardware.

    `wcetchar demo` needs nothing else; `wcetchar VERB --help` has units and examples.

    Exit codes: 0 done, 1 a check failed, 2 usage, 3 bad input, 4 no sound bound.
    """


def program() -> None:
    """The command of a process of its own: :data:`main`, and garbage that is left to the system.

    Objects that refer to one another in a circle are looked for after 50,000 new ones rather than
    after 700, and not at all at the end, where Python would go through all that is still there: a
    tenth of the time of a small estimate. Not for callers of :data:`main`, whose process lives on.
    """
    gc.set_threshold(50_000)
    try:
        main()
    finally:
        gc.freeze()
