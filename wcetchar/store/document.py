"""What the YAML files have in common: a first line that says what the file is."""

from __future__ import annotations

from wcetchar.errors import InputError
from wcetchar.store.source import Source, shown
from wcetchar.store.yaml_source import read_yaml

PROFILE = "wcetchar/hardware-profile/1"
SECTION_MAP = "wcetchar/section-map/1"
SERVICES = "wcetchar/services/1"
MEASURE = "wcetchar/measure/1"
MEASURED = "wcetchar/measured/1"
CAMPAIGN = "wcetchar/campaign/1"
RUNS = "wcetchar/runs/1"
WORKING_SETS = "wcetchar/working-sets/1"
PARTITIONS = "wcetchar/partitions/1"
SYSTEM = "wcetchar/system/1"
SLOWDOWNS = "wcetchar/slowdowns/1"
SHARED_DEVICE = "wcetchar/shared-device/1"
BUDGET = "wcetchar/budget/1"


def advice_on(schema: str) -> str:
    """What to do about a mistake in a file of this schema that says nothing better."""
    kind = schema.split("/")[1]
    if kind in ("services", "measure", "campaign", "system", "budget"):
        page = f"{kind}-file"
    else:
        page = {"measured": "measurements", "runs": "services-file"}.get(kind, kind)
    return f"correct it; docs/reference/{page}.md says what may stand there"


def read_document(path: str, schema: str) -> Source:
    """Read a YAML file that has to say ``schema: <schema>``.

    Raises:
        InputError: it is no mapping, says nothing, or is of another kind or version; then its
            other mistakes would mislead and are not looked for.
    """
    source = read_yaml(path)
    source.advice = advice_on(schema)
    for mistake in source.mistakes:
        mistake.advice = source.advice
    where = source.where(())
    if not isinstance(source.data, dict):
        source.fail_on_mistakes()
        raise InputError(
            "the file is not a mapping",
            where=where,
            expected=f"a mapping with `schema: {schema}`",
            hint=f"give the right file, or begin it with `schema: {schema}`",
        )
    if "schema" not in source.data:
        raise InputError(
            "the file does not say what it is",
            where=where,
            expected=f"`schema: {schema}`",
            hint="add that line at the top",
        )
    found = source.data["schema"]
    if found != schema:
        kind = schema.rpartition("/")[0]
        newer = isinstance(found, str) and found.rpartition("/")[0] == kind
        raise InputError(
            f"the file is of schema {shown(found)}",
            where=source.where(("schema",)),
            expected=f"`{schema}`",
            hint="use a wcetchar that reads this version" if newer else "give the right file",
        )
    return source
