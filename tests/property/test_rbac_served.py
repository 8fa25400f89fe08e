"""RBAC properties of a running server: its responses equal those of the reference evaluator, `support.reference_rbac`.

Requests write the objects. SubjectAccessReviews and ordinary requests test what a user may do, and writes of roles and bindings
test what a user may grant.
"""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from probate.api.objects import Object
from support import reference_rbac
from support.in_process_server import InProcessServer
from support.rbac_samples import (
    GROUP,
    HISTORIES,
    LABELS,
    NAMESPACED_RULES,
    PATH_REQUESTS,
    RESOURCE_REQUESTS,
    RULES,
    SELECTORS,
    USERS,
    aggregated_role,
    binding,
    role,
)
from support.rbac_server import RBAC, RbacServer, running_with_rbac
from support.reference_rbac import Identity, PathRequest, ResourceRequest
from support.virtual_time_server import in_memory

REVIEW = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def collection_path(object_: Object) -> str:
    namespace = object_["metadata"].get("namespace")
    return f"{RBAC}/{f'namespaces/{namespace}/' if namespace else ''}{object_['kind'].lower()}s"


async def replace(house: InProcessServer, object_: Object) -> None:
    """Replaces the object, whether or not it existed before."""
    path = f"{collection_path(object_)}/{object_['metadata']['name']}"
    await house.request("DELETE", path)
    response = await house.request("POST", collection_path(object_), object_)
    assert response.code == 201, response.body


async def delete_bootstrap_bindings(house: InProcessServer) -> None:
    """Deletes the bindings that every server has, since they would grant too much."""
    assert (await house.request("DELETE", f"{RBAC}/clusterrolebindings")).code == 200


async def review(house: InProcessServer, user: Identity, request: ResourceRequest | PathRequest) -> bool:
    spec: Object = {"user": user.name, "groups": list(user.groups)}
    if isinstance(request, PathRequest):
        spec["nonResourceAttributes"] = request._asdict()
    else:
        resource, _, subresource = request.resource.partition("/")
        attributes = {"verb": request.verb, "group": request.group, "resource": resource, "subresource": subresource}
        spec["resourceAttributes"] = {**attributes, "namespace": request.namespace, "name": request.name}
    response = await house.request("POST", REVIEW, {"spec": spec})
    assert response.code == 201, response.body
    return bool(response.json["status"]["allowed"])


@settings(max_examples=30)
@given(HISTORIES, USERS, st.lists(RESOURCE_REQUESTS | PATH_REQUESTS, min_size=3, max_size=10))
def test_reviews_and_requests_equal_the_reference_evaluator(
    history: list[tuple[Object, bool]], user: Identity, requests: list[ResourceRequest | PathRequest]
) -> None:
    asyncio.run(_compare_reviews(history, user, requests))


async def _compare_reviews(
    history: list[tuple[Object, bool]], user: Identity, requests: list[ResourceRequest | PathRequest]
) -> None:
    existing: dict[str, Object] = {}
    async with running_with_rbac() as house:
        await delete_bootstrap_bindings(house)
        for object_, is_gone in history:
            path = f"{collection_path(object_)}/{object_['metadata']['name']}"
            if is_gone:
                await house.request("DELETE", path)
                existing.pop(path, None)
            else:
                await replace(house, object_)
                existing[path] = object_
            for request in requests:
                assert await review(house, user, request) == reference_rbac.allows(existing.values(), user, request), request
            await _compare_requests(house, existing, user)


async def _compare_requests(house: RbacServer, existing: dict[str, Object], user: Identity) -> None:
    """Compares the results of ordinary requests, not only of reviews."""
    authenticated = Identity(user.name, (*user.groups, "system:authenticated"))
    for path, request in (
        ("/api/v1/namespaces/a/pods/x", ResourceRequest("get", "", "pods", "a", "x")),
        ("/api/v1/namespaces/b/pods", ResourceRequest("list", "", "pods", "b")),
        ("/api/v1/pods", ResourceRequest("list", "", "pods")),
    ):
        response = await house.ask_as(user.name, "GET", path, groups=user.groups)
        assert (response.code != 403) == reference_rbac.allows(existing.values(), authenticated, request), path


WRITE_ROLES = {"verbs": ["create"], "apiGroups": [GROUP], "resources": ["*"]}


