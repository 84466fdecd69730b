"""Characterizes short runs quickly: the image is decoded once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from chain_excerpt import Step
from chain_made import SERVICES
from trace_writers import stream

from wcetchar import isa, store
from wcetchar.analysis.characterize import characterize
from wcetchar.image import load_image
from wcetchar.model.characterization import ServiceCharacterization
from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.service import ParameterKind, ServicesFile
from wcetchar.readers import open_trace

Services = tuple[ServiceCharacterization, ...]


def any_case(services: ServicesFile) -> ServicesFile:
    """A short run need not show each case of a service: they become values of a state."""
    return replace(
        services,
        services=tuple(
            replace(
                service,
                parameters=tuple(
                    replace(p, kind=ParameterKind.STATE) if p.kind is ParameterKind.CASE else p
                    for p in service.parameters
                ),
            )
            for service in services.services
        ),
    )


@dataclass
class Trial:
    folder: Path
    image: Image
    table: InstructionTable
    services: ServicesFile

    @classmethod
    def of(cls, firmware: Path, folder: Path) -> Trial:
        image = load_image(str(firmware))
        services = store.load_services(*SERVICES)
        return cls(folder, image, isa.decode_image(image), any_case(services))

    def of_bytes(self, data: bytes, format: str | None = None) -> Services:
        path = self.folder / "run.trace"
        path.write_bytes(data)
        trace = open_trace(str(path), image=self.image, format=format)
        return characterize(
            [trace], self.image, self.table, self.services, tool="test", partial=True
        ).services

    def of_steps(self, steps: list[Step]) -> Services:
        return self.of_bytes(stream(steps))
