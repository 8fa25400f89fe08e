"""Validates a CRD on create and on update.

The functions expect a CRD that `strategy` has prepared. They do not validate metadata in general, only that the name consists of
the plural name and the group.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from probate.api import names
from probate.api.crds import approval, conversion_strategy, version_schemas, versions
from probate.api.crds.layout import SPEC, Crd, names_of, spec_of, versions_of
from probate.api.field_errors import TOO_MANY, FieldError, FieldPath, invalid, limit_field_errors, not_supported, required
from probate.lib.x509 import pem

SCOPES = ("Cluster", "Namespaced")
STATUS = FieldPath("status")

_MIXED_CASE = "may have mixed case, but should otherwise match: "


def validate_create(crd: Crd) -> list[FieldError]:
    """Validates a new CRD."""
    if version_schemas.count_schemas(crd) > version_schemas.MAX_SCHEMAS:
        return [_too_many_schemas(crd)]
    return limit_field_errors(
        chain(_validate_name(crd), _validate_spec(crd), _validate_status(crd), _validate_top_level(crd, None))
    )


def validate_update(crd: Crd, old: Crd) -> list[FieldError]:
    """Validates a CRD that replaces another. One that has too many schemas may not get more."""
    if version_schemas.count_schemas(crd) > max(version_schemas.MAX_SCHEMAS, version_schemas.count_schemas(old)):
        return [_too_many_schemas(crd)]
    return limit_field_errors(
        chain(
            _validate_spec(crd),
            _validate_immutable_fields(crd, old),
            _validate_ca_bundle(crd, old),
            _validate_status(crd),
            _validate_top_level(crd, old),
        )
    )


def validate_status_update(crd: Crd) -> list[FieldError]:
    """Validates a new status: only the names in it."""
    return limit_field_errors(_validate_names((crd.get("status") or {}).get("acceptedNames") or {}, STATUS / "acceptedNames"))


def _too_many_schemas(crd: Crd) -> FieldError:
    count, limit = version_schemas.count_schemas(crd), version_schemas.MAX_SCHEMAS
    detail = f"Too many: {count}: all versions together must have at most {limit} schemas"
    return FieldError(TOO_MANY, str(SPEC / "versions"), detail)


def _validate_name(crd: Crd) -> Iterator[FieldError]:
    name = (crd.get("metadata") or {}).get("name") or ""
    if name and name != f"{names_of(crd).get('plural') or ''}.{spec_of(crd).get('group') or ''}":
        yield invalid(FieldPath("metadata.name"), name, 'must be spec.names.plural+"."+spec.group')


def _validate_spec(crd: Crd) -> Iterator[FieldError]:
    yield from _validate_group(spec_of(crd).get("group") or "")
    yield from _validate_scope(spec_of(crd).get("scope") or "")
    yield from versions.validate_versions(crd)
    for field in ("plural", "singular", "kind", "listKind"):
        if not names_of(crd).get(field):
            yield required(SPEC / "names" / field)
    yield from _validate_names(names_of(crd), SPEC / "names")
    yield from version_schemas.validate_schemas(crd)
    yield from conversion_strategy.validate_conversion(spec_of(crd).get("conversion"), SPEC / "conversion")


def _validate_group(group: str) -> Iterator[FieldError]:
    if not group:
        yield required(SPEC / "group")
    elif messages := names.validate_dns_subdomain(group):
        yield invalid(SPEC / "group", group, ",".join(messages))
    elif "." not in group:
        yield invalid(SPEC / "group", group, "should be a domain with at least one dot")


def _validate_scope(scope: str) -> Iterator[FieldError]:
    if not scope:
        yield required(SPEC / "scope")
    elif scope not in SCOPES:
        yield not_supported(SPEC / "scope", scope, SCOPES)


def _validate_names(names_spec: dict[str, Any], path: FieldPath) -> Iterator[FieldError]:
    for field in ("plural", "singular", "kind", "listKind"):
        name = names_spec.get(field) or ""
        is_kind = field in {"kind", "listKind"}
        messages = names.validate_dns_1035_label(name.lower() if is_kind else name) if name else []
        if messages:
            yield invalid(path / field, name, (_MIXED_CASE if is_kind else "") + ",".join(messages))
    for field in ("shortNames", "categories"):
        for index, name in enumerate(names_spec.get(field) or []):
            if messages := names.validate_dns_1035_label(name):
                yield invalid(path / field / index, name, ",".join(messages))
    if names_spec.get("kind") and names_spec["kind"] == names_spec.get("listKind"):
        yield invalid(path / "listKind", names_spec["listKind"], "kind and listKind may not be the same")


def _validate_status(crd: Crd) -> Iterator[FieldError]:
    status = crd.get("status") or {}
    yield from validate_status_update(crd)
    stored, path = status.get("storedVersions") or [], STATUS / "storedVersions"
    if not stored:
        yield invalid(path, stored, "must have at least one stored version")
        return
    version_names = [version.get("name") for version in versions_of(crd)]
    for version in versions_of(crd):
        if version.get("storage") and version.get("name") not in stored:
            yield invalid(path, stored, f"must have the storage version {version.get('name')}")
    for index, name in enumerate(stored):
        if name not in version_names:
            yield invalid(path / index, name, _stored_version_message(name))


def _stored_version_message(name: str) -> str:
    return (
        f"missing from spec.versions; {name} was a storage version before, and must stay in spec.versions until all objects "
        f"stored in {name} are migrated and {name} is taken out of status.storedVersions"
    )


def _validate_immutable_fields(crd: Crd, old: Crd) -> Iterator[FieldError]:
    fields = [(SPEC / "group", spec_of, "group"), (SPEC / "names" / "plural", names_of, "plural")]
    if _is_established(old):
        fields = [(SPEC / "scope", spec_of, "scope"), (SPEC / "names" / "kind", names_of, "kind"), *fields]
    for path, part, field in fields:
        if part(crd).get(field) != part(old).get(field):
            yield invalid(path, part(crd).get(field), "field is immutable")


def _validate_ca_bundle(crd: Crd, old: Crd) -> Iterator[FieldError]:
    """Validates the CA bundle, since an unreadable one would break a kind that is served.

    A CRD that is not established, or whose old bundle is unreadable, may have an unreadable one.
    """
    bundle = _ca_bundle(crd)
    if bundle and _is_established(old) and not pem.is_bundle(bundle) and (not _ca_bundle(old) or pem.is_bundle(_ca_bundle(old))):
        yield invalid(SPEC / "conversion" / "webhookClientConfig" / "caBundle", "", "must be PEM blocks of type CERTIFICATE")


def _ca_bundle(crd: Crd) -> str:
    webhook = (spec_of(crd).get("conversion") or {}).get("webhook") or {}
    return (webhook.get("clientConfig") or {}).get("caBundle") or ""


def _is_established(crd: Crd) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or []
    return any(condition.get("type") == "Established" and condition.get("status") == "True" for condition in conditions)


def _validate_top_level(crd: Crd, old: Crd | None) -> Iterator[FieldError]:
    yield from approval.validate_approval(crd, old)
    kept_before = old is not None and spec_of(old).get("preserveUnknownFields") is True
    if spec_of(crd).get("preserveUnknownFields") is True and not kept_before:
        detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield invalid(SPEC / "preserveUnknownFields", True, detail)
