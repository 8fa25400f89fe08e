"""The ownership index follows the objects, whatever is done to them and in whichever way it is written."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from support import expected_index_entries, sample_kinds
from support.in_process_server import FakeClock, InProcessServer, running
from support.virtual_time_server import MERGE_PATCH

SHORTS = ("cm", "widget", "plot", "pod", "event")

refs = st.fixed_dictionaries(
    {
        "apiVersion": st.sampled_from(
            ("v1", "apps/v1", f"{sample_kinds.GROUP}/v1", "ghost.example.com/v1", "odd group/v1", "é.com/v1")
        ),
        "kind": st.sampled_from(("ConfigMap", "Deployment", "Widget", "Odd/Kind", "Kind.With-Dots")),
        "name": st.sampled_from(("a", "b", "../a", "é", "a b")),
        "uid": st.sampled_from(("u1", "u2", "u-3.x", "a/b", "é", "-u", "x" * 128, "x" * 129, "u 1", "u1/default")),
    },
    optional={"blockOwnerDeletion": st.one_of(st.booleans(), st.none()), "controller": st.just(False)},
)
some_refs = st.lists(refs, max_size=4)
finalizers = st.lists(st.sampled_from(("e.com/x", "foregroundDeletion", "orphan", "CollectingGarbage")), max_size=2, unique=True)


class Step(NamedTuple):
    verb: str
    short: str
    refs: list[dict[str, Any]]
    finalizers: list[str]
    policy: str


steps = st.builds(
    Step,
    st.sampled_from(("patch", "put", "json-patch", "finalize", "delete")),
    st.sampled_from(SHORTS),
    some_refs,
    finalizers,
    st.sampled_from(("Background", "Foreground", "Orphan")),
)


async def take(house: InProcessServer, step: Step) -> int:
    """Create the object if it is not there; else do to it what the step says."""
    kind = sample_kinds.KINDS[step.short]
    path = kind.path("default", "x")
    found = await house.request("GET", path)
    if found.code == 404:
        body = {"involvedObject": {"namespace": "default"}} if step.short == "event" else sample_kinds.body(step.short, node="n")
        meta = {"name": "x", "ownerReferences": step.refs, "finalizers": step.finalizers}
        return (await house.request("POST", kind.path("default"), {**body, "metadata": meta})).code
    if step.verb == "delete":
        return (await house.request("DELETE", path, {"propagationPolicy": step.policy, "gracePeriodSeconds": 0})).code
    if step.verb == "put":
        now = found.json
        now["metadata"]["ownerReferences"] = step.refs
        return (await house.request("PUT", path, now)).code
    if step.verb == "json-patch":
        change = [{"op": "add", "path": "/metadata/ownerReferences", "value": step.refs}]
        return (await house.request("PATCH", path, change, media="application/json-patch+json")).code
    changed = {"ownerReferences": step.refs or None} if step.verb == "patch" else {"finalizers": step.finalizers or None}
    return (await house.request("PATCH", path, {"metadata": changed}, media=MERGE_PATCH)).code


async def play(history: list[Step]) -> None:
    async with running(clock=FakeClock(), collects=False) as house:
        for short in sample_kinds.CUSTOM:
            await house.create("apis/apiextensions.k8s.io/v1/customresourcedefinitions", "", sample_kinds.definition(short))
        for step in history:
            assert await take(house, step) in {200, 201, 422}
            await expected_index_entries.check_entries(house, SHORTS)


@settings(max_examples=300)
@given(st.lists(steps, min_size=5, max_size=20))
def test_entries_are_exactly_those_of_the_objects_that_are_there(history: list[Step]) -> None:
    asyncio.run(play(history))
