"""The roles and bindings that every server has, and what becomes of them when somebody has changed them.

`bootstrap_roles.txt` lists them. At its start a server adds what is missing: whole objects, and rules and subjects that existing
objects lack. What somebody has added to them stays. Who does not want that says so on the object, by the annotation
`rbac.authorization.kubernetes.io/autoupdate: "false"`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from probate.api.rbac import aggregation, escalation, policy_rules
from probate.api.rbac.grants import BINDINGS, CLUSTER_BINDINGS, CLUSTER_ROLES, GROUP, ROLES

AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"
_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_FILE = Path(__file__).with_name("bootstrap_roles.txt")
_KINDS = {ROLES: "Role", CLUSTER_ROLES: "ClusterRole", BINDINGS: "RoleBinding", CLUSTER_BINDINGS: "ClusterRoleBinding"}

Object = dict[str, Any]


class Seed(NamedTuple):
    """An object that has to be there, and of which resource."""

    resource: str
    object: Object


@cache
def seeds() -> tuple[Seed, ...]:
    """All of them, roles first. Shared: nobody may change them."""
    found: list[Seed] = []
    for line in _FILE.read_text().splitlines():
        word, _, rest = line.strip().partition(" ")
        if not line or word == "#":
            continue
        if line.startswith(" "):
            found[-1].object["rules"].append(_rule(line))
        elif word == "bind":
            found.append(_binding(rest))
        else:
            found.append(_sum(rest) if word == "sum" else _role(rest))
    _aggregate([one.object for one in found if one.resource == CLUSTER_ROLES])
    return tuple(found)


def _aggregate(roles: list[Object]) -> None:
    """Sums of sums are right when nothing changes any more."""
    while changed := [(one, new) for one in roles if aggregation.is_aggregated(one) and (new := _summed(one, roles))]:
        for role, new in changed:
            role["rules"] = new


def _summed(role: Object, roles: list[Object]) -> list[Any]:
    new = aggregation.rules_of(role, roles)
    return new if new != role["rules"] else []


def _rule(line: str) -> Object:
    verbs, _, about = (part.strip() for part in line.partition(" : "))
    groups, is_resource, rest = about.partition(" : ")
    if not is_resource:
        return {"verbs": verbs.split(), "nonResourceURLs": about.split()}
    resources, _, names = rest.partition(" = ")
    found = ["" if group == "core" else group for group in groups.split(",")]
    named = {"resourceNames": names.split()} if names else {}
    return {"verbs": verbs.split(), "apiGroups": found, "resources": resources.split(), **named}


def _role(text: str) -> Seed:
    where, *labels = text.split()
    resource = ROLES if "/" in where else CLUSTER_ROLES
    return _seed(resource, where, {"rules": []}, labels)


def _sum(text: str) -> Seed:
    where, _, rest = text.partition(" = ")
    chosen, *labels = rest.split()
    selector = {"matchLabels": {f"{GROUP}/{chosen}": "true"}}
    return _seed(CLUSTER_ROLES, where, {"aggregationRule": {"clusterRoleSelectors": [selector]}, "rules": []}, labels)


def _binding(text: str) -> Seed:
    about, _, listed = text.partition(" :")
    where, _, role = about.partition(" to ")
    _, slash, name = where.rpartition("/")
    reference = {"apiGroup": GROUP, "kind": "Role" if slash else "ClusterRole", "name": role or name}
    content: Object = {"roleRef": reference}
    if subjects := list(_subjects(listed)):
        content["subjects"] = subjects
    return _seed(BINDINGS if slash else CLUSTER_BINDINGS, where, content, [])


def _subjects(listed: str) -> Iterator[Object]:
    for one in listed.split():
        kind, equals, name = one.partition("=")
        if equals:
            yield {"apiGroup": GROUP, "kind": kind.capitalize(), "name": name}
        else:
            namespace, _, account = one.partition("/")
            yield {"kind": "ServiceAccount", "name": account, "namespace": namespace}


def _seed(resource: str, where: str, content: Object, labels: list[str]) -> Seed:
    namespace, _, name = where.rpartition("/")
    meta: Object = {"name": name, **({"namespace": namespace} if namespace else {})}
    meta["labels"] = {**_LABELS, **{f"{GROUP}/{label}": "true" for label in labels}}
    meta["annotations"] = {AUTO_UPDATE: "true"}
    return Seed(resource, {"apiVersion": f"{GROUP}/v1", "kind": _KINDS[resource], "metadata": meta, **content})


def is_left_alone(there: Object) -> bool:
    """Whether somebody wants the object to stay as it is."""
    return (there["metadata"].get("annotations") or {}).get(AUTO_UPDATE) == "false"


def mended(seed: Seed, there: Object) -> Object | None:
    """The object with what it lacks; None if it lacks nothing, or is to be left alone."""
    if is_left_alone(there):
        return None
    meta = there["metadata"]
    new = {**there, "metadata": {**meta, **_both("labels", seed.object, there), **_both("annotations", seed.object, there)}}
    if seed.resource in {BINDINGS, CLUSTER_BINDINGS}:
        known = there.get("subjects") or []
        more = [one for one in seed.object.get("subjects") or () if one not in known]
        new |= {"subjects": [*known, *more]} if more else {}
    elif "aggregationRule" not in seed.object:
        missing = escalation.uncovered(policy_rules.of_role(there), policy_rules.of_role(seed.object))
        new |= {"rules": [*(there.get("rules") or []), *map(policy_rules.to_object, missing)]} if missing else {}
    elif "aggregationRule" not in there:
        new["aggregationRule"] = seed.object["aggregationRule"]
    return None if new == there else new


def _both(field: str, seed: Object, there: Object) -> Object:
    """The seed's labels or annotations beside those that are there, which win."""
    found = {**seed["metadata"][field], **(there["metadata"].get(field) or {})}
    return {field: found}
