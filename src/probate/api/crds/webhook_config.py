"""Validation that admission webhooks and conversion webhooks share: the service path and the review versions."""

from __future__ import annotations

from collections.abc import Iterator

from probate.api import names
from probate.api.field_errors import FieldError, FieldPath, invalid, required

REVIEW_VERSIONS = ("v1", "v1beta1")


def validate_service_path(path: str) -> list[str]:
    """Validates the URL path of a webhook's service. Returns messages."""
    if path == "/":
        return []
    if not path.startswith("/"):
        return ["must start with a '/'"]
    segments = path.removesuffix("/")[1:].split("/")
    if "" in segments:
        return ["segments of the path may not be empty"]
    return [f"segment {step}: {message}" for step in segments for message in names.validate_dns_subdomain(step)]


def validate_review_versions(versions: list[str], path: FieldPath) -> Iterator[FieldError]:
    """Validates the review versions of a webhook: each is listed once, and the server sends at least one of them."""
    if not versions:
        yield required(path, f"must specify one of {', '.join(REVIEW_VERSIONS)}")
        return
    earlier: set[str] = set()
    for index, version in enumerate(versions):
        if version in earlier:
            yield invalid(path / index, version, "duplicate version")
        else:
            yield from (invalid(path / index, version, message) for message in names.validate_dns_1035_label(version))
        earlier.add(version)
    if earlier.isdisjoint(REVIEW_VERSIONS):
        yield invalid(path, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}")
