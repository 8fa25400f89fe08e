"""Validates a Pod's spec as a whole, and Pod templates.

A template is reported at `template.labels` and `template.annotations`, without `metadata`, as in Kubernetes.
"""

from __future__ import annotations

import re
from typing import Any

from probate.api import metadata, names
from probate.api.field_errors import FieldPath, forbidden, invalid, required, too_long
from probate.kinds.core.pods.validation import annotations as validation_annotations
from probate.kinds.core.pods.validation import (
    container_resources,
    containers,
    operating_systems,
    placement,
    pod_resources,
    security_context,
)
from probate.kinds.core.pods.volumes import validation
from probate.kinds.shared.field_checks import (
    MAX_INT32,
    Problems,
    Value,
    check_between,
    check_choice,
    check_name,
    check_optional_name,
    check_rule,
    check_unique,
    child,
    each,
    items,
    objects,
    text,
    texts,
)
from probate.kinds.shared.ip_addresses import check_new_ip

RESTART_POLICIES = ("Always", "OnFailure", "Never")

_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MAX_NAMESERVERS = 3
_MAX_SEARCHES = 32
_MAX_SEARCH_CHARACTERS = 2048
_MAX_SEARCH = 253
_MAX_HOSTNAME = 64
_SEARCH = re.compile(r"_?[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?(?:\._?[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?)*")
_NAMES = {
    "serviceAccountName": names.validate_dns_subdomain,
    "nodeName": names.validate_dns_subdomain,
    "priorityClassName": names.validate_dns_subdomain,
    "runtimeClassName": names.validate_dns_subdomain,
    "hostname": names.validate_dns_label,
    "subdomain": names.validate_dns_label,
}


def create_pod(pod: Value) -> Problems:
    """Validates a new Pod."""
    spec = child(pod, "spec")
    yield from check_pod(pod)
    if given := _annotations(pod):
        yield from validation_annotations.check_annotations(given, spec, FieldPath("metadata") / "annotations")
    if items(spec, "ephemeralContainers"):
        yield forbidden(FieldPath("spec") / "ephemeralContainers", "cannot be set on create")
    if text(spec, "nodeName") and items(spec, "schedulingGates"):
        yield forbidden(FieldPath("spec") / "nodeName", "cannot be set until all schedulingGates have been cleared")


def check_pod(pod: Value) -> Problems:
    """Validates a Pod, new or changed. Annotations of a changed Pod are checked in comparison with the old ones."""
    spec = child(pod, "spec")
    yield from check_spec(spec, FieldPath("spec"))
    yield from validation.check_volumes_of_pod(spec, text(child(pod, "metadata"), "name"), FieldPath("spec"))
    yield from containers.check_image_spaces(spec, FieldPath("spec"))


def check_template(template: Value, path: FieldPath, *, claims: tuple[str, ...] = ()) -> Problems:
    """Validates a Pod template. `claims` are volumes that the workload adds to each Pod."""
    meta = child(template, "metadata")
    yield from metadata.validate_labels(meta.get("labels"), path / "labels")
    yield from metadata.validate_annotations(meta.get("annotations"), path / "annotations")
    if given := _annotations(template):
        yield from validation_annotations.check_annotations(given, child(template, "spec"), path / "annotations")
    yield from check_spec(child(template, "spec"), path / "spec", claims=claims)
    if items(child(template, "spec"), "ephemeralContainers"):
        yield forbidden(path / "spec" / "ephemeralContainers", "ephemeral containers not allowed in pod template")


def check_spec(spec: Value, path: FieldPath, *, claims: tuple[str, ...] = ()) -> Problems:
    """Validates the spec of a Pod or of a template."""
    found, known = validation.check_volumes(spec, path)
    known.update({claim: {"persistentVolumeClaim": {"claimName": claim}} for claim in claims})
    yield from found
    yield from containers.check_containers(spec, path, known)
    yield from check_choice(spec, path, "restartPolicy", supported=RESTART_POLICIES)
    yield from _check_dns(spec, path)
    yield from placement.check_scheduling(spec, path)
    yield from security_context.check_pod_context(spec, path / "securityContext")
    for field, rule in _NAMES.items():
        yield from check_optional_name(spec, path, field, rule=rule)
    yield from _check_lists(spec, path)
    yield from _check_rest(spec, path)


