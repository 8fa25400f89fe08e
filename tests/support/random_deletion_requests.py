"""Random requests about owners and dependents: how they are drawn, sent, and what the rules say they do.

A plan names objects by numbers, so that it means something in any world. It becomes an `Op` once the objects are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from hypothesis import strategies as st

from support import deletion_model as model
from support import sample_kinds
from support.deletion_model import Ref, Thing, World
from support.in_process_server import Told
from support.virtual_time_server import MERGE_PATCH, Cluster

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
MEANWHILE = {"a moment": 0.01, "a while": 6.0}
"""The first is enough for a new object to be looked at, the second for the collector to note where it got to."""

FEW_TURNS, MANY_TURNS = 20, 300
"""Of the event loop, in which an owner is marked, its dependents are dealt with, and it leaves: few where nothing takes time, many
where a disk does."""

Known = Sequence[Thing]
"""What a plan can name: all that is there, owners of many first, and some that went lately."""


class Op(Protocol):
    """A request. `apply` says what it does if this was the answer; None if it cannot have been answered so."""

    async def send(self, server: Cluster) -> Told: ...

    def apply(self, world: World, answer: Told) -> World | None: ...


class Plan(Protocol):
    def op(self, known: Known) -> Op: ...


# --- references -------------------------------------------------------------------------------------------------------------


class RefPlan(NamedTuple):
    target: int
    blocks: bool
    wrong: str = ""

    def ref(self, known: Known) -> Ref:
        of = known[self.target % len(known)]
        kind = sample_kinds.KINDS[of.short]
        right = Ref(kind.version, kind.kind, of.name, of.uid, self.blocks)
        return right._replace(**WRONG[self.wrong]) if self.wrong else right


def references(refs: Sequence[Ref]) -> list[dict[str, Any]]:
    return [
        {"apiVersion": ref.version, "kind": ref.kind, "name": ref.name, "uid": ref.uid, "blockOwnerDeletion": ref.blocks}
        for ref in refs
    ]


def allowed(plans: Sequence[RefPlan], known: Known) -> tuple[Ref, ...]:
    """References that the API takes: not to Events, and no two alike."""
    refs = (plan.ref(known) for plan in plans) if known else ()
    return tuple(dict.fromkeys(ref for ref in refs if ref.kind != "Event"))


# --- requests ---------------------------------------------------------------------------------------------------------------


class Create(NamedTuple):
    thing: Thing

    async def send(self, server: Cluster) -> Told:
        new = self.thing
        meta = {"name": new.name, "ownerReferences": references(new.refs), "finalizers": list(new.finalizers)}
        body = sample_kinds.body(new.short, node="node" if new.on_node else "")
        if new.short == "event":
            body = {"involvedObject": {"namespace": new.namespace}}
        return await server.ask("POST", sample_kinds.KINDS[new.short].path(new.namespace), {**body, "metadata": meta})

    def apply(self, world: World, answer: Told) -> World | None:
        if model.are_contradictory(self.thing.finalizers):
            return world if answer.code == 422 else None
        if model.at(world, self.thing.place) is not None:
            return world if answer.code == 409 else None
        return model.create(world, self.made(answer)) if answer.code == 201 else None

    def made(self, answer: Told) -> Thing:
        return self.thing._replace(uid=answer.json["metadata"]["uid"])


class Delete(NamedTuple):
    place: tuple[str, str, str]
    options: dict[str, Any]
    policy: str | None
    grace: int | None = None

    async def send(self, server: Cluster) -> Told:
        grace = {} if self.grace is None else {"gracePeriodSeconds": self.grace}
        return await server.ask("DELETE", path(self.place), {**self.options, **grace})

    def apply(self, world: World, answer: Told) -> World | None:
        thing = model.at(world, self.place)
        if thing is None:
            return world if answer.code == 404 else None
        after = model.delete(world, thing, self.policy, self.grace)
        stays = thing.uid in after and not after[thing.uid].is_leaving
        expected = 202 if stays and self.options.get("orphanDependents") is False else 200
        return after if answer.code == expected else None


class DeleteOneOfMany(NamedTuple):
    """A part of a deletecollection: nobody is told what became of it."""

    place: tuple[str, str, str]
    policy: str | None

    async def send(self, server: Cluster) -> Told:
        raise NotImplementedError

    def apply(self, world: World, answer: Told) -> World | None:
        thing = model.at(world, self.place)
        return world if thing is None else model.delete(world, thing, self.policy)


class DeleteMany(NamedTuple):
    short: str
    namespace: str
    options: dict[str, Any]
    policy: str | None

    async def send(self, server: Cluster) -> Told:
        return await server.ask("DELETE", sample_kinds.KINDS[self.short].path(self.namespace), self.options)

    def apply(self, world: World, answer: Told) -> World | None:
        return world if answer.code == 200 else None

    def parts(self, answer: Told) -> list[DeleteOneOfMany]:
        """The deletes that this one is made of: those of the objects it says it has found."""
        found = [one["metadata"] for one in answer.json["items"]]
        return [DeleteOneOfMany((self.short, one.get("namespace", ""), one["name"]), self.policy) for one in found]


class Finalize(NamedTuple):
    place: tuple[str, str, str]
    finalizers: tuple[str, ...]

    async def send(self, server: Cluster) -> Told:
        change = {"metadata": {"finalizers": list(self.finalizers) or None}}
        return await server.ask("PATCH", path(self.place), change, media=MERGE_PATCH)

    def apply(self, world: World, answer: Told) -> World | None:
        thing = model.at(world, self.place)
        if thing is None:
            return world if answer.code == 404 else None
        after = model.rewrite_finalizers(world, thing, self.finalizers)
        if after is None:
            return world if answer.code == 422 else None
        return after if answer.code == 200 else None


class Adopt(NamedTuple):
    place: tuple[str, str, str]
    refs: tuple[Ref, ...]

    async def send(self, server: Cluster) -> Told:
        change = {"metadata": {"ownerReferences": references(self.refs) or None}}
        return await server.ask("PATCH", path(self.place), change, media=MERGE_PATCH)

    def apply(self, world: World, answer: Told) -> World | None:
        thing = model.at(world, self.place)
        if thing is None:
            return world if answer.code == 404 else None
        return model.rewrite_owners(world, thing, self.refs) if answer.code == 200 else None


class Edit(NamedTuple):
    """A change of what the rules do not look at, by reading and writing back. Others may be faster."""

    place: tuple[str, str, str]
    label: str

    async def send(self, server: Cluster) -> Told:
        found = await server.ask("GET", path(self.place))
        if found.code != 200:
            return found
        object_ = found.json
        object_["metadata"]["labels"] = {"edited": self.label}
        return await server.ask("PUT", path(self.place), object_)

    def apply(self, world: World, answer: Told) -> World | None:
        thing = model.at(world, self.place)
        if thing is None or answer.code == 409:
            return world if answer.code in {404, 409} else None
        return model.rewrite(world, thing) if answer.code == 200 else None


class Meanwhile(NamedTuple):
    """No request: time goes on, or the collector is put out and another one takes its place."""

    what: str

    async def send(self, server: Cluster) -> Told:
        if self.what == "restart":
            await server.restart_collector()
        else:
            await server.clock.advance(MEANWHILE[self.what])
        return Told(200, {}, b"")

    def apply(self, world: World, answer: Told) -> World | None:
        return world

    def op(self, known: Known) -> Op:
        return self


def path(place: tuple[str, str, str]) -> str:
    short, namespace, name = place
    return sample_kinds.KINDS[short].path(namespace, name)


# --- how they are drawn -----------------------------------------------------------------------------------------------------


class CreatePlan(NamedTuple):
    short: str
    namespace: int
    name: str
    refs: list[RefPlan]
    finalizers: tuple[str, ...]
    on_node: bool

    def op(self, known: Known) -> Op:
        namespace = NAMESPACES[self.namespace] if sample_kinds.KINDS[self.short].is_namespaced else ""
        refs = allowed(self.refs, known)
        return Create(
            Thing(self.short, namespace, self.name, "", refs, self.finalizers, on_node=self.short == "pod" and self.on_node)
        )


class DeletePlan(NamedTuple):
    target: int
    options: tuple[dict[str, Any], str | None]
    grace: int | None

    def op(self, known: Known) -> Op:
        of = known[self.target % len(known)]
        return Delete(of.place, *self.options, self.grace)


class DeleteManyPlan(NamedTuple):
    short: str
    namespace: int
    options: tuple[dict[str, Any], str | None]

    def op(self, known: Known) -> Op:
        namespace = NAMESPACES[self.namespace] if sample_kinds.KINDS[self.short].is_namespaced else ""
        return DeleteMany(self.short, namespace, *self.options)


class FinalizePlan(NamedTuple):
    target: int
    finalizers: tuple[str, ...]

    def op(self, known: Known) -> Op:
        return Finalize(known[self.target % len(known)].place, self.finalizers)


class AdoptPlan(NamedTuple):
    target: int
    refs: list[RefPlan]

    def op(self, known: Known) -> Op:
        return Adopt(known[self.target % len(known)].place, allowed(self.refs, known))


class EditPlan(NamedTuple):
    target: int
    label: str

    def op(self, known: Known) -> Op:
        return Edit(known[self.target % len(known)].place, self.label)


class Comer(NamedTuple):
    """One who comes to an owner, a few turns of the event loop after the owner was told to go."""

    turns: int
    blocks: bool
    plan: CreatePlan | AdoptPlan

    def op(self, owner: int, known: Known) -> Op:
        refs = [RefPlan(owner, self.blocks), *self.plan.refs[1:]]
        if isinstance(self.plan, AdoptPlan):
            return self.plan._replace(refs=refs).op(known)
        near = NAMESPACES.index(known[owner % len(known)].namespace or NAMESPACES[self.plan.namespace])
        return self.plan._replace(refs=refs, namespace=near).op(known)


class Parting(NamedTuple):
    """An owner goes while others come to it: they aim at the moment at which the collector has found it free and lets it go. And at
    any moment the collector may be put out.
    """

    owner: int
    options: tuple[dict[str, Any], str | None]
    comers: list[Comer]
    outages: list[int]

    def ops(self, known: Known) -> list[tuple[int, Op]]:
        """Each with the turns that it waits."""
        going = DeletePlan(self.owner, self.options, None).op(known)
        outages = [(turns, Meanwhile("restart")) for turns in self.outages]
        return [(0, going), *((comer.turns, comer.op(self.owner, known)) for comer in self.comers), *outages]


targets = st.sampled_from((0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8))
some_refs = st.lists(
    st.builds(RefPlan, targets, st.sampled_from((True, True, False)), st.sampled_from(("",) * 12 + tuple(WRONG))),
    min_size=1,
    max_size=3,
)
refs: st.SearchStrategy[list[RefPlan]] = st.one_of(some_refs, some_refs, st.just([]))
held = ("example.com/x",)
finalizers = st.sampled_from(
    (
        (),
        (),
        (),
        held,
        held,
        held,
        (*held, "example.com/y"),
        ("orphan",),
        ("foregroundDeletion",),
        ("foregroundDeletion", *held),
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
finalizes = st.builds(FinalizePlan, targets, finalizers)
adopts = st.builds(AdoptPlan, targets, refs)
plans: st.SearchStrategy[Plan] = st.one_of(
    *[creates] * 6,
    *[deletes] * 4,
    *[finalizes] * 2,
    *[adopts] * 3,
    st.builds(EditPlan, targets, st.sampled_from("abc")),
    st.builds(DeleteManyPlan, st.sampled_from(SHORTS), st.sampled_from((0, 1)), options),
    st.builds(Meanwhile, st.sampled_from(("restart", *MEANWHILE))),
)
turns = st.one_of(st.integers(0, FEW_TURNS), st.integers(0, MANY_TURNS))
comers = st.builds(Comer, turns, st.sampled_from((True, True, False)), st.one_of(creates, creates, adopts))
outages = st.lists(turns, max_size=2)
partings = st.builds(Parting, targets, st.sampled_from(OPTIONS), st.lists(comers, min_size=1, max_size=2), outages)
