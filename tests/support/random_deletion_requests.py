"""Random requests about owners and dependents: how they are generated, sent, and what they do in the model.

A plan names objects by numbers, so that it is valid for any objects. It becomes a `Request` once the objects are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from hypothesis import strategies as st

from support import deletion_model as model
from support import sample_kinds
from support.deletion_model import ModelObject, Objects, Ref
from support.in_process_server import Response
from support.virtual_time_server import MERGE_PATCH, VirtualTimeServer

SHORTS = ("cm", "widget", "plot", "pod", "rc", "event")
NAMESPACES = ("default", "kube-public")
WRONG: dict[str, dict[str, Any]] = {
    "name": {"name": "nobody"},
    "kind": {"kind": "Secret", "version": "v1"},
    "unknown": {"kind": "Ghost", "version": "ghost.example.com/v1"},
}
OPTIONS: tuple[tuple[dict[str, Any], str | None], ...] = (
    ({}, None),
    ({"propagationPolicy": "Foreground"}, "Foreground"),
    ({"propagationPolicy": "Foreground"}, "Foreground"),
    ({"propagationPolicy": "Foreground"}, "Foreground"),
    ({"propagationPolicy": "Background"}, "Background"),
    ({"propagationPolicy": "Orphan"}, "Orphan"),
    ({"orphanDependents": False}, "Background"),
    ({"deleteAfterDependentsDeleted": True}, "Foreground"),
    ({"garbageCollectionPolicy": "Orphan"}, "Orphan"),
)
PAUSES = {"a moment": 0.01, "a while": 6.0}
"""The first is enough for a new object to be checked, the second for the collector to save its position."""

FEW_TURNS, MANY_TURNS = 20, 300
"""Turns of the event loop in which an owner is marked, its dependents are collected, and it is released: few where nothing takes
time, many where a disk does."""

Known = Sequence[ModelObject]
"""The objects that a plan can name: all that exist, those with most dependents first, and some that were removed recently."""


class Request(Protocol):
    """A request. `apply` returns the objects after it; None if the model does not allow this response."""

    async def send(self, server: VirtualTimeServer) -> Response: ...

    def apply(self, objects: Objects, answer: Response) -> Objects | None: ...


class RequestPlan(Protocol):
    def request(self, known: Known) -> Request: ...


# --- references -------------------------------------------------------------------------------------------------------------


class RefPlan(NamedTuple):
    target: int
    blocks: bool
    wrong: str = ""

    def ref(self, known: Known) -> Ref:
        target_object = known[self.target % len(known)]
        kind = sample_kinds.KINDS[target_object.short]
        right = Ref(kind.version, kind.kind, target_object.name, target_object.uid, self.blocks)
        return right._replace(**WRONG[self.wrong]) if self.wrong else right


def references(refs: Sequence[Ref]) -> list[dict[str, Any]]:
    return [
        {"apiVersion": ref.version, "kind": ref.kind, "name": ref.name, "uid": ref.uid, "blockOwnerDeletion": ref.blocks}
        for ref in refs
    ]


def valid_references(plans: Sequence[RefPlan], known: Known) -> tuple[Ref, ...]:
    """Returns the references that the API accepts: none to Events, and no duplicates."""
    refs = (plan.ref(known) for plan in plans) if known else ()
    return tuple(dict.fromkeys(ref for ref in refs if ref.kind != "Event"))


# --- requests ---------------------------------------------------------------------------------------------------------------


class Create(NamedTuple):
    object_: ModelObject

    async def send(self, server: VirtualTimeServer) -> Response:
        new = self.object_
        meta = {"name": new.name, "ownerReferences": references(new.refs), "finalizers": list(new.finalizers)}
        body = sample_kinds.body(new.short, node="node" if new.on_node else "")
        if new.short == "event":
            body = {"involvedObject": {"namespace": new.namespace}}
        return await server.request("POST", sample_kinds.KINDS[new.short].path(new.namespace), {**body, "metadata": meta})

    def apply(self, objects: Objects, answer: Response) -> Objects | None:
        if model.contradict(self.object_.finalizers):
            return objects if answer.code == 422 else None
        if model.find(objects, self.object_.location) is not None:
            return objects if answer.code == 409 else None
        return model.create(objects, self.made(answer)) if answer.code == 201 else None

    def made(self, answer: Response) -> ModelObject:
        return self.object_._replace(uid=answer.json["metadata"]["uid"])


class Delete(NamedTuple):
    location: tuple[str, str, str]
    options: dict[str, Any]
    policy: str | None
    grace: int | None = None

    async def send(self, server: VirtualTimeServer) -> Response:
        grace = {} if self.grace is None else {"gracePeriodSeconds": self.grace}
        return await server.request("DELETE", path(self.location), {**self.options, **grace})

    def apply(self, objects: Objects, answer: Response) -> Objects | None:
        object_ = model.find(objects, self.location)
        if object_ is None:
            return objects if answer.code == 404 else None
        after = model.delete(objects, object_, self.policy, grace=self.grace)
        stays = object_.uid in after and not after[object_.uid].is_removable
        expected = 202 if stays and self.options.get("orphanDependents") is False else 200
        return after if answer.code == expected else None


class DeleteOfCollection(NamedTuple):
    """One object of a deletecollection, which has no response of its own."""

    location: tuple[str, str, str]
    policy: str | None

    async def send(self, server: VirtualTimeServer) -> Response:
        raise NotImplementedError

    def apply(self, objects: Objects, answer: Response) -> Objects | None:
        object_ = model.find(objects, self.location)
        return objects if object_ is None else model.delete(objects, object_, self.policy)


class DeleteCollection(NamedTuple):
    short: str
    namespace: str
    options: dict[str, Any]
    policy: str | None

    async def send(self, server: VirtualTimeServer) -> Response:
        return await server.request("DELETE", sample_kinds.KINDS[self.short].path(self.namespace), self.options)

    def apply(self, objects: Objects, answer: Response) -> Objects | None:
        return objects if answer.code == 200 else None

    def parts(self, answer: Response) -> list[DeleteOfCollection]:
        """Returns the single deletes that it consists of, according to the response."""
        found = [one["metadata"] for one in answer.json["items"]]
        return [DeleteOfCollection((self.short, one.get("namespace", ""), one["name"]), self.policy) for one in found]


class ChangeFinalizers(NamedTuple):
    location: tuple[str, str, str]
    finalizers: tuple[str, ...]

    async def send(self, server: VirtualTimeServer) -> Response:
        change = {"metadata": {"finalizers": list(self.finalizers) or None}}
        return await server.request("PATCH", path(self.location), change, media=MERGE_PATCH)

    def apply(self, objects: Objects, answer: Response) -> Objects | None:
        object_ = model.find(objects, self.location)
        if object_ is None:
            return objects if answer.code == 404 else None
        after = model.update_finalizers(objects, object_, self.finalizers)
        if after is None:
            return objects if answer.code == 422 else None
        return after if answer.code == 200 else None


class ChangeOwners(NamedTuple):
    location: tuple[str, str, str]
    refs: tuple[Ref, ...]

    async def send(self, server: VirtualTimeServer) -> Response:
        change = {"metadata": {"ownerReferences": references(self.refs) or None}}
        return await server.request("PATCH", path(self.location), change, media=MERGE_PATCH)

    def apply(self, objects: Objects, answer: Response) -> Objects | None:
        object_ = model.find(objects, self.location)
        if object_ is None:
            return objects if answer.code == 404 else None
        return model.update_owners(objects, object_, self.refs) if answer.code == 200 else None


class Edit(NamedTuple):
    """Changes a label by a read and an update, which may conflict."""

    location: tuple[str, str, str]
    label: str

    async def send(self, server: VirtualTimeServer) -> Response:
        found = await server.request("GET", path(self.location))
        if found.code != 200:
            return found
        object_ = found.json
        object_["metadata"]["labels"] = {"edited": self.label}
        return await server.request("PUT", path(self.location), object_)

    def apply(self, objects: Objects, answer: Response) -> Objects | None:
        object_ = model.find(objects, self.location)
        if object_ is None or answer.code == 409:
            return objects if answer.code in {404, 409} else None
        return model.update(objects, object_) if answer.code == 200 else None


class Pause(NamedTuple):
    """No request: lets time pass, or replaces the collector by a new one."""

    what: str

    async def send(self, server: VirtualTimeServer) -> Response:
        if self.what == "restart":
            await server.restart_collector()
        else:
            await server.clock.advance(PAUSES[self.what])
        return Response(200, {}, b"")

    def apply(self, objects: Objects, answer: Response) -> Objects | None:
        return objects

    def request(self, known: Known) -> Request:
        return self


def path(location: tuple[str, str, str]) -> str:
    short, namespace, name = location
    return sample_kinds.KINDS[short].path(namespace, name)


# --- strategies -----------------------------------------------------------------------------------------------------


class CreatePlan(NamedTuple):
    short: str
    namespace: int
    name: str
    refs: list[RefPlan]
    finalizers: tuple[str, ...]
    on_node: bool

    def request(self, known: Known) -> Request:
        namespace = NAMESPACES[self.namespace] if sample_kinds.KINDS[self.short].is_namespaced else ""
        refs = valid_references(self.refs, known)
        return Create(
            ModelObject(self.short, namespace, self.name, "", refs, self.finalizers, on_node=self.short == "pod" and self.on_node)
        )


class DeletePlan(NamedTuple):
    target: int
    options: tuple[dict[str, Any], str | None]
    grace: int | None

    def request(self, known: Known) -> Request:
        target_object = known[self.target % len(known)]
        return Delete(target_object.location, *self.options, self.grace)


class DeleteCollectionPlan(NamedTuple):
    short: str
    namespace: int
    options: tuple[dict[str, Any], str | None]

    def request(self, known: Known) -> Request:
        namespace = NAMESPACES[self.namespace] if sample_kinds.KINDS[self.short].is_namespaced else ""
        return DeleteCollection(self.short, namespace, *self.options)


class ChangeFinalizersPlan(NamedTuple):
    target: int
    finalizers: tuple[str, ...]

    def request(self, known: Known) -> Request:
        return ChangeFinalizers(known[self.target % len(known)].location, self.finalizers)


class ChangeOwnersPlan(NamedTuple):
    target: int
    refs: list[RefPlan]

    def request(self, known: Known) -> Request:
        return ChangeOwners(known[self.target % len(known)].location, valid_references(self.refs, known))


class EditPlan(NamedTuple):
    target: int
    label: str

    def request(self, known: Known) -> Request:
        return Edit(known[self.target % len(known)].location, self.label)


class LateDependentPlan(NamedTuple):
    """A dependent that is added to an owner a number of turns of the event loop after the owner was deleted."""

    turns: int
    blocks: bool
    plan: CreatePlan | ChangeOwnersPlan

    def request(self, owner: int, known: Known) -> Request:
        refs = [RefPlan(owner, self.blocks), *self.plan.refs[1:]]
        if isinstance(self.plan, ChangeOwnersPlan):
            return self.plan._replace(refs=refs).request(known)
        namespace_index = NAMESPACES.index(known[owner % len(known)].namespace or NAMESPACES[self.plan.namespace])
        return self.plan._replace(refs=refs, namespace=namespace_index).request(known)


class OwnerDeletionPlan(NamedTuple):
    """Deletes an owner while dependents are added to it: about when the collector has found it unblocked and releases it. The
    collector may be replaced at any time.
    """

    owner: int
    options: tuple[dict[str, Any], str | None]
    late_dependents: list[LateDependentPlan]
    outages: list[int]

    def requests(self, known: Known) -> list[tuple[int, Request]]:
        """Returns the requests, each with the turns that it waits."""
        deletion = DeletePlan(self.owner, self.options, None).request(known)
        outages = [(turns, Pause("restart")) for turns in self.outages]
        return [
            (0, deletion),
            *((late_dependent.turns, late_dependent.request(self.owner, known)) for late_dependent in self.late_dependents),
            *outages,
        ]


targets = st.sampled_from((0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8))
some_refs = st.lists(
    st.builds(RefPlan, targets, st.sampled_from((True, True, False)), st.sampled_from(("",) * 12 + tuple(WRONG))),
    min_size=1,
    max_size=3,
)
refs: st.SearchStrategy[list[RefPlan]] = st.one_of(some_refs, some_refs, st.just([]))
foreign = ("example.com/x",)
finalizers = st.sampled_from(
    (
        (),
        (),
        (),
        foreign,
        foreign,
        foreign,
        (*foreign, "example.com/y"),
        ("orphan",),
        ("foregroundDeletion",),
        ("foregroundDeletion", *foreign),
        ("CollectingGarbage",),
    )
)
creates = st.builds(
    CreatePlan,
    st.sampled_from(("cm",) * 7 + ("widget", "plot", "plot", "pod", "rc", "event")),
    st.sampled_from((0, 0, 0, 0, 0, 0, 1)),
    st.sampled_from("abcdef"),
    refs,
    finalizers,
    st.booleans(),
)
options = st.sampled_from(OPTIONS)
deletes = st.builds(DeletePlan, targets, options, st.sampled_from((None, None, None, 0)))
finalizer_changes = st.builds(ChangeFinalizersPlan, targets, finalizers)
owner_changes = st.builds(ChangeOwnersPlan, targets, refs)
plans: st.SearchStrategy[RequestPlan] = st.one_of(
    *[creates] * 6,
    *[deletes] * 4,
    *[finalizer_changes] * 2,
    *[owner_changes] * 3,
    st.builds(EditPlan, targets, st.sampled_from("abc")),
    st.builds(DeleteCollectionPlan, st.sampled_from(SHORTS), st.sampled_from((0, 1)), options),
    st.builds(Pause, st.sampled_from(("restart", *PAUSES))),
)
turns = st.one_of(st.integers(0, FEW_TURNS), st.integers(0, MANY_TURNS))
late_dependents = st.builds(
    LateDependentPlan, turns, st.sampled_from((True, True, False)), st.one_of(creates, creates, owner_changes)
)
outages = st.lists(turns, max_size=2)
owner_deletions = st.builds(
    OwnerDeletionPlan, targets, st.sampled_from(OPTIONS), st.lists(late_dependents, min_size=1, max_size=2), outages
)
