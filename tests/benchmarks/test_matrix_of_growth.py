"""What the group `matrix` of `make bench` makes: every firmware of the campaign, compiled anew."""

from __future__ import annotations

from pathlib import Path

from growth import SUITE, compiled_anew

from wcetchar.model.campaign import expand
from wcetchar.store import load_campaign


def test_cells_are_those_of_the_campaign_and_build_in_their_own_folders(tmp_path: Path) -> None:
    made, usual = (
        load_campaign(str(compiled_anew(tmp_path))),
        load_campaign(str(SUITE / "campaign.yaml")),
    )
    assert made.build
    assert usual.build
    assert made.firmware == "{output}/firmware/freertos.elf"
    assert made.build.command[-1] == "BUILD={output}/firmware"
    assert set(usual.build.command) < set(made.build.command)
    for one, other in zip(made.cells(), usual.cells(), strict=True):
        assert (one.name, one.variables) == (other.name, other.variables)
        files = [expand(file, one.variables) for file in usual.services_of(other)]
        assert [expand(file, one.variables) for file in made.services_of(one)] == [
            str(SUITE / file) for file in files
        ]
