"""``wcetchar map``: section maps from programs."""

from __future__ import annotations

import click

from wcetchar.cli import completing
from wcetchar.cli.common import check_output, emit, output_option


@click.group("map")
def command() -> None:
    """Make section maps: derive one from an application (`init`).

    \b
    Example:
      wcetchar map init app.elf --characterization kernel.json --services kernel.yaml \\
          --profile board.yaml -o map.yaml
    """


def _places(
    ctx: click.Context, param: click.Parameter, assignments: tuple[str, ...]
) -> dict[str, str]:
    """``SECTION=REGION`` each."""
    places: dict[str, str] = {}
    for assignment in assignments:
        section, _, region = (part.strip() for part in assignment.partition("="))
        if not section or not region:
            raise click.BadParameter(f"{assignment!r} is not SECTION=REGION")
        if places.setdefault(section, region) != region:
            raise click.BadParameter(f"{section} has two places: {places[section]} and {region}")
    return places


@command.command("init", short_help="Derive a section map from an application's ELF file.")
@click.argument("application", shell_complete=completing.files)
@click.option(
    "--characterization",
    required=True,
    metavar="NAME|FILE",
    help="Whose logical sections are placed.",
    shell_complete=completing.characterizations,
)
@click.option(
    "--profile",
    required=True,
    metavar="NAME|FILE",
    help="Its regions, of those that have `base` and `size`.",
    shell_complete=completing.profiles,
)
@click.option(
    "--services",
    multiple=True,
    metavar="NAME|FILE",
    help="Services file whose `sections` say which linker sections, symbols and addresses belong "
    "to each logical section, where the characterization does not (--contents) or says otherwise; "
    "the rest of it may be missing. Repeatable: read as one.",
    shell_complete=completing.section_rules,
)
@click.option(
    "--linker-map",
    metavar="FILE",
    help="Linker map of the application (GNU ld), for names of functions and objects that its ELF "
    "file lacks, such as static ones of a stripped file.",
    shell_complete=completing.files,
)
@click.option(
    "places",
    "--place",
    multiple=True,
    metavar="SECTION=REGION",
    callback=_places,
    help="Where a logical section lies, whatever the application shows; repeatable.",
)
@click.option(
    "--partial",
    is_flag=True,
    help="Leave out sections that cannot be placed, with a comment that says why.",
)
@click.option("--name", metavar="NAME", help="Name of the map. Default: the application's.")
@output_option
def init(
    application: str,
    characterization: str,
    profile: str,
    services: tuple[str, ...],
    linker_map: str | None,
    places: dict[str, str],
    partial: bool,
    name: str | None,
    output: str | None,
) -> None:
    """Derive a section map for APPLICATION, the ELF file that goes onto the product: which region
    of the profile each logical section of the characterization lies in, by what belongs to it and
    the addresses that this runs at.

    A section that services touch and that cannot be placed, or that lies in several regions, is an
    error, unless --place says where it lies.

    \b
    Examples:
      wcetchar map init app.elf --characterization kernel.json --services kernel.yaml \\
          --profile board.yaml -o map.yaml
      wcetchar map init app.elf --characterization kernel.json --linker-map app.map \\
          --profile board.yaml --place heap=sdram --place 'stack.task=sram' -o map.yaml
    """
    from wcetchar.pipeline import map_init as pipeline

    inputs = (application, characterization, profile, *services)
    check_output(output, (*inputs, *([linker_map] if linker_map else [])))
    emit(
        pipeline.run(
            pipeline.Request(
                application,
                characterization,
                profile,
                services,
                places,
                partial,
                name,
                linker_map,
            )
        ),
        output,
    )
