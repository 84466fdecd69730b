"""``wcetchar completion``: a script that lets a shell complete command lines of this program.

The scripts are click's. One line is added to that for Bash: behind a name that ends with ``=``, its
value follows, not a space.
"""

from __future__ import annotations

from typing import Final

import click

from wcetchar.cli.common import emit, output_option

SHELLS: Final = ("bash", "zsh", "fish")
PROGRAM: Final = "wcetchar"
_END: Final = "\n    return 0\n"
_NO_SPACE: Final = "\n    [[ ${#COMPREPLY[@]} -eq 1 && $COMPREPLY == *= ]] && compopt -o nospace\n"
_HOW: Final = {
    "bash": 'eval "$(wcetchar completion bash)"  # in ~/.bashrc',
    "zsh": 'eval "$(wcetchar completion zsh)"  # in ~/.zshrc, behind compinit',
    "fish": "wcetchar completion fish > ~/.config/fish/completions/wcetchar.fish",
}


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@output_option
def command(shell: str, output: str | None) -> None:
    """Print a script with which SHELL completes verbs, options and what stands behind them:
    profiles, maps, characterizations, and services and parameters of the one that is given.

    \b
    Examples:
      eval "$(wcetchar completion bash)"
      eval "$(wcetchar completion zsh)"
      wcetchar completion fish > ~/.config/fish/completions/wcetchar.fish
    """
    from click.shell_completion import get_completion_class

    from wcetchar.cli import COMPLETE, main

    of_shell = get_completion_class(shell)
    assert of_shell is not None  # click has these three
    complete = of_shell(main, {}, PROGRAM, COMPLETE)
    # Not source(), which for Bash asks the one that is installed for its version: old ones, such as
    # 3.2, are said to be too old by the script itself, and this may be another machine's.
    script = complete.source_template % complete.source_vars()
    if shell == "bash":
        script = script.replace(_END, _NO_SPACE + _END, 1)
    emit(f"# {_HOW[shell]}\n{script.strip()}\n", output)
