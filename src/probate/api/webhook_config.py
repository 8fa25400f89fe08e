"""What configurations of webhooks share, of admission and of conversion: where a server is asked, and in which words."""

from __future__ import annotations

from collections.abc import Iterator

from probate.api import names
from probate.api.field_errors import Path, Problem, invalid, required

REVIEW_VERSIONS = ("v1", "v1beta1")


def path_faults(given: str) -> list[str]:
    """What is wrong with the path at which a service is asked."""
    if given == "/":
        return []
    if not given.startswith("/"):
        return ["must start with a '/'"]
    steps = given.removesuffix("/")[1:].split("/")
    if "" in steps:
        return ["segments of the path may not be empty"]
    return [f"segment {step}: {one}" for step in steps for one in names.dns_subdomain(step)]


def check_review_versions(versions: list[str], path: Path) -> Iterator[Problem]:
    """The versions of reviews that the server understands: one at least that is sent here, and each named once."""
    if not versions:
        yield required(path, f"must specify one of {', '.join(REVIEW_VERSIONS)}")
        return
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if version in seen:
            yield invalid(path / index, version, "duplicate version")
        else:
            yield from (invalid(path / index, version, one) for one in names.dns_1035_label(version))
        seen.add(version)
    if seen.isdisjoint(REVIEW_VERSIONS):
        yield invalid(path, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}")
