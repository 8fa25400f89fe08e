"""Runs recorded deletion scenarios and notes what a client sees.

A scenario is a list of steps on objects that have aliases: `create`, `delete`, `deletecollection`, `patch`, `get`, and `settle`,
which notes the remaining objects. `expect` was recorded from a real control plane, one note per step. Each of its requests took a
moment, so a moment passes here between any two: an object with an owner that does not exist is deleted a few requests later.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from support import sample_kinds
from support.in_process_server import Response
from support.virtual_time_server import MERGE_PATCH

DATA = Path(__file__).parents[1] / "data" / "conformance" / "scenarios.jsonl"
MOMENT = 0.0013
ABSENT_UID = "00000000-0000-4000-8000-000000000000"

Note = dict[str, Any]
Step = dict[str, Any]


def load() -> dict[str, Any]:
    """Returns all scenarios by name."""
    return {scenario["name"]: scenario for scenario in map(json.loads, DATA.read_text().splitlines())}


class NamedObject:
    """An object that a step created."""

    def __init__(self, short_name: str, namespace: str, name: str) -> None:
        self.short_name = short_name
        self.kind = sample_kinds.KINDS[short_name]
        self.namespace = namespace
        self.name = name
        self.uid = ""

    @property
    def path(self) -> str:
        return self.kind.path(self.namespace, self.name)


class Cluster(Protocol):
    """A server on a virtual clock, or a tenant of one."""

    async def request(
        self, method: str, path: str, body: Any = ..., *, query: Mapping[str, Any] | None = ..., media: str = ...
    ) -> Response: ...

    async def settle(self) -> None: ...

    async def pass_time(self, seconds: float) -> None: ...


class ScenarioRunner:
    """Runs one scenario on one cluster."""

    def __init__(self, server: Cluster, scenario: dict[str, Any]) -> None:
        self._server = server
        self._scenario = scenario
        self._objects: dict[str, NamedObject] = {}
        self._namespaces: set[str] = set()

    async def run(self) -> list[Note]:
        await sample_kinds.define(self._server)
        notes = []
        for step in self._scenario["steps"]:
            notes.append(await getattr(self, f"_{step['do']}")(step))
            await self._server.pass_time(MOMENT)
        return notes

    async def _create(self, step: Step) -> Note:
        new = NamedObject(step["kind"], await self._namespace(step), step.get("name") or step["as"])
        self._objects[step["as"]] = new
        meta = {"name": new.name, "labels": {"scenario": "x", **step.get("labels", {})}}
        if step.get("owners"):
            meta["ownerReferences"] = [self._reference(owner) for owner in step["owners"]]
        if step.get("finalizers"):
            meta["finalizers"] = step["finalizers"]
        body = sample_kinds.body(
            new.short_name,
            label=step["as"],
            replicas=step.get("replicas", 0),
            node=step.get("node", ""),
            grace=step.get("termination", 30),
        )
        query = {"dryRun": "All"} if step.get("dryRun") else {}
        answer = await self._server.request("POST", new.kind.path(new.namespace), {**body, "metadata": meta}, query=query)
        if answer.code == 201 and not query:
            new.uid = answer.json["metadata"]["uid"]
        return _note(answer)

    async def _delete(self, step: Step) -> Note:
        target = self._objects[step["of"]]
        return _note(await self._server.request("DELETE", target.path, self._options(step, target.uid), query=step.get("query")))

    async def _deletecollection(self, step: Step) -> Note:
        path = sample_kinds.KINDS[step["kind"]].path(await self._namespace(step))
        selector = ",".join(["scenario=x", *([step["selector"]] if step.get("selector") else [])])
        return _note(await self._server.request("DELETE", path, self._options(step, ""), query={"labelSelector": selector}))

    async def _patch(self, step: Step) -> Note:
        meta = dict(step["merge"].get("metadata", {}))
        if "owners" in step:
            meta["ownerReferences"] = [self._reference(one) for one in step["owners"]]
        change = {**step["merge"], "metadata": meta} if meta else step["merge"]
        return _note(await self._server.request("PATCH", self._objects[step["of"]].path, change, media=MERGE_PATCH))

    async def _get(self, step: Step) -> Note:
        return _note(await self._server.request("GET", self._objects[step["of"]].path))

    async def _settle(self, step: Step) -> Note:
        await self._server.settle()
        created = {alias: each for alias, each in self._objects.items() if each.uid}
        remaining = {alias: note for alias, each in created.items() if (note := await self._inspect(each)) is not None}
        counts = {f"#{request['kind']}": await self._count(request) for request in self._scenario.get("count", [])}
        return {"left": {**remaining, **counts}}

    async def _inspect(self, target: NamedObject) -> Note | None:
        """Notes the state of an object; None if it is deleted."""
        answer = await self._server.request("GET", target.path)
        if answer.code != 200 or answer.json["metadata"]["uid"] != target.uid:
            return None
        meta, aliases = answer.json["metadata"], {named.uid: alias for alias, named in self._objects.items() if named.uid}
        note: Note = {"deleting": True} if "deletionTimestamp" in meta else {}
        if meta.get("finalizers"):
            note["finalizers"] = sorted(meta["finalizers"])
        if meta.get("ownerReferences"):
            note["owners"] = [aliases.get(owner["uid"], "?") for owner in meta["ownerReferences"]]
        if target.short_name == "pod" and "deletionGracePeriodSeconds" in meta:
            note["grace"] = meta["deletionGracePeriodSeconds"]
        return note

    async def _count(self, request: Step) -> Note:
        """Counts the objects that controllers created."""
        path = sample_kinds.KINDS[request["kind"]].path(await self._namespace(request))
        named_uids = {named_object.uid for named_object in self._objects.values()}
        items = [item["metadata"] for item in (await self._server.request("GET", path)).json["items"]]
        created = [meta for meta in items if meta["uid"] not in named_uids]
        owned = sum("ownerReferences" in meta for meta in created)
        return {"count": len(created), "owned": owned, "deleting": sum("deletionTimestamp" in meta for meta in created)}

    async def _namespace(self, step: Step) -> str:
        if not sample_kinds.KINDS[step["kind"]].is_namespaced:
            return ""
        name = f"ns-{step.get('ns', 'a')}"
        if name not in self._namespaces:
            self._namespaces.add(name)
            assert (await self._server.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})).code == 201
        return name

    def _reference(self, owner: Step) -> Note:
        target = self._objects.get(owner["of"])
        kind = sample_kinds.KINDS["cm"] if target is None else target.kind
        reference = {
            "apiVersion": owner.get("apiVersion", kind.version),
            "kind": owner.get("kind", kind.kind),
            "name": owner.get("name", "nobody" if target is None else target.name),
            "uid": owner.get("uid", ABSENT_UID if target is None or not target.uid else target.uid),
        }
        flags = {"block": "blockOwnerDeletion", "controller": "controller"}
        reference |= {field: owner[flag] for flag, field in flags.items() if flag in owner}
        return {field: value for field, value in reference.items() if field not in owner.get("drop", ())}

    def _options(self, step: Step, uid: str) -> Note | None:
        fields = {"policy": "propagationPolicy", "orphanDependents": "orphanDependents", "grace": "gracePeriodSeconds"}
        options: Note = {field: step[name] for name, field in fields.items() if name in step}
        if step.get("dryRun"):
            options["dryRun"] = ["All"]
        preconditions = {"resourceVersion": step["ifVersion"]} if "ifVersion" in step else {}
        if "ifUid" in step:
            preconditions["uid"] = uid if step["ifUid"] == "own" else step["ifUid"]
        if preconditions:
            options["preconditions"] = preconditions
        if not options and not step.get("emptyBody"):
            return None
        return {"apiVersion": "v1", "kind": "DeleteOptions", **options}


def _note(answer: Response) -> Note:
    if answer.code >= 400:
        return {"code": answer.code, "reason": answer.json.get("reason", "")}
    return {"code": answer.code, **({"status": answer.json["status"]} if answer.json.get("kind") == "Status" else {})}
