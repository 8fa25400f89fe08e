"""The api-approved annotation: groups under k8s.io and kubernetes.io are reserved for the community.

A CRD in such a group names its approval, or states that it has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from probate.api.crds.layout import Crd, spec_of
from probate.api.field_errors import FieldError, FieldPath, invalid, required

API_APPROVED_ANNOTATION = "api-approved.kubernetes.io"
PROTECTED_GROUPS = ("k8s.io", "kubernetes.io")
APPROVED, BYPASSED, MISSING, INVALID = "ApprovedAnnotation", "UnapprovedAnnotation", "MissingAnnotation", "InvalidAnnotation"

_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"


def is_protected_group(group: str) -> bool:
    """Returns whether the group is reserved for the community."""
    return group.endswith(tuple(f".{suffix}" for suffix in PROTECTED_GROUPS)) or group in PROTECTED_GROUPS


def approval_state(crd: Crd) -> tuple[str, str]:
    """Returns the state of the approval, as a condition's reason, and its message."""
    annotation = ((crd.get("metadata") or {}).get("annotations") or {}).get(API_APPROVED_ANNOTATION) or ""
    if not annotation:
        return MISSING, f'protected groups must have approval annotation "{API_APPROVED_ANNOTATION}", {_SEE}'
    if annotation.startswith("unapproved"):
        return BYPASSED, f'not approved: "{annotation}"'
    if _is_url(annotation):
        return APPROVED, f"approved in {annotation}"
    required_value = 'either a URL or a reason starting with "unapproved"'
    return INVALID, f'protected groups must have approval annotation "{API_APPROVED_ANNOTATION}" with {required_value}, {_SEE}'


def validate_approval(crd: Crd, old: Crd | None) -> Iterator[FieldError]:
    """Validates the annotation. An update may keep the state that the old CRD had."""
    if not is_protected_group(spec_of(crd).get("group") or ""):
        return
    state, detail = approval_state(crd)
    if old is not None and approval_state(old)[0] == state:
        return
    path = FieldPath("metadata") / "annotations" @ API_APPROVED_ANNOTATION
    if state == MISSING:
        yield required(path, detail)
    elif state == INVALID:
        yield invalid(path, crd["metadata"]["annotations"][API_APPROVED_ANNOTATION], detail)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc)