@settings(max_examples=60)
@given(RULES, NAMESPACED_RULES, RULES, st.lists(st.integers(0, 8), max_size=3), st.booleans())
def test_users_cannot_grant_permissions_that_they_do_not_have(
    everywhere: list[Object], in_namespace: list[Object], requested: list[Object], held: list[int], is_binding: bool
) -> None:
    """The requested rules are other rules, or some of those that the user has."""
    all_held = [*in_namespace, *everywhere]
    asyncio.run(
        _grant(
            everywhere,
            in_namespace,
            [all_held[number] for number in held if number < len(all_held)] or requested,
            is_binding=is_binding,
        )
    )


async def _grant(everywhere: list[Object], in_namespace: list[Object], requested: list[Object], *, is_binding: bool) -> None:
    """A user with rules in all namespaces, and some in the namespace `a`, grants rules in `a`, and then in all namespaces."""
    async with running_with_rbac() as house:
        await delete_bootstrap_bindings(house)
        await house.grant("ann", WRITE_ROLES, *everywhere)
        await house.grant("ann", *in_namespace, namespace="a")
        for namespace, held in (("a", [WRITE_ROLES, *everywhere, *in_namespace]), ("", [WRITE_ROLES, *everywhere])):
            rules = [rule for rule in requested if not (namespace and "nonResourceURLs" in rule and not is_binding)]
            response = await (_bind if is_binding else _write)(house, namespace, rules)
            is_exempt = reference_rbac.covers(held, [_exemption(namespace, is_binding=is_binding)])
            assert response.code == (201 if is_exempt or reference_rbac.covers(held, rules) else 403), (namespace, response.body)


def _exemption(namespace: str, *, is_binding: bool) -> Object:
    """Returns the rule that allows a user to grant more than they have."""
    resource = "roles" if namespace and not is_binding else "clusterroles"
    return {"verbs": ["bind" if is_binding else "escalate"], "apiGroups": [GROUP], "resources": [resource]}


async def _write(house: RbacServer, namespace: str, rules: list[Object]) -> Any:
    desired = role("wanted", namespace, rules)
    return await house.ask_as("ann", "POST", collection_path(desired), body=desired)


async def _bind(house: RbacServer, namespace: str, rules: list[Object]) -> Any:
    await replace(house, role("wanted", "", rules))
    desired = binding("wanted", namespace, ("ClusterRole", "wanted"), subjects=[{"kind": "User", "name": "eve", "apiGroup": GROUP}])
    return await house.ask_as("ann", "POST", collection_path(desired), body=desired)


PARTS = st.lists(st.tuples(LABELS, RULES), min_size=1, max_size=3)
AGGREGATED_ROLES = st.lists(st.tuples(LABELS, st.lists(SELECTORS, min_size=1, max_size=2)), min_size=1, max_size=2)


@settings(max_examples=25)
@given(PARTS, AGGREGATED_ROLES, st.lists(RESOURCE_REQUESTS | PATH_REQUESTS, min_size=3, max_size=8))
def test_an_aggregated_role_grants_what_its_parts_grant(
    parts: list[Any], sums: list[Any], requests: list[ResourceRequest | PathRequest]
) -> None:
    asyncio.run(_compare_aggregated(parts, sums, requests))


async def _compare_aggregated(parts: list[Any], sums: list[Any], requests: list[ResourceRequest | PathRequest]) -> None:
    objects = [role(f"part-{number}", "", rules) for number, (_, rules) in enumerate(parts)]
    for object_, (labels, _) in zip(objects, parts, strict=True):
        object_["metadata"]["labels"] = labels | TEST_LABEL
    selectors_of_role = [[_within_test(selector) for selector in selectors] for _, selectors in sums]
    objects += [
        aggregated_role(f"sum-{number}", labels | TEST_LABEL, selectors_of_role[number]) for number, (labels, _) in enumerate(sums)
    ]
    subjects = [{"kind": "User", "name": "ann", "apiGroup": GROUP}]
    objects += [binding(f"b-{number}", "a", ("ClusterRole", f"sum-{number}"), subjects=subjects) for number in range(len(sums))]
    async with in_memory("roles") as cluster:
        await cluster.create("namespaces", "", {"metadata": {"name": "a"}})
        for object_ in reversed(objects):  # the aggregated roles first: they must follow changes of their parts
            await replace(cluster, object_)
        await cluster.settle()
        for request in requests:
            assert await review(cluster, Identity("ann"), request) == reference_rbac.allows(objects, Identity("ann"), request), (
                request
            )


TEST_LABEL = {"ours": "1"}


def _within_test(selector: Object) -> Object:
    """Restricts a selector to the roles of this test, without the bootstrap roles."""
    return {**selector, "matchLabels": {**selector.get("matchLabels", {}), "ours": "1"}}
