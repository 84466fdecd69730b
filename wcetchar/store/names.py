"""Names of the files that are shipped with the package."""


def profile_names() -> tuple[str, ...]:
    """Names of the shipped hardware profiles, sorted."""
    raise NotImplementedError


def map_names() -> tuple[str, ...]:
    """Names of the shipped section maps, sorted."""
    raise NotImplementedError


def characterization_names() -> tuple[str, ...]:
    """Names of the shipped characterizations, sorted."""
    raise NotImplementedError
