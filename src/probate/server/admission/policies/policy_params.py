"""Reads the parameters of a policy: the objects that a binding names or selects."""

from __future__ import annotations

from probate.api.catalog import Catalog, Resource
from probate.api.field_errors import FieldPath
from probate.api.objects import Object
from probate.api.policies.policy_evaluation import EvaluationError
from probate.api.selectors import label_selectors
from probate.core import errors
from probate.server.codec import object_codec
from probate.server.storage import storage_keys
from probate.store import damaged_objects, pagination
from probate.store.contract import Store

MAX_PARAMS = 1000
"""Limits the objects that one binding may select. Kubernetes has no such limit, but a policy is evaluated for each object."""


async def collect(
    kind: Object | None, ref: Object | None, namespace: str, *, store: Store, catalog: Catalog
) -> list[Object | None]:
    """Returns the parameters to evaluate a policy with, one after the other: [None] if it has none. Raises `EvaluationError`."""
    if not kind or not ref:
        return [None]
    group, _, version = str(kind.get("apiVersion") or "").rpartition("/")
    resource = catalog.find_kind(group, version, str(kind.get("kind") or ""))
    params: list[Object | None] = []
    if resource is not None:
        params = list(await _read_params(store, resource, ref, namespace=_namespace(resource, ref, namespace)))
    if not params and ref.get("parameterNotFoundAction") == "Deny":
        raise EvaluationError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return params


def _namespace(resource: Resource, ref: Object, namespace: str) -> str:
    ref_namespace = str(ref.get("namespace") or "")
    if ref_namespace and not resource.is_namespaced:
        raise EvaluationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    if resource.is_namespaced and not ref_namespace and not namespace:
        raise EvaluationError("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    return (ref_namespace or namespace) if resource.is_namespaced else ""


async def _read_params(store: Store, resource: Resource, ref: Object, *, namespace: str) -> list[Object]:
    if name := str(ref.get("name") or ""):
        try:
            record = await store.read(storage_keys.object_key(resource, namespace, name))
        except errors.DamagedObject as error:
            raise EvaluationError(str(error)) from error
        return [] if record is None else [object_codec.served(record, resource)]
    selector, problems = label_selectors.compile_object(ref.get("selector") or {}, FieldPath("selector"))
    if problems:
        raise EvaluationError(problems[0].message)
    params: list[Object] = []
    async for page in pagination.pages(store, storage_keys.namespace_range(resource, namespace)):
        if page.damaged_records:  # it is unknown whether the selector matches it
            raise EvaluationError(str(damaged_objects.read_error(page.damaged_records[0])))
        params += [
            object_codec.served(record, resource)
            for record in page.records
            if selector.matches(object_codec.meta(record.value).labels or {})
        ]
        if len(params) > MAX_PARAMS:
            raise EvaluationError(f"paramRef.selector selects more than {MAX_PARAMS} objects")
    return params
