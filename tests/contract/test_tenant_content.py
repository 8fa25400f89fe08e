"""What belongs to a tenant, as the server finds it on each engine."""

from __future__ import annotations

from probate.api import tenants
from probate.api.gvk import GroupResource
from probate.server.ownership import tenant_content
from probate.store import contract
from probate.store.contract import Store

ROLES = "objects/clusterroles.rbac.authorization.k8s.io/-/"
CRDS = "objects/customresourcedefinitions.apiextensions.k8s.io/-/"


async def test_objects_in_the_way_of_a_new_tenant(store: Store) -> None:
    others = [f"{ROLES}{name}" for name in ("111111", "111111,", "111111,z", "111111.a", "111111a", "111110-a", "a")]
    others += [f"{CRDS}111111-a.example.com", "objects/pods/default/111111-a", "objects/namespaces/-/default"]
    found = [f"{CRDS}foos.111111-a.com", "objects/foos.111111-a.com/default/x", f"{ROLES}111111-", f"{ROLES}111111-z"]
    for key in (*others, *found):
        await store.commit(contract.create(key, b"{}"))
    assert set(await tenant_content.find_objects_in_the_way(store, "111111", limit=10)) == set(found)
    assert len(await tenant_content.find_objects_in_the_way(store, "111111", limit=3)) == 3
    assert await tenant_content.find_objects_in_the_way(store, "222222", limit=3) == []


async def test_objects_of_a_tenant_by_resource(store: Store) -> None:
    keys = [f"objects/pods/111111-a/p{number}" for number in range(5)] + ["objects/persistentvolumes/-/pvc-1"]
    for key in keys:
        await store.commit(contract.create(key, b"{}", add_entries=[tenants.content_entry("111111", key)]))
    await store.commit(contract.create("objects/pods/222222-a/p", b"{}", add_entries=["tenant/222222/objects/pods/222222-a/p"]))
    pods, volumes = GroupResource("", "pods"), GroupResource("", "persistentvolumes")
    assert await tenant_content.count(store, "111111") == {pods: 5, volumes: 1}
    page = await tenant_content.list_keys(store, "111111", "", limit=4)
    rest = await tenant_content.list_keys(store, "111111", page.continue_token, limit=4)
    assert sorted([*page.keys, *rest.keys]) == sorted(keys)
    assert (await tenant_content.list_keys(store, "111111", "", limit=9, but=["pods"])).keys == keys[5:]
