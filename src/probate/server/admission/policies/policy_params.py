"""The parameters of a policy: the objects that a binding names or selects."""

from __future__ import annotations

from typing import Any

from probate.api.catalog import Resource
from probate.api.field_errors import Path
from probate.api.policies.validation import Trouble
from probate.api.selectors import label_selectors
from probate.core import errors
from probate.server.codec import object_codec
from probate.server.context import Api
from probate.server.storage import storage_keys
from probate.store import damage, paging

Object = dict[str, Any]

MAX_PARAMS = 1000
"""That one binding may select. Kubernetes has no such limit; but a policy is evaluated for each."""


async def collected(api: Api, kind: Object | None, ref: Object | None, namespace: str) -> list[Object | None]:
    """The parameters with which a policy is evaluated, one after the other; one that is None, if it has none. Raises `Trouble`."""
    if not kind or not ref:
        return [None]
    group, _, version = str(kind.get("apiVersion") or "").rpartition("/")
    resource = api.catalog.find_kind(group, version, str(kind.get("kind") or ""))
    found: list[Object | None] = []
    if resource is not None:
        found = list(await _found(api, resource, ref, _namespace(resource, ref, namespace)))
    if not found and ref.get("parameterNotFoundAction") == "Deny":
        raise Trouble("no params found for policy binding with `Deny` parameterNotFoundAction")
    return found


def _namespace(resource: Resource, ref: Object, namespace: str) -> str:
    given = str(ref.get("namespace") or "")
    if given and not resource.is_namespaced:
        raise Trouble("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    if resource.is_namespaced and not given and not namespace:
        raise Trouble("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    return (given or namespace) if resource.is_namespaced else ""


async def _found(api: Api, resource: Resource, ref: Object, namespace: str) -> list[Object]:
    if name := str(ref.get("name") or ""):
        try:
            record = await api.store.read(storage_keys.of(resource, namespace, name))
        except errors.DamagedObject as error:
            raise Trouble(str(error)) from error
        return [] if record is None else [object_codec.served(record, resource)]
    selector, wrong = label_selectors.compile_object(ref.get("selector") or {}, Path("selector"))
    if wrong:
        raise Trouble(wrong[0].message)
    found: list[Object] = []
    async for page in paging.pages(api.store, storage_keys.within(resource, namespace)):
        if page.damaged:  # nobody knows whether it is selected
            raise Trouble(str(damage.error_of(page.damaged[0])))
        found += [
            object_codec.served(one, resource)
            for one in page.records
            if selector.matches(object_codec.meta(one.value).labels or {})
        ]
        if len(found) > MAX_PARAMS:
            raise Trouble(f"paramRef.selector selects more than {MAX_PARAMS} objects")
    return found
