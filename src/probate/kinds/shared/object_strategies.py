"""The other kinds that get something when they are created or changed, a few lines each."""

from __future__ import annotations

from probate.kinds.apps.defaults import TEMPLATE_GENERATION
from probate.kinds.autoscaling.conversion import without_annotations
from probate.kinds.core.volumes import data_sources
from probate.kinds.shared.object_fields import Object, below, child, fill, fill_zero, items, made, text

_NOT_READY = {"effect": "NoSchedule", "key": "node.kubernetes.io/not-ready"}


def keep(new: Object, old: Object, *keys: str) -> None:
    """Make these fields what they were."""
    for key in keys:
        new.pop(key, None)
        if key in old:
            new[key] = old[key]


def create_namespace(namespace: Object) -> None:
    """A new Namespace is held by Kubernetes until what is in it is gone."""
    if (spec := made(namespace, "spec")) is not None:
        _add(spec, "finalizers", "kubernetes")


def update_namespace(new: Object, old: Object) -> None:
    """Finalizers of a Namespace's content change through `finalize` only."""
    if (spec := made(new, "spec")) is not None:
        keep(spec, child(old, "spec") or {}, "finalizers")


def create_node(node: Object) -> None:
    """A new Node takes no pods before it says that it is ready. It brings its status along, and no settings of its kubelet."""
    if (spec := made(node, "spec")) is not None:
        spec.pop("configSource", None)
        if not any(_is_not_ready(taint) for taint in items(spec, "taints")):
            spec["taints"] = [*items(spec, "taints"), dict(_NOT_READY)]
    if (status := child(node, "status")) is not None:
        status.pop("config", None)


def update_node(new: Object, old: Object) -> None:
    """A Node gets no settings of its kubelet any more: what it has from long ago may stay."""
    if (spec := child(new, "spec")) is not None and (child(old, "spec") or {}).get("configSource") is None:
        spec.pop("configSource", None)


def update_node_status(new: Object, old: Object) -> None:
    """Nor are any told."""
    if (status := child(new, "status")) is not None and (child(old, "status") or {}).get("config") is None:
        status.pop("config", None)


def create_account(account: Object) -> None:
    """A ServiceAccount names its Secrets, and says nothing else of them."""
    if items(account, "secrets"):
        account["secrets"] = [{"name": secret["name"]} if secret.get("name") else {} for secret in items(account, "secrets")]


def update_account(new: Object, old: Object) -> None:
    """A changed one as well."""
    create_account(new)


def create_limit_range(limits: Object, *, uid: str) -> None:
    """A LimitRange is the one kind that need not have a name: then it is called by a number of its own."""
    if (metadata := made(limits, "metadata")) is not None:
        fill_zero(metadata, name=uid)


def create_attributes_class(class_: Object) -> None:
    """A new VolumeAttributesClass stays as long as a claim or a volume is of it."""
    _hold(class_, "kubernetes.io/vac-protection")


def create_endpoint_slice(endpoint_slice: Object) -> None:
    """Where an endpoint is, is told by its node and zone: v1 has the labels that said so before only to read."""
    for endpoint in items(endpoint_slice, "endpoints"):
        endpoint.pop("deprecatedTopology", None)


def update_endpoint_slice(new: Object, old: Object) -> None:
    """An EndpointSlice whose endpoints stay as they are keeps those labels."""
    if new.get("endpoints") != old.get("endpoints"):
        create_endpoint_slice(new)


def create_claim(claim: Object) -> None:
    """A new PersistentVolumeClaim stays as long as a pod uses it."""
    _hold(claim, "kubernetes.io/pvc-protection")
    data_sources.settle(claim, {})


def update_claim(new: Object, old: Object) -> None:
    """A PersistentVolumeClaim's two sources stay the same."""
    data_sources.settle(new, old)


def create_volume(volume: Object, *, now: str) -> None:
    """A new PersistentVolume stays as long as a claim is bound to it, and says since when it is in its phase."""
    _hold(volume, "kubernetes.io/pv-protection")
    volume["status"] = {"phase": "Pending", "lastPhaseTransitionTime": now}


def update_volume_status(new: Object, old: Object, *, now: str) -> None:
    """A PersistentVolume's new phase begins now, unless the change says when it began."""
    status, before = made(new, "status"), child(old, "status") or {}
    if status is None or status.get("phase") == before.get("phase"):
        return
    if status.get("lastPhaseTransitionTime") in (None, before.get("lastPhaseTransitionTime")):
        status["lastPhaseTransitionTime"] = now


def create_autoscaler(autoscaler: Object) -> None:
    """A new HorizontalPodAutoscaler has in its fields what autoscaling/v1 keeps in annotations."""
    if (metadata := child(autoscaler, "metadata")) is not None:
        autoscaler["metadata"] = without_annotations(metadata)


def update_autoscaler(new: Object, old: Object) -> None:
    """A changed HorizontalPodAutoscaler as well."""
    create_autoscaler(new)


def create_daemon_set(daemon_set: Object) -> None:
    """A DaemonSet counts its templates in an annotation."""
    _set_template_generation(daemon_set, "1")


def update_daemon_set(new: Object, old: Object) -> None:
    """Count one more template if it has changed."""
    seen = text(below(old, "metadata", "annotations") or {}, TEMPLATE_GENERATION)
    count = int(seen) if seen.isdecimal() and len(seen) < 19 else 0
    has_changed = (child(new, "spec") or {}).get("template") != (child(old, "spec") or {}).get("template")
    _set_template_generation(new, str(count + 1 if has_changed else count))


def create_definition(definition: Object) -> None:
    """A new CustomResourceDefinition has stored nothing yet, but will store its storage version."""
    stored = [text(version, "name") for version in items(child(definition, "spec"), "versions") if version.get("storage") is True]
    definition["status"] = {"storedVersions": stored[:1] or None}


def create_api_service(service: Object, *, now: str) -> None:
    """A new APIService that names no service is served here, so it is there. Nothing is passed on to other servers."""
    spec = child(service, "spec")
    if spec is None:
        return
    if spec.get("service") is not None:
        told = "requests are not passed on to other servers: only what this server has itself is served"
        missing = {"type": "Available", "status": "False", "reason": "NoAggregation", "lastTransitionTime": now, "message": told}
        service["status"] = {"conditions": [missing]}
        return
    available = {"type": "Available", "status": "True", "reason": "Local", "lastTransitionTime": now}
    service["status"] = {"conditions": [{**available, "message": "Local APIServices are always available"}]}


def update_signing_request(new: Object, old: Object) -> None:
    """A CertificateSigningRequest asks for the same as long as it lives."""
    keep(new, old, "spec")


def create_resource_slice(resource_slice: Object, *, now: str) -> None:
    """A new taint of a device says since when it is there."""
    for device in items(child(resource_slice, "spec"), "devices"):
        for taint in items(device, "taints"):
            fill(taint, timeAdded=now)


def _hold(object_: Object, finalizer: str) -> None:
    if (metadata := made(object_, "metadata")) is not None:
        _add(metadata, "finalizers", finalizer)


def _add(parent: Object, key: str, name: str) -> None:
    given = parent.get(key)
    names = given if isinstance(given, list) else []
    if name not in names:
        parent[key] = [*names, name]


def _is_not_ready(taint: Object) -> bool:
    return all(taint.get(key) == value for key, value in _NOT_READY.items())


def _set_template_generation(daemon_set: Object, generation: str) -> None:
    metadata = made(daemon_set, "metadata")
    if metadata is not None and (annotations := made(metadata, "annotations")) is not None:
        annotations[TEMPLATE_GENERATION] = generation
