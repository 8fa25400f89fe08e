"""Is a definition right: on its own, and as the successor of another.

Both functions want a definition after `preparation`. The general rules for metadata are not looked at, only that the name is
made of the plural name and the group.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from probate.api import names
from probate.api.crds import approval, conversion_strategy, version_schemas, versions
from probate.api.crds.layout import SPEC, Definition, names_of, spec_of, versions_of
from probate.api.field_errors import TOO_MANY, Path, Problem, first, invalid, not_supported, required
from probate.lib.x509 import pem

SCOPES = ("Cluster", "Namespaced")
STATUS = Path("status")

_MIXED_CASE = "may have mixed case, but should otherwise match: "


def validate_create(crd: Definition) -> list[Problem]:
    """Everything that is wrong with a new definition."""
    if version_schemas.count(crd) > version_schemas.MAX_SCHEMAS:
        return [_too_many_schemas(crd)]
    return first(chain(_check_name(crd), _check_spec(crd), _check_status(crd), _check_top(crd, None)))


def validate_update(crd: Definition, old: Definition) -> list[Problem]:
    """Everything that is wrong with a definition that replaces another. One that has too many schemas may have no more."""
    if version_schemas.count(crd) > max(version_schemas.MAX_SCHEMAS, version_schemas.count(old)):
        return [_too_many_schemas(crd)]
    return first(
        chain(_check_spec(crd), _check_immutable(crd, old), _check_authority(crd, old), _check_status(crd), _check_top(crd, old))
    )


def validate_status_update(crd: Definition) -> list[Problem]:
    """What is wrong with a new status: only the names in it are looked at."""
    return first(_check_names((crd.get("status") or {}).get("acceptedNames") or {}, STATUS / "acceptedNames"))


def _too_many_schemas(crd: Definition) -> Problem:
    detail = (
        f"Too many: {version_schemas.count(crd)}: all versions together must have at most {version_schemas.MAX_SCHEMAS} schemas"
    )
    return Problem(TOO_MANY, str(SPEC / "versions"), detail)


def _check_name(crd: Definition) -> Iterator[Problem]:
    name = (crd.get("metadata") or {}).get("name") or ""
    if name and name != f"{names_of(crd).get('plural') or ''}.{spec_of(crd).get('group') or ''}":
        yield invalid(Path("metadata.name"), name, 'must be spec.names.plural+"."+spec.group')


def _check_spec(crd: Definition) -> Iterator[Problem]:
    yield from _check_group(spec_of(crd).get("group") or "")
    yield from _check_scope(spec_of(crd).get("scope") or "")
    yield from versions.version_problems(crd)
    for field in ("plural", "singular", "kind", "listKind"):
        if not names_of(crd).get(field):
            yield required(SPEC / "names" / field)
    yield from _check_names(names_of(crd), SPEC / "names")
    yield from version_schemas.schema_problems(crd)
    yield from conversion_strategy.conversion_problems(spec_of(crd).get("conversion"), SPEC / "conversion")


def _check_group(group: str) -> Iterator[Problem]:
    if not group:
        yield required(SPEC / "group")
    elif wrong := names.dns_subdomain(group):
        yield invalid(SPEC / "group", group, ",".join(wrong))
    elif "." not in group:
        yield invalid(SPEC / "group", group, "should be a domain with at least one dot")


def _check_scope(scope: str) -> Iterator[Problem]:
    if not scope:
        yield required(SPEC / "scope")
    elif scope not in SCOPES:
        yield not_supported(SPEC / "scope", scope, SCOPES)


def _check_names(given: dict[str, Any], path: Path) -> Iterator[Problem]:
    for field in ("plural", "singular", "kind", "listKind"):
        name = given.get(field) or ""
        is_kind = field in {"kind", "listKind"}
        wrong = names.dns_1035_label(name.lower() if is_kind else name) if name else []
        if wrong:
            yield invalid(path / field, name, (_MIXED_CASE if is_kind else "") + ",".join(wrong))
    for field in ("shortNames", "categories"):
        for index, name in enumerate(given.get(field) or []):
            if wrong := names.dns_1035_label(name):
                yield invalid(path / field / index, name, ",".join(wrong))
    if given.get("kind") and given["kind"] == given.get("listKind"):
        yield invalid(path / "listKind", given["listKind"], "kind and listKind may not be the same")


def _check_status(crd: Definition) -> Iterator[Problem]:
    status = crd.get("status") or {}
    yield from validate_status_update(crd)
    stored, path = status.get("storedVersions") or [], STATUS / "storedVersions"
    if not stored:
        yield invalid(path, stored, "must have at least one stored version")
        return
    there = [one.get("name") for one in versions_of(crd)]
    for version in versions_of(crd):
        if version.get("storage") and version.get("name") not in stored:
            yield invalid(path, stored, f"must have the storage version {version.get('name')}")
    for index, name in enumerate(stored):
        if name not in there:
            yield invalid(path / index, name, _stored(name))


def _stored(name: str) -> str:
    return (
        f"missing from spec.versions; {name} was a storage version before, and must stay in spec.versions until all objects "
        f"stored in {name} are migrated and {name} is taken out of status.storedVersions"
    )


def _check_immutable(crd: Definition, old: Definition) -> Iterator[Problem]:
    fields = [(SPEC / "group", spec_of, "group"), (SPEC / "names" / "plural", names_of, "plural")]
    if _is_established(old):
        fields = [(SPEC / "scope", spec_of, "scope"), (SPEC / "names" / "kind", names_of, "kind"), *fields]
    for path, part, field in fields:
        if part(crd).get(field) != part(old).get(field):
            yield invalid(path, part(crd).get(field), "field is immutable")


def _check_authority(crd: Definition, old: Definition) -> Iterator[Problem]:
    """Certificates that cannot be read would stop a kind that is served. One that is not, or has such ones, may have them."""
    given = _authority(crd)
    if given and _is_established(old) and not pem.is_bundle(given) and (not _authority(old) or pem.is_bundle(_authority(old))):
        yield invalid(SPEC / "conversion" / "webhookClientConfig" / "caBundle", "", "must be PEM blocks of type CERTIFICATE")


def _authority(crd: Definition) -> str:
    webhook = (spec_of(crd).get("conversion") or {}).get("webhook") or {}
    return (webhook.get("clientConfig") or {}).get("caBundle") or ""


def _is_established(crd: Definition) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or []
    return any(one.get("type") == "Established" and one.get("status") == "True" for one in conditions)


def _check_top(crd: Definition, old: Definition | None) -> Iterator[Problem]:
    yield from approval.approval_problems(crd, old)
    kept_before = old is not None and spec_of(old).get("preserveUnknownFields") is True
    if spec_of(crd).get("preserveUnknownFields") is True and not kept_before:
        detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield invalid(SPEC / "preserveUnknownFields", True, detail)
