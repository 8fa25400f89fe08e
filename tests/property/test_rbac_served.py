"""RBAC by property, through the door: what the server answers is what its objects say, as `rbac_evaluator` reads them.

The objects are written by requests; whether somebody may is asked by requests (a SubjectAccessReview, and by trying), and so is
whether they may grant something themselves.
"""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support import reference_rbac
from support.in_process_server import House
from support.rbac_samples import (
    GROUP,
    HISTORIES,
    LABELS,
    NAMESPACED_RULES,
    PEOPLE,
    RULES,
    SELECTORS,
    VISITS,
    WISHES,
    binding,
    role,
    sum_of,
)
from support.rbac_server import RBAC, Guarded, guarded
from support.reference_rbac import Visit, Who, Wish
from support.virtual_time_server import in_memory

Object = dict[str, Any]
REVIEW = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def folder_of(object_: Object) -> str:
    space = object_["metadata"].get("namespace")
    return f"{RBAC}/{f'namespaces/{space}/' if space else ''}{object_['kind'].lower()}s"


async def put(house: House, object_: Object) -> None:
    """Have it as it is now, whatever was there before."""
    path = f"{folder_of(object_)}/{object_['metadata']['name']}"
    await house.ask("DELETE", path)
    told = await house.ask("POST", folder_of(object_), object_)
    assert told.code == 201, told.body


async def bare(house: House) -> None:
    """What every server grants to everybody would be in the way."""
    assert (await house.ask("DELETE", f"{RBAC}/clusterrolebindings")).code == 200


async def review(house: House, who: Who, asked: Wish | Visit) -> bool:
    spec: Object = {"user": who.name, "groups": list(who.groups)}
    if isinstance(asked, Visit):
        spec["nonResourceAttributes"] = asked._asdict()
    else:
        resource, _, part = asked.resource.partition("/")
        about = {"verb": asked.verb, "group": asked.group, "resource": resource, "subresource": part}
        spec["resourceAttributes"] = {**about, "namespace": asked.namespace, "name": asked.name}
    told = await house.ask("POST", REVIEW, {"spec": spec})
    assert told.code == 201, told.body
    return bool(told.json["status"]["allowed"])


@settings(max_examples=30)
@given(HISTORIES, PEOPLE, st.lists(WISHES | VISITS, min_size=3, max_size=10))
def test_who_may_is_what_the_objects_say(acts: list[tuple[Object, bool]], who: Who, asks: list[Wish | Visit]) -> None:
    asyncio.run(_who_may(acts, who, asks))


async def _who_may(acts: list[tuple[Object, bool]], who: Who, asks: list[Wish | Visit]) -> None:
    there: dict[str, Object] = {}
    async with guarded() as house:
        await bare(house)
        for object_, is_gone in acts:
            path = f"{folder_of(object_)}/{object_['metadata']['name']}"
            if is_gone:
                await house.ask("DELETE", path)
                there.pop(path, None)
            else:
                await put(house, object_)
                there[path] = object_
            for asked in asks:
                assert await review(house, who, asked) == reference_rbac.allows(there.values(), who, asked), asked
            await _try(house, there, who)


async def _try(house: Guarded, there: dict[str, Object], who: Who) -> None:
    """Not only asked, but done."""
    known = Who(who.name, (*who.groups, "system:authenticated"))
    for path, wish in (
        ("/api/v1/namespaces/a/pods/x", Wish("get", "", "pods", "a", "x")),
        ("/api/v1/namespaces/b/pods", Wish("list", "", "pods", "b")),
        ("/api/v1/pods", Wish("list", "", "pods")),
    ):
        told = await house.ask_as(who.name, "GET", path, groups=who.groups)
        assert (told.code != 403) == reference_rbac.allows(there.values(), known, wish), path


WRITE_ROLES = {"verbs": ["create"], "apiGroups": [GROUP], "resources": ["*"]}


