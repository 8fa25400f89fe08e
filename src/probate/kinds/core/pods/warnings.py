"""Warns about Pods and pod templates.

Fast path: a pod without unusual fields is scanned once, and few of its fields are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from probate.api.field_errors import FieldPath
from probate.kinds.core.pods import container_warnings
from probate.kinds.core.pods.volumes import warnings
from probate.kinds.shared import byte_size_warnings, ip_address_warnings, node_label_warnings
from probate.kinds.shared.field_checks import Value, child, each, objects, text

MAX_LABEL = 63
_TOP = FieldPath()
_REQUIRED, _PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
_WITHOUT_EFFECT: Mapping[str, str] = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_SECCOMP_POD, _SECCOMP = "seccomp.security.alpha.kubernetes.io/pod", "container.seccomp.security.alpha.kubernetes.io/"
_NO_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_OLD_APP_ARMOR = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_LOOKED_AT = frozenset(
    {"affinity", "dnsConfig", "hostAliases", "imagePullSecrets", "nodeSelector", "overhead", "topologySpreadConstraints", "volumes"}
)
"""Fields of a pod spec that most pods do not have."""
_MATCHES_NONE = "a null labelSelector results in matching no pod"


def of_pod(pod: Value) -> Iterator[str]:
    """Yields the warnings about a new pod."""
    yield from of_name(pod, "this is the hostname of the Pod")
    yield from of_template(pod, _TOP)


def of_name(object_: Value, use: str) -> Iterator[str]:
    """Yields the warnings about a name that is valid for an object but not as a host name."""
    name = text(object_["metadata"], "name")
    reasons = [
        *(["must not contain dots"] if "." in name else []),
        *(["must be no more than 63 characters"] if len(name) > MAX_LABEL else []),
    ]
    if reasons:
        yield f"metadata.name: {use}, which can surprise; a DNS label is recommended: {', '.join(reasons)}"


def of_template(template: Value, path: FieldPath) -> Iterator[str]:
    """Yields the warnings about a pod or a pod template at this path."""
    spec, at = child(template, "spec"), path / "spec"
    if annotations := child(template, "metadata").get("annotations"):
        yield from _of_annotations(annotations, spec, path / "metadata" / "annotations")
    if not _LOOKED_AT.isdisjoint(spec):
        yield from _of_spec(spec, at)
    if not container_warnings.cannot_warn(spec):
        yield from container_warnings.of_containers(spec, at)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        yield f"{at / 'terminationGracePeriodSeconds'}: must be >= 0; negative values are treated as 1"


def _of_spec(spec: Value, at: FieldPath) -> Iterator[str]:
    yield from _of_placement(spec, at)
    if "volumes" in spec:
        yield from warnings.of_volumes(spec, at)
    yield from _of_lists(spec, at)
    yield from byte_size_warnings.of_sizes(spec.get("overhead"), at / "overhead", *container_warnings.MEMORY)


def _of_placement(spec: Value, at: FieldPath) -> Iterator[str]:
    """Yields the warnings about affinity, node selectors and topology spread constraints."""
    if "nodeSelector" in spec:
        yield from node_label_warnings.of_keys(child(spec, "nodeSelector"), at / "nodeSelector")
    for constraint, place in each(spec, at, "topologySpreadConstraints") if "topologySpreadConstraints" in spec else ():
        yield from node_label_warnings.of_key(text(constraint, "topologyKey"), place / "topologyKey")
        yield from _of_selector(constraint, place)
    if "affinity" in spec:
        affinity, place = child(spec, "affinity"), at / "affinity"
        yield from _of_nodes(child(affinity, "nodeAffinity"), place / "nodeAffinity")
        yield from _of_pod_affinity(child(affinity, "podAffinity"), place / "podAffinity")
        yield from _of_pod_affinity(child(affinity, "podAntiAffinity"), place / "podAntiAffinity")


def _of_nodes(affinity: Value, path: FieldPath) -> Iterator[str]:
    for term, at in each(child(affinity, _REQUIRED), path / _REQUIRED, "nodeSelectorTerms"):
        yield from node_label_warnings.of_term(term, at)
    for weighted, at in each(affinity, path, _PREFERRED):
        yield from node_label_warnings.of_term(child(weighted, "preference"), at / "preference")


def _of_pod_affinity(affinity: Value, path: FieldPath) -> Iterator[str]:
    for term, at in each(affinity, path, _REQUIRED):
        yield from _of_selector(term, at)
    for weighted, at in each(affinity, path, _PREFERRED):
        yield from _of_selector(child(weighted, "podAffinityTerm"), at / "podAffinityTerm")


def _of_selector(term: Value, at: FieldPath) -> Iterator[str]:
    if term.get("labelSelector") is None:
        yield f"{at / 'labelSelector'}: {_MATCHES_NONE}"


def _of_annotations(annotations: Value, spec: Value, path: FieldPath) -> Iterator[str]:
    """Yields the warnings about annotations that have been replaced by fields."""
    yield from (f"{path @ key}: {why}" for key, why in _WITHOUT_EFFECT.items() if key in annotations)
    security = child(spec, "securityContext")
    if _SECCOMP_POD in annotations and not security.get("seccompProfile"):
        yield f"{path @ _SECCOMP_POD}: {_NO_SECCOMP}"
    for list_ in container_warnings.LISTS:
        for container in objects(spec, list_):
            own, name = child(container, "securityContext"), text(container, "name")
            if _SECCOMP + name in annotations and not own.get("seccompProfile"):
                yield f"{path @ (_SECCOMP + name)}: {_NO_SECCOMP}"
            if _APP_ARMOR + name in annotations and not own.get("appArmorProfile") and not security.get("appArmorProfile"):
                yield f"{path @ (_APP_ARMOR + name)}: {_OLD_APP_ARMOR}"


def _of_lists(spec: Value, at: FieldPath) -> Iterator[str]:
    """Yields the warnings about lists with duplicate items, and about addresses in them."""
    if "hostAliases" in spec:
        yield from _of_duplicates(spec, at, "hostAliases", key="ip")
        for alias, place in each(spec, at, "hostAliases"):
            yield from ip_address_warnings.of_ip(text(alias, "ip"), place / "ip")
    if "imagePullSecrets" in spec:
        yield from _of_duplicates(spec, at, "imagePullSecrets", key="name")
        for secret, place in each(spec, at, "imagePullSecrets"):
            if not text(secret, "name"):
                yield f'{place / "name"}: invalid empty name ""'
    for index, server in enumerate(child(spec, "dnsConfig").get("nameservers") or ()):
        yield from ip_address_warnings.of_ip(server or "", at / "dnsConfig" / "nameservers" / index)


def _of_duplicates(spec: Value, at: FieldPath, list_: str, *, key: str) -> Iterator[str]:
    seen: set[str] = set()
    for item, place in each(spec, at, list_):
        value = text(item, key)
        if value in seen:
            yield f'{place / key}: duplicate {key} "{value}"'
        seen.add(value)
