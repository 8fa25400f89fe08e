"""Volumes that lie somewhere else: disks of clouds, shares of file servers. What each needs to be found.

Pods and PersistentVolumes have the same ones, but a PersistentVolume is of no namespace, so it must say where its Secrets are.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from probate.api import names
from probate.api.field_errors import Path, invalid, not_supported, required
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

Check = Callable[[Value, Path], Problems]

_INITIATORS = {
    "iqn": re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+"),
    "eui": re.compile(r"eui.[A-Za-z0-9]{16}"),
    "naa": re.compile(r"naa.[A-Za-z0-9]{32}"),
}
_HOST_AND_PORT = re.compile(r"(?:[^:\[\]]*|\[[^\[\]]*\]):[^:\[\]]*")
_MAX_PARTITION = 255
_MAX_TENANT = 64


def needing(*fields: str) -> Check:
    """The check of a source that needs these fields and nothing else."""

    def check(source: Value, path: Path) -> Problems:
        yield from check_given(source, path, *fields)

    return check


def check_nfs(source: Value, path: Path) -> Problems:
    """A directory of an NFS server."""
    yield from check_given(source, path, "server", "path")
    if text(source, "path") and not text(source, "path").startswith("/"):
        yield invalid(path / "path", text(source, "path"), "must be an absolute path")


def check_google_disk(source: Value, path: Path) -> Problems:
    """A disk of Google's cloud."""
    yield from check_given(source, path, "pdName")
    yield from check_between(source, path, "partition", 0, _MAX_PARTITION)


def check_amazon_disk(source: Value, path: Path) -> Problems:
    """A disk of Amazon's cloud."""
    yield from check_given(source, path, "volumeID")
    yield from check_between(source, path, "partition", 0, _MAX_PARTITION)


def check_azure_disk(source: Value, path: Path) -> Problems:
    """A disk of Azure: managed ones are found by a path, others by a URL."""
    yield from check_given(source, path, "diskName", "diskURI")
    yield from check_choice(source, path, "cachingMode", ("None", "ReadOnly", "ReadWrite"))
    yield from check_choice(source, path, "kind", ("Shared", "Dedicated", "Managed"))
    kind, uri = text(source, "kind"), text(source, "diskURI")
    begins = "/subscriptions/" if kind == "Managed" else "https://"
    if kind and not uri.startswith(begins):
        yield not_supported(path / "diskURI", uri, [f"{begins}..."])


def check_flocker(source: Value, path: Path) -> Problems:
    """A dataset of Flocker, by its name or its UUID."""
    name, uuid = text(source, "datasetName"), text(source, "datasetUUID")
    if not name and not uuid:
        yield required(path, "one of datasetName and datasetUUID is required")
    elif name and uuid:
        yield invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        yield invalid(path / "datasetName", name, "must not contain '/'")


def check_quobyte(source: Value, path: Path) -> Problems:
    """A volume of Quobyte, with its registries."""
    registry = text(source, "registry")
    if not registry:
        yield required(path / "registry", "must be a host:port pair or multiple pairs separated by commas")
    elif len(text(source, "tenant")) > _MAX_TENANT:
        yield required(path / "tenant", "must be a UUID and may not exceed a length of 64 characters")
    elif any(_HOST_AND_PORT.fullmatch(pair) is None for pair in registry.split(",")):
        yield invalid(path / "registry", registry, "must be a host:port pair or multiple pairs separated by commas")
    yield from check_given(source, path, "volume")


def check_fibre_channel(source: Value, path: Path) -> Problems:
    """A disk behind a Fibre Channel: by where it is (and its number there), or by what it is."""
    targets, identifiers = items(source, "targetWWNs"), items(source, "wwids")
    if not targets and not identifiers:
        yield required(path / "targetWWNs", "must specify either targetWWNs or wwids, but not both")
    elif targets and identifiers:
        yield invalid(path / "targetWWNs", targets, "targetWWNs and wwids can not be specified simultaneously")
    if targets and source.get("lun") is None:
        yield required(path / "lun", "lun is required if targetWWNs is specified")
    elif targets:
        yield from check_between(source, path, "lun", 0, 255)


def check_flex(source: Value, path: Path) -> Problems:
    """A volume of whatever driver there is, whose options are not Kubernetes' own."""
    yield from check_given(source, path, "driver")
    for option in child(source, "options"):
        domain = "." + option.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            yield invalid(path / "options" @ option, option, "kubernetes.io and k8s.io namespaces are reserved")


def check_iscsi(source: Value, path: Path) -> Problems:
    """A disk behind iSCSI. The initiator is spelt as Kubernetes reports it."""
    yield from check_given(source, path, "targetPortal", "iqn")
    if text(source, "iqn"):
        yield from _check_initiator(text(source, "iqn"), path / "iqn")
    yield from check_between(source, path, "lun", 0, 255)
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        yield required(path / "secretRef")
    if source.get("initiatorName") is not None:
        yield from _check_initiator(text(source, "initiatorName"), path / "initiatorname")


def check_cinder(source: Value, path: Path) -> Problems:
    """A disk of OpenStack."""
    yield from check_given(source, path, "volumeID")
    yield from check_secret(source, path, "name")


def check_storage_os(source: Value, path: Path) -> Problems:
    """A volume of StorageOS."""
    yield from check_name(source, path, "volumeName", names.dns_label)
    yield from check_optional_name(source, path, "volumeNamespace", names.dns_label)
    yield from check_secret(source, path, "name")


def check_csi(source: Value, path: Path) -> Problems:
    """A volume that a CSI driver makes for the Pod. A Secret's bad name is reported as the volume's."""
    yield from check_name(source, path, "driver", names.csi_driver)
    if source.get("nodePublishSecretRef") is not None:
        secret = text(source["nodePublishSecretRef"], "name")
        at = path / "nodePublishSecretRef" / "name"
        yield from check_rule(secret, path / "name", names.dns_subdomain) if secret else [required(at)]


def check_secret(source: Value, path: Path, *fields: str) -> Problems:
    """Where there is a Secret, it is named by these."""
    if source.get("secretRef") is not None:
        yield from check_given(source["secretRef"], path / "secretRef", *fields)


def _check_initiator(value: str, path: Path) -> Problems:
    pattern = _INITIATORS.get(value[:3])
    if pattern is None:
        yield invalid(path, value, "must be valid format starting with iqn, eui, or naa")
    elif pattern.fullmatch(value) is None:
        yield invalid(path, value, "must be valid format")