@settings(max_examples=60)
@given(RULES, NAMESPACED_RULES, RULES, st.lists(st.integers(0, 8), max_size=3), st.booleans())
def test_nobody_grants_what_they_do_not_have(
    everywhere: list[Object], here: list[Object], wanted: list[Object], had: list[int], is_binding: bool
) -> None:
    """What is wanted is something else, or some of what they have."""
    both = [*here, *everywhere]
    asyncio.run(_grant(everywhere, here, [both[number] for number in had if number < len(both)] or wanted, is_binding=is_binding))


async def _grant(everywhere: list[Object], here: list[Object], wanted: list[Object], *, is_binding: bool) -> None:
    """Somebody with rules everywhere, and some in the namespace `a`, grants others: there, and then everywhere."""
    async with guarded() as house:
        await bare(house)
        await house.grant("ann", WRITE_ROLES, *everywhere)
        await house.grant("ann", *here, namespace="a")
        for space, ours in (("a", [WRITE_ROLES, *everywhere, *here]), ("", [WRITE_ROLES, *everywhere])):
            rules = [rule for rule in wanted if not (space and "nonResourceURLs" in rule and not is_binding)]
            told = await (_bind if is_binding else _write)(house, space, rules)
            is_exempt = reference_rbac.covers(ours, [_exemption(space, is_binding=is_binding)])
            assert told.code == (201 if is_exempt or reference_rbac.covers(ours, rules) else 403), (space, told.body)


def _exemption(namespace: str, *, is_binding: bool) -> Object:
    """The rule with which somebody may grant more than they have."""
    resource = "roles" if namespace and not is_binding else "clusterroles"
    return {"verbs": ["bind" if is_binding else "escalate"], "apiGroups": [GROUP], "resources": [resource]}


async def _write(house: Guarded, namespace: str, rules: list[Object]) -> Any:
    wanted = role("wanted", namespace, rules)
    return await house.ask_as("ann", "POST", folder_of(wanted), wanted)


async def _bind(house: Guarded, namespace: str, rules: list[Object]) -> Any:
    await put(house, role("wanted", "", rules))
    wanted = binding("wanted", namespace, ("ClusterRole", "wanted"), [{"kind": "User", "name": "eve", "apiGroup": GROUP}])
    return await house.ask_as("ann", "POST", folder_of(wanted), wanted)


PARTS = st.lists(st.tuples(LABELS, RULES), min_size=1, max_size=3)
SUMS = st.lists(st.tuples(LABELS, st.lists(SELECTORS, min_size=1, max_size=2)), min_size=1, max_size=2)


@settings(max_examples=25)
@given(PARTS, SUMS, st.lists(WISHES | VISITS, min_size=3, max_size=8))
def test_a_sum_of_roles_grants_what_its_parts_do(parts: list[Any], sums: list[Any], asks: list[Wish | Visit]) -> None:
    asyncio.run(_sums(parts, sums, asks))


async def _sums(parts: list[Any], sums: list[Any], asks: list[Wish | Visit]) -> None:
    made = [role(f"part-{number}", "", rules) for number, (_, rules) in enumerate(parts)]
    for object_, (labels, _) in zip(made, parts, strict=True):
        object_["metadata"]["labels"] = labels | OURS
    chosen = [[_of_ours(one) for one in selectors] for _, selectors in sums]
    made += [sum_of(f"sum-{number}", labels | OURS, chosen[number]) for number, (labels, _) in enumerate(sums)]
    everybody = [{"kind": "User", "name": "ann", "apiGroup": GROUP}]
    made += [binding(f"b-{number}", "a", ("ClusterRole", f"sum-{number}"), everybody) for number in range(len(sums))]
    async with in_memory("roles") as cluster:
        await cluster.create("namespaces", "", {"metadata": {"name": "a"}})
        for object_ in reversed(made):  # the sums first: they follow their parts
            await put(cluster, object_)
        await cluster.settle()
        for asked in asks:
            assert await review(cluster, Who("ann"), asked) == reference_rbac.allows(made, Who("ann"), asked), asked


OURS = {"ours": "1"}


def _of_ours(selector: Object) -> Object:
    """None of the roles that every server has."""
    return {**selector, "matchLabels": {**selector.get("matchLabels", {}), "ours": "1"}}
