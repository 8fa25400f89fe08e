"""Write what is known of Kubernetes' built-in kinds into the package, from two packages that exist while it is built.

`kubernetes-validate` has the OpenAPI definitions, rewritten as JSON Schemas: the rewriting is undone here. `lightkube-models` has
each resource's plural name, scope, verbs and subresources. What comes of them is one compressed file, which is no part of the
sources and is made again when it is older than this script or of another version. `probate.kinds.builtin.catalog` reads it.
"""

from __future__ import annotations

import gzip
import importlib
import importlib.metadata
import importlib.util
import json
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TARGET = Path("src/probate/kinds/builtin/kubernetes.json.gz")
NOTICE = (
    "Derived from the OpenAPI definitions of Kubernetes (Copyright The Kubernetes Authors, Apache-2.0) as packaged in "
    "kubernetes-validate (Apache-2.0), and from the resource list of lightkube-models (MIT)."
)

STABLE = re.compile(r"v\d+")  # kube-apiserver serves alphas and betas only when told to
VERBS = {"post": "create", "put": "update", "global_list": "list", "global_watch": "watch"}
MACHINERY = ("io.k8s.apimachinery.pkg.apis.meta.v1.", "io.k8s.apimachinery.pkg.version.")
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
LOST = {
    INT_OR_STRING: {"description": "An integer, or a text such as a percentage.", "type": "string", "format": "int-or-string"},
    QUANTITY: {"description": "A number with a unit, such as 100m, 1.5 or 2Gi.", "type": "string"},
}


class KubernetesHook(BuildHookInterface):  # type: ignore[type-arg]
    """Makes the file before a wheel is built, also for an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file unless it is there and fresh."""
        target = Path(self.root, TARGET)
        release = importlib.metadata.version("kubernetes-validate")
        if not is_fresh(target, release):
            resources = list(all_resources())
            definitions = reachable(restored_definitions(release), resources)
            content = {"notice": NOTICE, "version": release, "resources": resources, "definitions": definitions}
            write(target, json.dumps(content, separators=(",", ":")).encode())


def is_fresh(target: Path, release: str) -> bool:
    """Whether the file is newer than this script and of this release."""
    if not target.exists() or target.stat().st_mtime < Path(__file__).stat().st_mtime:
        return False
    try:
        return bool(json.loads(gzip.decompress(target.read_bytes()))["version"] == release)
    except (OSError, EOFError, ValueError, KeyError):
        return False


def write(target: Path, content: bytes) -> None:
    """Put the file there at once, the same bytes for the same content."""
    unfinished = target.with_suffix(".unfinished")
    unfinished.write_bytes(gzip.compress(content, mtime=0))
    unfinished.replace(target)


# Definitions: from JSON Schemas back to what Kubernetes publishes.


def restored_definitions(release: str) -> dict[str, Any]:
    """All definitions of the release, as OpenAPI v2 has them."""
    package = importlib.util.find_spec("kubernetes_validate")
    if package is None or not package.submodule_search_locations:
        raise RuntimeError("kubernetes-validate has no folder: install it from a wheel")
    folder = Path(package.submodule_search_locations[0], "kubernetes-json-schema", f"v{release}-local")
    written = json.loads((folder / "_definitions.json").read_bytes())["$defs"]
    return {name: LOST.get(name) or without_enums(restored(written[name])) for name in sorted(written)}


def restored(node: dict[str, Any]) -> dict[str, Any]:
    """The schema node without its nulls, and with references that OpenAPI understands."""
    made = dict(node)
    if isinstance(node.get("type"), list):
        made["type"] = next(one for one in node["type"] if one != "null")
    if "$ref" in node:
        made["$ref"] = node["$ref"].replace("#/$defs/", "#/definitions/")
    if "properties" in node:  # whose keys are names: JSONSchemaProps has a property "$ref"
        made["properties"] = {name: restored(inner) for name, inner in node["properties"].items()}
    made |= {key: restored(node[key]) for key in ("items", "additionalProperties") if key in node}
    return made


def without_enums(definition: dict[str, Any]) -> dict[str, Any]:
    """The definition of a kind, without the values of apiVersion and kind that were put in."""
    if "x-kubernetes-group-version-kind" in definition:
        for name in ("apiVersion", "kind"):
            definition["properties"].get(name, {}).pop("enum", None)
    return definition


def reachable(definitions: dict[str, Any], resources: list[dict[str, Any]]) -> dict[str, Any]:
    """The definitions that some resource, its list, its subresources, or the API's own machinery needs."""
    rows = resources + [{**row, **one} for row in resources for one in row["subresources"] if one["version"]]
    served = {(row["group"], row["version"], kind) for row in rows for kind in (row["kind"], f"{row['kind']}List")}
    wanted = [name for name, one in definitions.items() if name.startswith(MACHINERY) or not served.isdisjoint(kinds(one))]
    found: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            wanted += references(definitions[name])
    return {name: one for name, one in definitions.items() if name in found}


def kinds(definition: dict[str, Any]) -> set[tuple[str, str, str]]:
    """The groups, versions and kinds that a definition is for."""
    given = definition.get("x-kubernetes-group-version-kind", ())
    return {(one["group"], one["version"], one["kind"]) for one in given}


def references(node: dict[str, Any]) -> Iterator[str]:
    """The names of the definitions that a node refers to."""
    if "$ref" in node:
        yield node["$ref"].removeprefix("#/definitions/")
    for inner in (*node.get("properties", {}).values(), *(node[key] for key in ("items", "additionalProperties") if key in node)):
        yield from references(inner)


# Resources: what is served, and how.


def all_resources() -> Iterator[dict[str, Any]]:
    """A row for each stable resource, with its subresources in it."""
    described = list(described_classes())
    for info, is_namespaced in described:
        group, version, kind = info.resource
        if info.parent is None and STABLE.fullmatch(version):
            parts = [one for one, _ in described if one.parent == info.resource and one.plural == info.plural]
            yield {
                "group": group,
                "version": version,
                "plural": info.plural,
                "kind": kind,
                "namespaced": is_namespaced,
                "verbs": verbs(info),
                "subresources": [subresource(one) for one in sorted(parts, key=lambda one: one.action)],
            }


def described_classes() -> Iterator[tuple[Any, bool]]:
    """What each resource class of lightkube says of itself, and whether its objects are in namespaces."""
    package = importlib.import_module("lightkube.resources")
    bases = importlib.import_module("lightkube.core.resource")
    in_namespaces = (bases.NamespacedResource, bases.NamespacedSubResource)
    for module in pkgutil.iter_modules(package.__path__):
        for one in vars(importlib.import_module(f"lightkube.resources.{module.name}")).values():
            if isinstance(one, type) and "_api_info" in vars(one):
                yield one._api_info, issubclass(one, in_namespaces)  # noqa: SLF001  lightkube's api_info() wants the same


def subresource(info: Any) -> dict[str, Any]:
    """A row for a subresource. Its group and version are given only where they are not the parent's."""
    is_foreign = info.resource[:2] != info.parent[:2]
    group, version = info.resource[:2] if is_foreign else ("", "")
    return {"name": info.action, "kind": info.resource.kind, "group": group, "version": version, "verbs": verbs(info)}


def verbs(info: Any) -> list[str]:
    """Kubernetes' verbs for lightkube's methods."""
    return sorted({VERBS.get(verb, verb) for verb in info.verbs})
