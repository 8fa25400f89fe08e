"""Plays recorded deletion scenarios and notes what a client sees of them.

A scenario is a list of steps on objects that go by aliases: `create`, `delete`, `deletecollection`, `patch`, `get`, and `settle`,
after which what is left counts. `expect` was recorded from a real control plane, one note for each step. Its requests took a moment
each, so a moment passes here between any two: what is created with an owner that does not exist is gone some requests later.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support import sample_kinds
from support.in_process_server import Told
from support.virtual_time_server import MERGE_PATCH, Cluster

DATA = Path(__file__).parents[1] / "data" / "conformance" / "scenarios.jsonl"
MOMENT = 0.0013
NOBODY = "00000000-0000-4000-8000-000000000000"

Note = dict[str, Any]
Step = dict[str, Any]


def load() -> dict[str, Any]:
    """All scenarios by name."""
    return {one["name"]: one for one in map(json.loads, DATA.read_text().splitlines())}


class Known:
    """An object that a step has named."""

    def __init__(self, short: str, namespace: str, name: str) -> None:
        self.short = short
        self.kind = sample_kinds.KINDS[short]
        self.namespace = namespace
        self.name = name
        self.uid = ""

    @property
    def path(self) -> str:
        return self.kind.path(self.namespace, self.name)


class Player:
    """One scenario on one cluster."""

    def __init__(self, server: Cluster, scenario: dict[str, Any]) -> None:
        self._server = server
        self._scenario = scenario
        self._known: dict[str, Known] = {}
        self._namespaces: set[str] = set()

    async def play(self) -> list[Note]:
        await sample_kinds.define(self._server)
        notes = []
        for step in self._scenario["steps"]:
            notes.append(await getattr(self, f"_{step['do']}")(step))
            await self._server.pass_time(MOMENT)
        return notes

    async def _create(self, step: Step) -> Note:
        new = Known(step["kind"], await self._namespace(step), step.get("name") or step["as"])
        self._known[step["as"]] = new
        meta = {"name": new.name, "labels": {"scenario": "x", **step.get("labels", {})}}
        if step.get("owners"):
            meta["ownerReferences"] = [self._reference(one) for one in step["owners"]]
        if step.get("finalizers"):
            meta["finalizers"] = step["finalizers"]
        body = sample_kinds.body(
            new.short,
            label=step["as"],
            replicas=step.get("replicas", 0),
            node=step.get("node", ""),
            grace=step.get("termination", 30),
        )
        query = {"dryRun": "All"} if step.get("dryRun") else {}
        answer = await self._server.ask("POST", new.kind.path(new.namespace), {**body, "metadata": meta}, query=query)
        if answer.code == 201 and not query:
            new.uid = answer.json["metadata"]["uid"]
        return _note(answer)

    async def _delete(self, step: Step) -> Note:
        of = self._known[step["of"]]
        return _note(await self._server.ask("DELETE", of.path, self._options(step, of.uid), query=step.get("query")))

    async def _deletecollection(self, step: Step) -> Note:
        path = sample_kinds.KINDS[step["kind"]].path(await self._namespace(step))
        selector = ",".join(["scenario=x", *([step["selector"]] if step.get("selector") else [])])
        return _note(await self._server.ask("DELETE", path, self._options(step, ""), query={"labelSelector": selector}))

    async def _patch(self, step: Step) -> Note:
        meta = dict(step["merge"].get("metadata", {}))
        if "owners" in step:
            meta["ownerReferences"] = [self._reference(one) for one in step["owners"]]
        change = {**step["merge"], "metadata": meta} if meta else step["merge"]
        return _note(await self._server.ask("PATCH", self._known[step["of"]].path, change, media=MERGE_PATCH))

    async def _get(self, step: Step) -> Note:
        return _note(await self._server.ask("GET", self._known[step["of"]].path))

    async def _settle(self, step: Step) -> Note:
        await self._server.settle()
        left = {alias: seen for alias, one in self._known.items() if one.uid and (seen := await self._look(one)) is not None}
        return {"left": {**left, **{f"#{ask['kind']}": await self._count(ask) for ask in self._scenario.get("count", [])}}}

    async def _look(self, one: Known) -> Note | None:
        """What counts of an object; None if it is gone."""
        answer = await self._server.ask("GET", one.path)
        if answer.code != 200 or answer.json["metadata"]["uid"] != one.uid:
            return None
        meta, aliases = answer.json["metadata"], {known.uid: alias for alias, known in self._known.items() if known.uid}
        seen: Note = {"deleting": True} if "deletionTimestamp" in meta else {}
        if meta.get("finalizers"):
            seen["finalizers"] = sorted(meta["finalizers"])
        if meta.get("ownerReferences"):
            seen["owners"] = [aliases.get(owner["uid"], "?") for owner in meta["ownerReferences"]]
        if one.short == "pod" and "deletionGracePeriodSeconds" in meta:
            seen["grace"] = meta["deletionGracePeriodSeconds"]
        return seen

    async def _count(self, ask: Step) -> Note:
        """How many objects controllers made."""
        path = sample_kinds.KINDS[ask["kind"]].path(await self._namespace(ask))
        named = {one.uid for one in self._known.values()}
        items = [item["metadata"] for item in (await self._server.ask("GET", path)).json["items"]]
        made = [meta for meta in items if meta["uid"] not in named]
        owned = sum("ownerReferences" in meta for meta in made)
        return {"count": len(made), "owned": owned, "deleting": sum("deletionTimestamp" in meta for meta in made)}

    async def _namespace(self, step: Step) -> str:
        if not sample_kinds.KINDS[step["kind"]].is_namespaced:
            return ""
        name = f"ns-{step.get('ns', 'a')}"
        if name not in self._namespaces:
            self._namespaces.add(name)
            assert (await self._server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})).code == 201
        return name

    def _reference(self, given: Step) -> Note:
        of = self._known.get(given["of"])
        kind = sample_kinds.KINDS["cm"] if of is None else of.kind
        reference = {
            "apiVersion": given.get("apiVersion", kind.version),
            "kind": given.get("kind", kind.kind),
            "name": given.get("name", "nobody" if of is None else of.name),
            "uid": given.get("uid", NOBODY if of is None or not of.uid else of.uid),
        }
        flags = {"block": "blockOwnerDeletion", "controller": "controller"}
        reference |= {field: given[flag] for flag, field in flags.items() if flag in given}
        return {field: value for field, value in reference.items() if field not in given.get("drop", ())}

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


def _note(answer: Told) -> Note:
    if answer.code >= 400:
        return {"code": answer.code, "reason": answer.json.get("reason", "")}
    return {"code": answer.code, **({"status": answer.json["status"]} if answer.json.get("kind") == "Status" else {})}
