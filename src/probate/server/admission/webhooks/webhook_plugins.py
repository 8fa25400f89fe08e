"""Admission webhooks: mutating ones are asked one after the other, validating ones all at once.

A webhook that does not answer as it should refuses the write, or is passed over, as its failure policy says. Configurations of
webhooks are nobody's to refuse: else a bad one could never be removed.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, NamedTuple

from probate.api.catalog import Catalog, Resource
from probate.core import errors
from probate.lib import jsonpatch
from probate.server.admission import phases
from probate.server.admission.attributes import NO_TERMS, Attributes, Terms
from probate.server.admission.chain import Place
from probate.server.admission.webhooks import admission_review, webhook_match
from probate.server.admission.webhooks.admission_review import Shown, Unusable, Verdict
from probate.server.admission.webhooks.match_conditions import Failed
from probate.server.admission.webhooks.webhook_match import Hook
from probate.server.codec import object_codec, version_conversion
from probate.server.context import Api
from probate.server.request import Target
from probate.server.storage import storage_keys
from probate.server.webhooks import endpoints
from probate.server.webhooks.endpoints import Unreachable

Object = dict[str, Any]

GROUP = "admissionregistration.k8s.io"
MUTATING, VALIDATING = "mutatingwebhookconfigurations", "validatingwebhookconfigurations"

log = logging.getLogger(__name__)


def install(api: Api) -> None:
    """Ask the webhooks that are configured."""
    mutating, validating = Mutating(api), Validating(api)
    for plural, place, plugin in (
        (MUTATING, Place.MUTATING_WEBHOOKS, mutating),
        (VALIDATING, Place.VALIDATING_WEBHOOKS, validating),
    ):
        api.configured.tell(GROUP, "v1", plural, plugin.configure(place))


class _Asked(NamedTuple):
    """A webhook that is to be asked, and how it wants to see the write."""

    hook: Hook
    shown: Shown


class _Webhooks:
    """Those of one sort."""

    may_patch = False

    def __init__(self, api: Api) -> None:
        self._api = api
        self._hooks: list[Hook] = []
        self._catalog: Catalog | None = None
        self._known: dict[tuple[str, str, str, str, str], list[tuple[Hook, Resource]]] = {}

    def configure(self, place: Place) -> Any:
        def listener(configurations: dict[str, Object]) -> None:
            self._hooks, self._catalog = webhook_match.compiled(configurations), None
            if self._hooks:
                self._api.admission.wake(place, self)
            else:
                self._api.admission.rest(place)

        return listener

    def wants(self, operation: str, at: Target) -> bool:
        return bool(self._ruled(operation, at))

    def _ruled(self, operation: str, at: Target) -> list[tuple[Hook, Resource]]:
        """The webhooks whose rules are about such a write, remembered for as long as kinds and configurations are the same."""
        if self._catalog is not self._api.catalog:
            self._catalog, self._known = self._api.catalog, {}
        one = at.resource
        key = (operation, one.group, one.version, one.plural, at.subresource)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = [] if _is_exempt(one) else list(self._find(operation, at))
        return found

    def _find(self, operation: str, at: Target) -> Any:
        for hook in self._hooks:
            resource = webhook_match.resource_for(hook, operation, at, self._api.catalog)
            if resource is not None:
                yield hook, resource

    async def _is_meant(self, hook: Hook, write: Attributes, shown: Shown) -> bool:
        """Whether labels and conditions are as the webhook wants them."""
        is_asked = hook.namespaces.is_everything or not _is_in_a_namespace(write)
        if not is_asked and not hook.namespaces.matches(await self._labels(write)):
            return False
        both = [one for one in (write.object, write.old) if one is not None]
        if not hook.objects.is_everything and not any(hook.objects.matches(_labels(one)) for one in both):
            return False
        return not hook.conditions or await self._holds(hook, write, shown)

    async def _labels(self, write: Attributes) -> dict[str, str]:
        """Those of the namespace; of a namespace itself, its own."""
        if write.at.resource.group_resource == storage_keys.NAMESPACES:
            return _labels(write.object or write.old or {})
        found = await self._api.store.read(storage_keys.of_namespace(write.namespace)) if write.namespace else None
        return (object_codec.meta(found.value).labels or {}) if found is not None else {}

    async def _holds(self, hook: Hook, write: Attributes, shown: Shown) -> bool:
        try:
            if self._api.conditions is None:
                raise Failed("this server evaluates no match conditions")  # noqa: TRY301
            return await self._api.conditions.hold(hook.conditions, write, shown.object, shown.old)
        except Failed as error:
            if hook.fails_closed:
                raise errors.Forbidden(f'the match conditions of webhook "{hook.name}" cannot be evaluated: {error}') from None
            log.warning("webhook %s is passed over, its match conditions cannot be evaluated: %s", hook.name, error)
            return False

    async def _shown(self, write: Attributes, resource: Resource) -> Shown:
        if resource is write.at.resource or write.kind != write.at.resource.group_version_kind:
            return Shown(resource, write.kind, write.object, write.old)
        object_, old = [await self._in_version(one, write.at.resource, resource) for one in (write.object, write.old)]
        return Shown(resource, resource.group_version_kind, object_, old)

    async def _in_version(self, object_: Object | None, mine: Resource, wanted: Resource) -> Object | None:
        if object_ is None:
            return None
        if mine.is_converted:
            return await version_conversion.between(self._api, object_, mine, wanted)
        return phases.in_version(object_, mine, wanted)

    async def _ask(self, hook: Hook, write: Attributes, shown: Shown) -> Verdict | None:
        """What the webhook says; None if it did not answer as it should, and that does not matter."""
        if write.act.is_dry_run and hook.has_side_effects:
            raise errors.BadRequest(f'admission webhook "{hook.name}" does not support dry run')
        try:
            return await self._call(hook, write, shown)
        except (Unreachable, Unusable) as error:
            if hook.fails_closed:
                raise errors.ApiError(f'Internal error occurred: failed calling webhook "{hook.name}": {error}') from None
            log.warning('failed calling webhook "%s", failing open: %s', hook.name, error)
            return None

    async def _call(self, hook: Hook, write: Attributes, shown: Shown) -> Verdict:
        uid = self._api.new_uid()
        try:
            endpoint = endpoints.find(hook.client, self._api.services)
        except Unreachable as error:
            raise Unreachable(f"failed to call webhook: Post {error}") from None
        body = await self._api.apart(write.size, lambda: admission_review.request(write, shown, uid, hook.version))
        try:
            answer = await self._api.outbound.post(endpoint, body, seconds=hook.seconds)
        except Unreachable as error:
            url = f"{endpoint.url}?timeout={hook.seconds:g}s"
            raise Unreachable(f'failed to call webhook: Post "{url}": {error}') from None
        try:
            said = await self._api.apart(
                len(answer), lambda: admission_review.verdict(answer, uid, hook.version, may_patch=self.may_patch)
            )
        except Unusable as error:
            raise Unusable(f"received invalid webhook response: {error}") from None
        write.act.warn(*said.warnings)
        write.act.annotations |= {f"{hook.name}/{name}": value for name, value in said.annotations.items()}
        if not said.is_allowed:
            raise admission_review.denial(hook.name, said.status)
        return said


class Validating(_Webhooks):
    """May say no."""

    async def validate(self, write: Attributes) -> Terms:
        asked = [_Asked(hook, await self._shown(write, resource)) for hook, resource in self._ruled(write.operation, write.at)]
        meant = [one for one in asked if await self._is_meant(one.hook, write, one.shown)]
        if len(meant) == 1:
            await self._ask(meant[0].hook, write, meant[0].shown)
        elif meant:
            said = await asyncio.gather(*(self._ask(one.hook, write, one.shown) for one in meant), return_exceptions=True)
            for error in [one for one in said if isinstance(one, BaseException)]:
                raise error
        return NO_TERMS


class Mutating(_Webhooks):
    """May say no, or change what is written."""

    may_patch = True

    async def mutate(self, write: Attributes) -> None:
        seen: dict[str, Any] = write.memory.setdefault(MUTATING, {"again": set(), "asked": set(), "left": None})
        if write.is_again and write.object is not seen["left"]:
            seen["again"] |= seen["asked"]
        for hook, resource in self._ruled(write.operation, write.at):
            if write.is_again and hook.key not in seen["again"]:
                continue
            shown = await self._shown(write, resource)
            if not await self._is_meant(hook, write, shown):
                continue
            said = await self._ask(hook, write, shown)
            if said is not None and said.patch is not None and await self._patch(hook, write, shown, said.patch):
                seen["again"] |= seen["asked"]
                write.wants_again = True
            if hook.is_asked_again:
                seen["asked"].add(hook.key)
        seen["left"] = write.object

    async def _patch(self, hook: Hook, write: Attributes, shown: Shown, patch: Any) -> bool:
        """Whether the patch has changed the object."""
        before = write.object
        if before is None or shown.object is None:
            raise errors.ApiError(
                f'Internal error occurred: admission webhook "{hook.name}" attempted to modify the object, '
                "which is not supported for this operation"
            )
        size, document = write.size, shown.object
        try:
            changed = await self._api.apart(size, lambda: jsonpatch.apply(document, patch))
            _check_kind(changed, shown)
            if shown.resource is not write.at.resource and shown.kind == shown.resource.group_version_kind:
                changed = await self._in_version(changed, shown.resource, write.at.resource) or changed
            await self._api.apart(size, lambda: write.put(changed))
        except (errors.BadRequest, errors.Invalid, errors.TooLarge) as error:
            raise errors.ApiError(f'Internal error occurred: the patch of webhook "{hook.name}" cannot be used: {error}') from None
        return write.object != before


def _check_kind(changed: Object, shown: Shown) -> None:
    kind = (changed.get("apiVersion"), changed.get("kind"))
    wanted = (str(shown.resource.group_version), shown.resource.kind)
    if shown.kind != shown.resource.group_version_kind:
        wanted = (f"{shown.kind.group}/{shown.kind.version}".lstrip("/"), shown.kind.kind)
    if kind != wanted:
        raise errors.BadRequest(f"it makes a {wanted[0]} {wanted[1]} something else")


def _labels(object_: Object) -> dict[str, str]:
    return (object_.get("metadata") or {}).get("labels") or {}


def _is_in_a_namespace(write: Attributes) -> bool:
    """What is in none is asked about, whatever namespaces a webhook is for. A namespace is in itself."""
    return write.at.resource.is_namespaced or write.at.resource.group_resource == storage_keys.NAMESPACES


def _is_exempt(resource: Resource) -> bool:
    return resource.group == GROUP and resource.plural in {MUTATING, VALIDATING}
