"""Which tenant a name or a key could belong to."""

from __future__ import annotations

import pytest

from probate.api import tenants


@pytest.mark.parametrize("name", ["111111", "abc-de", "a-b-c1"])
def test_valid_ids(name: str) -> None:
    assert tenants.is_valid_id(name)


@pytest.mark.parametrize("name", ["11111", "1111111", "-11111", "11111-", "11111A", "1111.1", ""])
def test_invalid_ids(name: str) -> None:
    assert not tenants.is_valid_id(name)


@pytest.mark.parametrize(
    ("key", "ids"),
    [
        ("objects/pods/111111-web/p", ("111111",)),
        ("objects/pods/web/111111-p", ()),
        ("objects/pods/111111/p", ()),
        ("objects/persistentvolumes/-/111111-v", ("111111",)),
        ("objects/persistentvolumes/-/111111", ()),
        ("objects/namespaces/-/abc-de-web", ("abc-de",)),
        ("objects/namespaces/-/abcde--web", ()),
        ("objects/customresourcedefinitions.apiextensions.k8s.io/-/foos.111111-a.com", ("111111",)),
        ("objects/customresourcedefinitions.apiextensions.k8s.io/-/111111-foos.a.com", ()),
        ("objects/apiservices.apiregistration.k8s.io/-/v1.111111-a.com", ("111111",)),
        ("objects/foos.111111-a.com/default/x", ("111111",)),
        ("objects/foos.111111-a.com/111111-web/x", ("111111",)),
        ("objects/foos.111111-a.com/222222-web/x", ("222222", "111111")),
        ("objects/foos.a.com/-/222222-x", ("222222",)),
    ],
)
def test_tenants_of_a_key(key: str, ids: tuple[str, ...]) -> None:
    assert tenants.ids_in_key(key) == ids


def test_entries_of_a_tenant_are_in_its_range() -> None:
    key = "objects/persistentvolumes/-/111111-v"
    assert tenants.content_entry("111111", key).startswith(tenants.content_range("111111"))
    assert tenants.content_entry("111111", key).startswith(tenants.resource_content_range("111111", "persistentvolumes"))
    assert tenants.open_entry("111111") == "tenant-open/111111"
    assert tenants.tenant_key("111111") == "objects/tenants.tenant.kubezoo.io/-/111111"
