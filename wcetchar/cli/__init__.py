"""The command line: one module per verb.

A verb is a module of this package that has a click command named ``command``. Only the verb that
is called is imported, so that pricing an estimate needs neither a decoder nor an emulator.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, Final

import click

from wcetchar import __version__
from wcetchar.cli.common import discard_output
from wcetchar.errors import WcetcharError
from wcetchar.report.view import printable

VERBS: Final = (
    "demo",
    "capture",
    "characterize",
    "estimate",
)

INTERRUPTED: Final = 130  # 128 + SIGINT, as shells have it
BROKEN_PIPE: Final = 141  # 128 + SIGPIPE


class _Verbs(click.Group):
    """Finds verbs by name and turns errors into messages and exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command = importlib.import_module(f"{__name__}.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            # A reader that went away shows only when the buffer is written.
            sys.stdout.flush()
        except WcetcharError as error:
            for line in str(error).splitlines():
                click.echo(printable(line), err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            discard_output()
            ctx.exit(BROKEN_PIPE)
        return result


@click.command(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="wcetchar")
def main() -> None:
    """Worst-case execution time of kernel services: characterized once, priced for any hardware.

    Exit codes: 0 done, 1 a check failed, 2 usage, 3 bad input, 4 no sound bound.
    """
