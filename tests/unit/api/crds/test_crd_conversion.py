"""The CA bundle of a conversion webhook must be readable if the CRD is established."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from probate.api.crds.crd_validation import validate_create, validate_update
from probate.api.crds.strategy import prepare_create, prepare_update, set_defaults
from support import signed_certificates

GOOD = base64.b64encode(signed_certificates.new_root("a").pem).decode()
BAD = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").decode()
NONE = base64.b64encode(b"nothing").decode()
FIELD = "spec.conversion.webhookClientConfig.caBundle"


def new_crd(bundle: str, *, is_established: bool = True) -> dict[str, Any]:
    config = {"service": {"name": "a", "namespace": "b"}, **({"caBundle": bundle} if bundle else {})}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [version],
        "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"]}},
    }
    crd: dict[str, Any] = {"metadata": {"name": "things.example.com"}, "spec": spec}
    set_defaults(crd)
    prepare_create(crd)
    crd["status"]["conditions"] = [{"type": "Established", "status": "True" if is_established else "False"}]
    return crd


@pytest.mark.parametrize("bundle", ["", GOOD, BAD, NONE], ids=["without", "good", "bad", "none"])
def test_a_new_crd_may_have_any_ca_bundle(bundle: str) -> None:
    assert validate_create(new_crd(bundle)) == []


@pytest.mark.parametrize(
    ("old", "new", "is_established", "is_rejected"),
    [
        pytest.param("", GOOD, True, False, id="good"),
        pytest.param("", BAD, True, True, id="bad"),
        pytest.param(GOOD, NONE, True, True, id="none"),
        pytest.param(GOOD, "", True, False, id="without"),
        pytest.param(BAD, NONE, True, False, id="bad-before"),
        pytest.param("", BAD, False, False, id="not-served-yet"),
    ],
)
def test_an_update_of_an_established_crd_must_not_set_an_unreadable_ca_bundle(
    old: str, new: str, *, is_established: bool, is_rejected: bool
) -> None:
    before, after = new_crd(old, is_established=is_established), new_crd(new)
    prepare_update(after, before)
    assert [error.field for error in validate_update(after, before)] == ([FIELD] if is_rejected else [])
