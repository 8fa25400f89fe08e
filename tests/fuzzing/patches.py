"""Changes of every kind: JSON patches, merge patches, strategic merge patches with their directives, and documents to apply."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzzing import values

JSON, MERGE = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
DIRECTIVES: tuple[Any, ...] = ("replace", "merge", "delete", "retainKeys", "nonsense", 1, None, {})
OPERATIONS = ("add", "remove", "replace", "move", "copy", "test") * 4 + ("increment", "", None)
ODD_STEPS = ("-", "0", "-1", "01", "1", "999999999999999999999", "~2", "", "a", "$patch")


def pointer(chance: Random, found: Any) -> str:
    """Where something is in the document, or is not."""
    parts: list[str] = []
    while isinstance(found, dict | list) and found and chance.random() < 0.85:
        within = [one for one in found if isinstance(found[one], dict | list)] if isinstance(found, dict) else []
        step: Any = chance.choice(within or list(found)) if isinstance(found, dict) else chance.randrange(len(found))
        if chance.random() < 0.1:
            step = chance.choice(ODD_STEPS)
        parts.append(str(step).replace("~", "~0").replace("/", "~1"))
        found = found.get(step) if isinstance(found, dict) else found[step] if isinstance(step, int) else None
    if chance.random() < 0.3:
        parts.append(chance.choice(ODD_STEPS))
    return chance.choice(("/",) * 10 + ("", "//")) + "/".join(parts)


def json_patch(chance: Random, found: Any) -> Any:
    """A list of operations; some of them grow what they find."""

    def operation() -> Any:
        made = {"op": chance.choice(OPERATIONS), "path": pointer(chance, found), "from": pointer(chance, found)}
        return {**made, "value": values.odd(chance)} if chance.random() < 0.9 else values.odd(chance)

    if chance.random() < 0.1:
        double = {"op": "copy", "from": chance.choice(("", "/metadata", "/data")), "path": "/data/x"}
        return [double] * chance.choice((10, 40, 200))
    return [operation() for _ in range(chance.choice((0, 1, 1, 1, 2, 4)))] if chance.random() < 0.95 else values.odd(chance)


def merge_patch(chance: Random, found: Any) -> Any:
    return values.spoiled(chance, _part(chance, found), chance.randrange(4))


def strategic_patch(chance: Random, found: Any) -> Any:
    """A part of the document with directives strewn in."""
    return _directed(chance, values.spoiled(chance, _part(chance, found), chance.randrange(3)))


def document(chance: Random, found: Any) -> Any:
    """A document to apply: some of what is there, some of it spoiled."""
    made = values.spoiled(chance, _part(chance, found), chance.randrange(3))
    header = {name: found[name] for name in ("apiVersion", "kind") if name in found and chance.random() < 0.95}
    return {**made, **header} if isinstance(made, dict) else made


def _part(chance: Random, found: Any) -> Any:
    if not isinstance(found, dict):
        return found
    kept = {name: one for name, one in found.items() if chance.random() < 0.7}
    meta = {"name": found.get("metadata", {}).get("name", "a")}
    if chance.random() < 0.3:
        meta |= chance.choice(({"labels": {"a": "b"}}, {"finalizers": ["example.com/a"]}, {"uid": "x"}, {"resourceVersion": "1"}))
    if chance.random() < 0.1:
        meta["managedFields"] = chance.choice(([], [{}], None, values.odd(chance)))
    return {**kept, "metadata": meta}


def _directed(chance: Random, found: Any) -> Any:
    if isinstance(found, list):
        items = [_directed(chance, one) for one in found]
        return [*items, {"$patch": chance.choice(DIRECTIVES)}] if chance.random() < 0.2 else items
    if not isinstance(found, dict):
        return found
    made: dict[str, Any] = {name: _directed(chance, one) for name, one in found.items()}
    if (roll := chance.random()) < 0.1:
        made["$patch"] = chance.choice(DIRECTIVES)
    elif roll < 0.2:
        made["$retainKeys"] = chance.choice((list(made), [1], "a", None))
    elif roll < 0.3 and found:
        name = chance.choice(list(found))
        made[f"$setElementOrder/{name}"] = chance.choice((found[name], [{"name": "a"}], ["a"], 1))
        made[f"$deleteFromPrimitiveList/{name}"] = chance.choice((["a"], found[name], {}))
    return made


KINDS = {JSON: json_patch, MERGE: merge_patch, STRATEGIC: strategic_patch, APPLY: document}
