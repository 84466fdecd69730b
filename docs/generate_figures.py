"""Writes docs/reference/freertos-figures-BOARD.md, the figures of every FreeRTOS service on boards
beside the Cortex-M3, from the folder of a campaign that has their cells of `full`:

wcetchar campaign rtos_tests/freertos/campaign.yaml -o build/campaign --only virt+full
python docs/generate_figures.py build/campaign virt
"""

from __future__ import annotations

import sys
from pathlib import Path

from generate_services import PAGE, SUITE, described_of, groups, table

from wcetchar import store
from wcetchar.model.characterization import Characterization, Word

CORES = {
    "mps2-an386": "a Cortex-M4 with floating-point context, Armv7E-M",
    "virt": "RV32IMC",
    "versatilepb": "Armv4T, in Arm state",
    "versatilepb-thumb": "Armv4T, in Thumb state",
}
PAGES = tuple(CORES)
INTRODUCTION = """\
# FreeRTOS on `{board}`: figures

<!-- Written by docs/generate_figures.py; do not edit. -->

{kernel} on {core} (`{board}`), configuration `full`: {services} services and activities,
published as {published}, {formula} by exact formula, {table} by table of observed values,
{estimates} of them as estimates. In which states they are called, and with which parameters, is on
[the page of services](freertos-services.md), or, where that is another on this board, on [the page
of other boards](freertos-services-more.md). Columns as there.

```sh
wcetchar campaign rtos_tests/freertos/campaign.yaml -o build/campaign --only {board}+full
python docs/generate_figures.py build/campaign {board}
```
"""


def page_of(board: str) -> Path:
    return PAGE.with_name(f"freertos-figures-{board}.md")


def files_of(board: str) -> list[str]:
    """Services files of its cell of `full`, as the campaign gives them."""
    campaign = store.load_campaign(str(SUITE / "campaign.yaml"))
    (cell,) = [one for one in campaign.cells() if one.name == f"{board}+full"]
    return [name.format(**cell.variables) for name in campaign.services_of(cell)]


def page(board: str, characterization: Characterization) -> str:
    """The whole page.

    Raises:
        KeyError: a service of the files is not in the characterization.
    """
    described = groups(files=files_of(board))
    parts, published = described_of(characterization), characterization.services
    formula = sum(service.counts.is_formula for service in published)
    kernel = characterization.kernel
    text = INTRODUCTION.format(
        board=board,
        kernel=f"{kernel.name} {kernel.version}",
        core=CORES[board],
        services=sum(map(len, described.values())),
        published=len(published),
        formula=formula,
        table=len(published) - formula,
        estimates=sum(service.word is Word.ESTIMATE for service in published),
    )
    for group, names in described.items():
        rows = table(part for name in names for part in parts[name])
        text += f"\n## {group}\n\n" + "\n".join(rows) + "\n"
    return text


def main(folder: Path, *boards: str) -> None:
    for board in boards or PAGES:
        found = store.load_characterization(str(folder / f"{board}+full" / "characterization.json"))
        page_of(board).write_text(page(board, found), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 2 or not {*sys.argv[2:]} <= {*PAGES}:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), *sys.argv[2:])
