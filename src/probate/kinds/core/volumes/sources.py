"""Validates the sources of a PersistentVolume: mostly those that Pods have too, with the namespaces of their Secrets."""

from __future__ import annotations

from collections.abc import Mapping

from probate.api import names
from probate.api.field_errors import FieldPath, invalid, required
from probate.kinds.core.volumes import network_disks
from probate.kinds.core.volumes.paths import check_backsteps
from probate.kinds.core.volumes.volume_source import check_host_path
from probate.kinds.shared.field_checks import Problems, Value, check_given, check_name, check_optional_name, text

_SECRETS = ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef")


def _check_glusterfs(source: Value, path: FieldPath) -> Problems:
    yield from check_given(source, path, "endpoints", "path")
    if source.get("endpointsNamespace") == "":
        yield invalid(path / "endpointsNamespace", "", "must be a valid namespace name if it is set")
    yield from check_optional_name(source, path, "endpointsNamespace", rule=names.validate_dns_label)


def _check_iscsi(source: Value, path: FieldPath) -> Problems:
    yield from network_disks.check_iscsi(source, path)
    yield from network_disks.check_secret(source, path, "name")


def _check_cinder(source: Value, path: FieldPath) -> Problems:
    yield from network_disks.check_cinder(source, path)
    yield from network_disks.check_secret(source, path, "namespace")


def _check_storage_os(source: Value, path: FieldPath) -> Problems:
    yield from network_disks.check_storage_os(source, path)
    yield from network_disks.check_secret(source, path, "namespace")


def _check_azure_file(source: Value, path: FieldPath) -> Problems:
    yield from check_given(source, path, "secretName", "shareName")
    if source.get("secretNamespace") == "":
        yield required(path / "secretNamespace")


def _check_local(source: Value, path: FieldPath) -> Problems:
    yield from check_given(source, path, "path")
    yield from check_backsteps(text(source, "path"), path / "path")


def _check_csi(source: Value, path: FieldPath) -> Problems:
    yield from check_name(source, path, "driver", rule=names.validate_csi_driver)
    yield from check_given(source, path, "volumeHandle")
    for field in _SECRETS:
        if source.get(field) is not None:
            yield from check_name(source[field], path / field, "name", rule=names.validate_dns_subdomain)
            yield from check_name(source[field], path / field, "namespace", rule=names.validate_dns_label)


SOURCES: Mapping[str, network_disks.Check] = {
    "hostPath": check_host_path,
    "gcePersistentDisk": network_disks.check_google_disk,
    "awsElasticBlockStore": network_disks.check_amazon_disk,
    "glusterfs": _check_glusterfs,
    "flocker": network_disks.check_flocker,
    "nfs": network_disks.check_nfs,
    "rbd": network_disks.require_fields("monitors", "image"),
    "quobyte": network_disks.check_quobyte,
    "cephfs": network_disks.require_fields("monitors"),
    "iscsi": _check_iscsi,
    "cinder": _check_cinder,
    "fc": network_disks.check_fibre_channel,
    "flexVolume": network_disks.check_flex,
    "azureFile": _check_azure_file,
    "vsphereVolume": network_disks.require_fields("volumePath"),
    "photonPersistentDisk": network_disks.require_fields("pdID"),
    "portworxVolume": network_disks.require_fields("volumeID"),
    "azureDisk": network_disks.check_azure_disk,
    "scaleIO": network_disks.require_fields("gateway", "system", "volumeName"),
    "local": _check_local,
    "storageos": _check_storage_os,
    "csi": _check_csi,
}
"""The sources in the order in which Kubernetes checks them."""
