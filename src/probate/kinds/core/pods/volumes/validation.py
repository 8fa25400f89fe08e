"""Validates the volumes of a Pod: unique names, exactly one source each, and the fields that each source requires."""

from __future__ import annotations

from collections.abc import Mapping

from probate.api import names, quantities
from probate.api.field_errors import MAX_FIELD_ERRORS, FieldError, FieldPath, duplicate, forbidden, invalid, required
from probate.kinds.core.pods.volumes import projections
from probate.kinds.core.volumes import network_disks
from probate.kinds.core.volumes.claim_validation import check_claim_template
from probate.kinds.core.volumes.paths import check_local_path
from probate.kinds.core.volumes.volume_source import check_host_path, check_source
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_choice,
    check_given,
    check_name,
    check_rule,
    child,
    each,
    objects,
    text,
)


def check_volumes(spec: Value, path: FieldPath) -> tuple[list[FieldError], dict[str, Value]]:
    """Returns the problems of the volumes of a Pod, and the valid volumes by name: only they can be mounted."""
    found: list[FieldError] = []
    good: dict[str, Value] = {}
    for volume, at in each(spec, path, "volumes"):
        problems = [*check_source(volume, at, _SOURCES), *check_name(volume, at, "name", rule=names.validate_dns_label)]
        if text(volume, "name") in good:
            problems.append(duplicate(at / "name", text(volume, "name")))
        if not problems:
            good[text(volume, "name")] = volume
        found += problems
        if len(found) >= MAX_FIELD_ERRORS:
            break
    return found, good


def check_volumes_of_pod(spec: Value, name: str, path: FieldPath) -> Problems:
    """Validates what applies to a Pod but not to a template: the Pod's name is part of the names of its ephemeral claims."""
    if not any("image" in one or "ephemeral" in one for one in objects(spec, "volumes")):
        return
    made = {f"{name}-{text(one, 'name')}" for one in objects(spec, "volumes") if one.get("ephemeral") is not None} if name else ()
    for volume, at in each(spec, path, "volumes"):
        if volume.get("image") is not None:
            yield from check_given(volume["image"], at / "image", "reference")
        claim = text(child(volume, "persistentVolumeClaim"), "claimName")
        if claim in made:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            yield invalid(at / "persistentVolumeClaim" / "claimName", claim, detail)
        if name and text(volume, "name") and volume.get("ephemeral") is not None:
            yield from check_rule(f"{name}-{text(volume, 'name')}", at / "name", names.validate_dns_subdomain)


def _check_empty_dir(source: Value, path: FieldPath) -> Problems:
    if quantities.value_or_zero(source.get("sizeLimit")) < 0:
        yield forbidden(path / "sizeLimit", "SizeLimit field must be a valid resource quantity")


def _check_ephemeral(source: Value, path: FieldPath) -> Problems:
    if source.get("volumeClaimTemplate") is None:
        yield required(path / "volumeClaimTemplate")
    else:
        yield from check_claim_template(source["volumeClaimTemplate"], path / "volumeClaimTemplate")


def _check_git(source: Value, path: FieldPath) -> Problems:
    yield from check_given(source, path, "repository")
    yield from check_local_path(text(source, "directory"), path / "directory")


def _check_image(source: Value, path: FieldPath) -> Problems:
    yield from check_choice(source, path, "pullPolicy", supported=("Always", "IfNotPresent", "Never"))


_SOURCES: Mapping[str, network_disks.Check] = {
    "emptyDir": _check_empty_dir,
    "hostPath": check_host_path,
    "gitRepo": _check_git,
    "gcePersistentDisk": network_disks.check_google_disk,
    "awsElasticBlockStore": network_disks.check_amazon_disk,
    "secret": projections.check_secret,
    "nfs": network_disks.check_nfs,
    "iscsi": network_disks.check_iscsi,
    "glusterfs": network_disks.require_fields("endpoints", "path"),
    "flocker": network_disks.check_flocker,
    "persistentVolumeClaim": network_disks.require_fields("claimName"),
    "rbd": network_disks.require_fields("monitors", "image"),
    "cinder": network_disks.check_cinder,
    "cephfs": network_disks.require_fields("monitors"),
    "quobyte": network_disks.check_quobyte,
    "downwardAPI": projections.check_downward,
    "fc": network_disks.check_fibre_channel,
    "flexVolume": network_disks.check_flex,
    "configMap": projections.check_config_map,
    "azureFile": network_disks.require_fields("secretName", "shareName"),
    "vsphereVolume": network_disks.require_fields("volumePath"),
    "photonPersistentDisk": network_disks.require_fields("pdID"),
    "portworxVolume": network_disks.require_fields("volumeID"),
    "azureDisk": network_disks.check_azure_disk,
    "storageos": network_disks.check_storage_os,
    "projected": projections.check_projected,
    "scaleIO": network_disks.require_fields("gateway", "system", "volumeName"),
    "csi": network_disks.check_csi,
    "ephemeral": _check_ephemeral,
    "image": _check_image,
}
