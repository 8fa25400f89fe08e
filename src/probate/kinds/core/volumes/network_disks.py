"""Validates network volume sources: cloud disks and file servers, and the fields that each requires.

Pods and PersistentVolumes share these sources, but a PersistentVolume has no namespace, so it must name the namespace of its
Secrets.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from probate.api import names
from probate.api.field_errors import FieldPath, invalid, not_supported, required
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_between,
    check_choice,
    check_given,
    check_name,
    check_optional_name,
    check_rule,
    child,
    items,
    text,
)

Check = Callable[[Value, FieldPath], Problems]

_INITIATORS = {
    "iqn": re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+"),
    "eui": re.compile(r"eui.[A-Za-z0-9]{16}"),
    "naa": re.compile(r"naa.[A-Za-z0-9]{32}"),
}
_HOST_AND_PORT = re.compile(r"(?:[^:\[\]]*|\[[^\[\]]*\]):[^:\[\]]*")
_MAX_PARTITION = 255
_MAX_TENANT = 64


def require_fields(*fields: str) -> Check:
    """Returns a check of a source that requires these fields and has no other rules."""

    def check(source: Value, path: FieldPath) -> Problems:
        yield from check_given(source, path, *fields)

    return check


def check_nfs(source: Value, path: FieldPath) -> Problems:
    """Validates an NFS source."""
    yield from check_given(source, path, "server", "path")
    if text(source, "path") and not text(source, "path").startswith("/"):
        yield invalid(path / "path", text(source, "path"), "must be an absolute path")


def check_google_disk(source: Value, path: FieldPath) -> Problems:
    """Validates a GCE persistent disk source."""
    yield from check_given(source, path, "pdName")
    yield from check_between(source, path, "partition", low=0, high=_MAX_PARTITION)


def check_amazon_disk(source: Value, path: FieldPath) -> Problems:
    """Validates an AWS EBS source."""
    yield from check_given(source, path, "volumeID")
    yield from check_between(source, path, "partition", low=0, high=_MAX_PARTITION)


def check_azure_disk(source: Value, path: FieldPath) -> Problems:
    """Validates an Azure disk source: managed disks have a path, others a URL."""
    yield from check_given(source, path, "diskName", "diskURI")
    yield from check_choice(source, path, "cachingMode", supported=("None", "ReadOnly", "ReadWrite"))
    yield from check_choice(source, path, "kind", supported=("Shared", "Dedicated", "Managed"))
    kind, uri = text(source, "kind"), text(source, "diskURI")
    begins = "/subscriptions/" if kind == "Managed" else "https://"
    if kind and not uri.startswith(begins):
        yield not_supported(path / "diskURI", uri, [f"{begins}..."])


def check_flocker(source: Value, path: FieldPath) -> Problems:
    """Validates a Flocker source: a dataset by its name or its UUID."""
    name, uuid = text(source, "datasetName"), text(source, "datasetUUID")
    if not name and not uuid:
        yield required(path, "one of datasetName and datasetUUID is required")
    elif name and uuid:
        yield invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        yield invalid(path / "datasetName", name, "must not contain '/'")


def check_quobyte(source: Value, path: FieldPath) -> Problems:
    """Validates a Quobyte source, with its registries."""
    registry = text(source, "registry")
    if not registry:
        yield required(path / "registry", "must be a host:port pair or multiple pairs separated by commas")
    elif len(text(source, "tenant")) > _MAX_TENANT:
        yield required(path / "tenant", "must be a UUID and may not exceed a length of 64 characters")
    elif any(_HOST_AND_PORT.fullmatch(pair) is None for pair in registry.split(",")):
        yield invalid(path / "registry", registry, "must be a host:port pair or multiple pairs separated by commas")
    yield from check_given(source, path, "volume")


def check_fibre_channel(source: Value, path: FieldPath) -> Problems:
    """Validates a Fibre Channel source: target WWNs and a LUN, or WWIDs."""
    targets, identifiers = items(source, "targetWWNs"), items(source, "wwids")
    if not targets and not identifiers:
        yield required(path / "targetWWNs", "must specify either targetWWNs or wwids, but not both")
    elif targets and identifiers:
        yield invalid(path / "targetWWNs", targets, "targetWWNs and wwids can not be specified simultaneously")
    if targets and source.get("lun") is None:
        yield required(path / "lun", "lun is required if targetWWNs is specified")
    elif targets:
        yield from check_between(source, path, "lun", low=0, high=255)


def check_flex(source: Value, path: FieldPath) -> Problems:
    """Validates a FlexVolume source, whose options must not use Kubernetes' own domains."""
    yield from check_given(source, path, "driver")
    for option in child(source, "options"):
        domain = "." + option.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            yield invalid(path / "options" @ option, option, "kubernetes.io and k8s.io namespaces are reserved")


def check_iscsi(source: Value, path: FieldPath) -> Problems:
    """Validates an iSCSI source. The field path of the initiator has Kubernetes' own spelling."""
    yield from check_given(source, path, "targetPortal", "iqn")
    if text(source, "iqn"):
        yield from _check_initiator(text(source, "iqn"), path / "iqn")
    yield from check_between(source, path, "lun", low=0, high=255)
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        yield required(path / "secretRef")
    if source.get("initiatorName") is not None:
        yield from _check_initiator(text(source, "initiatorName"), path / "initiatorname")


def check_cinder(source: Value, path: FieldPath) -> Problems:
    """Validates a Cinder source."""
    yield from check_given(source, path, "volumeID")
    yield from check_secret(source, path, "name")


def check_storage_os(source: Value, path: FieldPath) -> Problems:
    """Validates a StorageOS source."""
    yield from check_name(source, path, "volumeName", rule=names.validate_dns_label)
    yield from check_optional_name(source, path, "volumeNamespace", rule=names.validate_dns_label)
    yield from check_secret(source, path, "name")


def check_csi(source: Value, path: FieldPath) -> Problems:
    """Validates an inline CSI source. An invalid Secret name is reported with the path of the volume."""
    yield from check_name(source, path, "driver", rule=names.validate_csi_driver)
    if source.get("nodePublishSecretRef") is not None:
        secret = text(source["nodePublishSecretRef"], "name")
        at = path / "nodePublishSecretRef" / "name"
        yield from check_rule(secret, path / "name", names.validate_dns_subdomain) if secret else [required(at)]


def check_secret(source: Value, path: FieldPath, *fields: str) -> Problems:
    """Validates that a Secret reference, if set, has these fields."""
    if source.get("secretRef") is not None:
        yield from check_given(source["secretRef"], path / "secretRef", *fields)


def _check_initiator(value: str, path: FieldPath) -> Problems:
    pattern = _INITIATORS.get(value[:3])
    if pattern is None:
        yield invalid(path, value, "must be valid format starting with iqn, eui, or naa")
    elif pattern.fullmatch(value) is None:
        yield invalid(path, value, "must be valid format")
