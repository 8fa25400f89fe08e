"""Definitions of custom kinds with schemas of all sorts, with rules in CEL, and objects for them."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzzing import values

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null", "", 1, None)
FORMATS = ("int32", "int64", "date-time", "date", "byte", "ipv4", "uuid", "duration", "nonsense", "password", "float", 1)
PATTERNS = ("^a*$", "(a+)+$", "[", "\\p{L}", "(?=a)", "a{1,1000}", "(" * 50 + ")" * 50, "\\", "^(a|aa)+$", "a{1000}{1000}", "")
RULES = (
    *("self == oldSelf", "self.a > 0", "true", "false", "1/0 == 1", "self", "", "(", "self.a.b.c == 'x'", "has(self.a)"),
    *("self.all(x, self.all(y, self.all(z, x != y)))", "self.a.map(x, x + x).size() > 3", "self.matches('(a+)+$')", "'a' * 3"),
    *("quantity(self.a).isGreaterThan(quantity('1Gi'))", "url(self.a).getHost() == 'x'", "ip(self.a).family() == 4", "isIP('x')"),
    *(
        "self.a.split(',').size() < 3",
        "cidr('10.0.0.0/8').containsIP('10.0.0.1')",
        "size(self.a) >= 0",
        "optional.of(1).value() == 1",
    ),
    *(
        "duration('1h') > duration('1s')",
        "timestamp(self.a) < timestamp('2026-01-01T00:00:00Z')",
        "dyn(self) == 1",
        "[1,2].exists_one(i, i == 1)",
    ),
    *("self.a in ['x', 'y']", "type(self.a) == string", "{'a': 1}['b'] == 1", "9223372036854775807 + 1 > 0", "b'\\xff' == b'a'"),
    *(
        "variables.x",
        "self.__class__",
        "self." + "a." * 200 + "b",
        "(" * 500 + "1" + ")" * 500,
        "self.a.replace('a', 'aaaa').size() > 1",
    ),
    *(
        "cel.bind(x, self, x == x)",
        "format.named('dns1123Label').hasValue()",
        "self.a.find('[0-9]+') == ''",
        "sets.contains([1], [2])",
    ),
)
EXTENSIONS = {
    "x-kubernetes-preserve-unknown-fields": (True, False, 1),
    "x-kubernetes-int-or-string": (True, False),
    "x-kubernetes-embedded-resource": (True,),
    "x-kubernetes-list-type": ("map", "set", "atomic", "nonsense"),
    "x-kubernetes-list-map-keys": (["a"], [], ["a", "a"], ["zzz"], "a"),
    "x-kubernetes-map-type": ("granular", "atomic", 1),
    "nullable": (True, False),
    "uniqueItems": (True, False),
    "$ref": ("#/definitions/a",),
    "minimum": values.NUMBERS,
    "maximum": values.NUMBERS,
    "multipleOf": (0, 0.1, -1, 3, 1e-300),
    "minLength": (-1, 0, 5, 2**63),
    "maxLength": (-1, 0, 5, 2**63),
    "maxItems": (-1, 0, 5, 2**63),
    "minProperties": (-1, 0, 5),
    "maxProperties": (0, 3, 10**9),
    "exclusiveMinimum": (True, 3),
    "format": FORMATS,
    "pattern": PATTERNS,
    "description": ("x", 1),
}


def schema(chance: Random, wild: float, depth: int = 4) -> Any:
    """A schema. The wilder, the less likely it is that it is in order."""
    if chance.random() < wild / 5:
        return values.odd(chance)
    made: dict[str, Any] = {"type": chance.choice(TYPES if chance.random() < wild / 5 else TYPES[: 6 if depth else 2])}
    made |= _inside(chance, made["type"], wild, depth=depth)
    if chance.random() < wild:
        name = chance.choice(list(EXTENSIONS))
        made[name] = chance.choice(EXTENSIONS[name])
    if depth and chance.random() < wild / 2:
        inner = [schema(chance, wild, depth - 1) for _ in range(chance.choice((0, 1, 2, 8)))]
        made[chance.choice(("anyOf", "oneOf", "allOf"))] = [_untyped(one) for one in inner]
    if chance.random() < wild / 2:
        made[chance.choice(("default", "example", "enum"))] = values.value(chance)
    if chance.random() < 0.15:
        made["x-kubernetes-validations"] = [rule(chance) for _ in range(chance.choice((1, 1, 2, 20)))]
    return made


def _inside(chance: Random, kind: Any, wild: float, *, depth: int) -> dict[str, Any]:
    """What objects and arrays are made of; beyond a depth it does not matter."""
    if not depth:
        return {"x-kubernetes-preserve-unknown-fields": True} if kind == "object" else {"items": {"type": "string"}}
    if kind == "array":
        return {"items": schema(chance, wild, depth - 1), "maxItems": chance.choice((3, 100, 10_000))}
    if kind == "string" and chance.random() < 0.3:
        return {"maxLength": chance.choice((5, 1000)), "pattern": chance.choice(("^a*$", "(a+)+$", "a{1,1000}"))}
    if kind != "object":
        return {}
    if chance.random() < 0.2:
        return {"additionalProperties": schema(chance, wild, depth - 1)}
    names = ("a", "b", "c", "d.e", "") if chance.random() < wild else ("a", "b", "c")
    inner = {name: schema(chance, wild, depth - 1) for name in chance.sample(names, chance.randrange(1, 4))}
    required = chance.choice((list(inner), ["a", "a"], [1], "a")) if chance.random() < wild else []
    return {"properties": inner, "required": required} if required else {"properties": inner}


def _untyped(found: Any) -> Any:
    return {name: one for name, one in found.items() if name != "type"} if isinstance(found, dict) else found


def rule(chance: Random) -> Any:
    """A rule in CEL: one of a few, two of them joined, or one that is cut off."""
    text = chance.choice(RULES)
    if (roll := chance.random()) < 0.2:
        text = f"({text}) {chance.choice(('&&', '||', '==', '+', '?'))} ({chance.choice(RULES)})"
    elif roll < 0.35:
        text = text[: chance.randrange(len(text) + 1)]
    made: dict[str, Any] = {"rule": text}
    extra = {
        "message": chance.choice(("no", "", "a\nb", "x" * 3000)),
        "messageExpression": chance.choice(("'no ' + string(self)", "self", "1", "'a'.repeat(3)", "(")),
        "reason": chance.choice(("FieldValueInvalid", "Nonsense")),
        "fieldPath": chance.choice((".a", ".b.c", "a", ".a[0]", ".", "")),
        "optionalOldSelf": chance.choice((True, False, 1)),
    }
    return made | {name: extra[name] for name in chance.sample(list(extra), chance.choice((0, 0, 1, 2)))}


def definition(chance: Random, plural: str) -> Any:
    """A definition whose frame is in order, so that its schema is looked at."""
    wild = chance.choice((0.0, 0.02, 0.02, 0.2))
    inner = {"spec": schema(chance, wild), "status": schema(chance, wild, 2)}
    root: Any = {
        "type": "object",
        "properties": {**inner, "metadata": schema(chance, wild, 1)} if chance.random() < wild else inner,
    }
    if chance.random() < wild:
        root = schema(chance, wild)
    version: dict[str, Any] = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}
    if chance.random() < 0.4:
        version["subresources"] = chance.choice(
            ({"status": {}}, {"status": {}, "scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a"}})
        )
    if chance.random() < 2 * wild:
        paths = (".spec.a", ".metadata.name", "a", ".spec.a[0]", ".spec.a[?(@.b=='c')]", "{.x}", ".", "")
        version["additionalPrinterColumns"] = [{"name": "A", "type": "string", "jsonPath": chance.choice(paths)}]
    if chance.random() < 2 * wild:
        version["selectableFields"] = [{"jsonPath": chance.choice((".spec.a", ".spec", "a", ".metadata.name"))}]
    spec = {
        "group": "fuzz.example.com",
        "scope": "Namespaced",
        "names": {"plural": plural, "kind": plural.title()},
        "versions": [version],
    }
    made = {"metadata": {"name": f"{plural}.fuzz.example.com"}, "spec": spec}
    return values.spoiled(chance, made) if chance.random() < wild else made


def instance(chance: Random, plural: str) -> dict[str, Any]:
    """An object of such a kind: whatever it may be like."""
    parts = {name: _like(chance) for name in ("a", "b", "c") if chance.random() < 0.6}
    header = {"apiVersion": "fuzz.example.com/v1", "kind": plural.title(), "metadata": {"name": "one"}}
    return {**header, "spec": parts if chance.random() < 0.8 else _like(chance), "status": {"a": _like(chance)}}


def _like(chance: Random) -> Any:
    return values.wide(chance) if chance.random() < 0.05 else values.value(chance, 3)