def _annotations(object_: Value) -> Value:
    return child(child(object_, "metadata"), "annotations")


def _check_lists(spec: Value, path: FieldPath) -> Problems:
    for gate, at in each(spec, path, "readinessGates"):
        yield from check_rule(text(gate, "conditionType"), at / "conditionType", names.validate_qualified_name)
    for alias, at in each(spec, path, "hostAliases"):
        yield from check_new_ip(text(alias, "ip"), at / "ip")
        for index, hostname in enumerate(texts(alias, "hostnames")):
            yield from check_rule(hostname, at / "hostnames" / index, names.validate_dns_subdomain)
    seen: set[Any] = set()
    for claim, at in each(spec, path, "resourceClaims"):
        yield from check_name(claim, at, "name", rule=names.validate_dns_label)
        yield from check_unique(claim, at, "name", seen=seen)
        yield from _check_claim(claim, at)


def _check_claim(claim: Value, path: FieldPath) -> Problems:
    given = [field for field in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(field) is not None]
    if len(given) != 1:
        yield invalid(path, claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
    for field in given:
        yield from check_rule(claim[field], path / field, names.validate_dns_subdomain)


def _check_rest(spec: Value, path: FieldPath) -> Problems:
    yield from check_between(spec, path, "activeDeadlineSeconds", low=1, high=MAX_INT32)
    yield from check_choice(spec, path, "preemptionPolicy", supported=("PreemptLowerPriority", "Never"))
    claims = {text(claim, "name") for claim in objects(spec, "resourceClaims")}
    yield from container_resources.check_requirements({"limits": spec.get("overhead")}, path / "overhead", claims)
    if spec.get("resources") is not None:
        yield from pod_resources.check_totals(spec, path)
    if spec.get("os") is not None:
        yield from operating_systems.check_system(spec, path)
    yield from operating_systems.check_host_processes(spec, path)
    yield from security_context.check_host_users(spec, path)
    if spec.get("hostnameOverride"):
        yield from _check_hostname(spec, path)


def _check_hostname(spec: Value, path: FieldPath) -> Problems:
    """Validates `hostnameOverride`, and the fields that it excludes."""
    name, at = text(spec, "hostnameOverride"), path / "hostnameOverride"
    yield from check_rule(name, at, names.validate_dns_subdomain)
    if len(name) > _MAX_HOSTNAME:
        yield too_long(at, _MAX_HOSTNAME)
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field):
            yield forbidden(at, f"may not be set when `{field}` is true")


def _check_dns(spec: Value, path: FieldPath) -> Problems:
    policy, config = text(spec, "dnsPolicy"), child(spec, "dnsConfig")
    yield from check_choice(spec, path, "dnsPolicy", supported=_DNS_POLICIES)
    if policy == "None" and spec.get("dnsConfig") is None:
        yield required(path / "dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None")
    elif policy == "None" and not items(config, "nameservers"):
        yield required(path / "dnsConfig" / "nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None")
    else:
        yield from _check_dns_config(config, path / "dnsConfig")


def _check_dns_config(config: Value, path: FieldPath) -> Problems:
    servers, searches = texts(config, "nameservers"), texts(config, "searches")
    if len(servers) > _MAX_NAMESERVERS:
        yield invalid(path / "nameservers", servers, f"must not have more than {_MAX_NAMESERVERS} nameservers")
    for index, server in enumerate(servers):
        yield from check_new_ip(server, path / "nameservers" / index)
    if len(searches) > _MAX_SEARCHES:
        yield invalid(path / "searches", searches, f"must not have more than {_MAX_SEARCHES} search paths")
    if len(" ".join(searches)) > _MAX_SEARCH_CHARACTERS:
        yield invalid(path / "searches", searches, f"must not have more than {_MAX_SEARCH_CHARACTERS} characters")
    for index, search in enumerate(searches):
        yield from _check_search(search, path / "searches" / index)
    for option, at in each(config, path, "options"):
        if not text(option, "name"):
            yield required(at, "must not be empty")


def _check_search(search: str, path: FieldPath) -> Problems:
    """Validates a DNS search domain, whose labels may start with and contain underscores."""
    name = search.removesuffix(".")
    if search != "." and (len(name) > _MAX_SEARCH or _SEARCH.fullmatch(name) is None):
        yield invalid(path, search, "must be a lowercase RFC 1123 subdomain, whose labels may also contain and begin with '_'")
