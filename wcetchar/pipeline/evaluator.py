"""The document of the evaluator: three parties' files in, what a page computes with out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wcetchar import store
from wcetchar.engine.recorded_document import evaluator_document
from wcetchar.errors import InputError
from wcetchar.model.characterization import Characterization
from wcetchar.pipeline import estimate
from wcetchar.store.profile_numbers import ProfileNumbers


@dataclass(frozen=True)
class Request:
    """``section_map``: ``None``: the profile's own; ``services``: none means all."""

    characterization: str
    profile: str
    section_map: str | None = None
    services: tuple[str, ...] = ()


def document_of(
    request: Request, characterization: Characterization | None = None
) -> dict[str, Any]:
    """Of services at any numbers of the profile and any values of parameters, as far as prices were
    recorded (``engine.recorded_document``).

    Args:
        characterization: of the request's file, read already.

    Raises:
        UsageError, InputError: as of ``estimate.run``, but for values of parameters.
    """
    asked = estimate.Request.on_one(
        request.characterization, request.profile, request.section_map, request.services, {}
    )
    if characterization is None:
        characterization = store.load_characterization(request.characterization)
    services = estimate.chosen_services(asked, characterization)
    numbers = ProfileNumbers(request.profile)
    profile = numbers.with_values({})
    section_map = estimate.map_of(profile, request.profile, request.section_map)
    names = [service.name for service in services]
    try:
        document = evaluator_document(characterization, profile, section_map, numbers.held(), names)
    except InputError as error:
        raise estimate.located(error, request.profile, request.section_map, asked, None) from None
    files = {
        "characterization": request.characterization,
        "profile": request.profile,
        "map": request.section_map,
    }
    return {**document, "files": files}
