"""Groups under k8s.io and kubernetes.io belong to the community: a definition there names its approval, or says it has none."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from probate.api.crds.layout import Definition, spec_of
from probate.api.field_errors import Path, Problem, invalid, required

ANNOTATION = "api-approved.kubernetes.io"
PROTECTED = ("k8s.io", "kubernetes.io")
APPROVED, BYPASSED, MISSING, INVALID = "ApprovedAnnotation", "UnapprovedAnnotation", "MissingAnnotation", "InvalidAnnotation"

_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"


def is_protected(group: str) -> bool:
    """Whether the group is the community's."""
    return group.endswith(tuple(f".{one}" for one in PROTECTED)) or group in PROTECTED


def approval_of(crd: Definition) -> tuple[str, str]:
    """The state of the approval, as the reason of its condition, and a sentence about it."""
    given = ((crd.get("metadata") or {}).get("annotations") or {}).get(ANNOTATION) or ""
    if not given:
        return MISSING, f'protected groups must have approval annotation "{ANNOTATION}", {_SEE}'
    if given.startswith("unapproved"):
        return BYPASSED, f'not approved: "{given}"'
    if _is_url(given):
        return APPROVED, f"approved in {given}"
    detail = (
        f'protected groups must have approval annotation "{ANNOTATION}" with either a URL or a reason starting with "unapproved"'
    )
    return INVALID, f"{detail}, {_SEE}"


def approval_problems(crd: Definition, old: Definition | None) -> Iterator[Problem]:
    """What is wrong with the annotation. What was so before may stay so."""
    if not is_protected(spec_of(crd).get("group") or ""):
        return
    state, detail = approval_of(crd)
    if old is not None and approval_of(old)[0] == state:
        return
    path = Path("metadata") / "annotations" @ ANNOTATION
    if state == MISSING:
        yield required(path, detail)
    elif state == INVALID:
        yield invalid(path, crd["metadata"]["annotations"][ANNOTATION], detail)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc)
