"""Volumes of a Pod: names of their own, exactly one source, and what each source needs."""

from __future__ import annotations

from collections.abc import Mapping

from probate.api import names, quantities
from probate.api.field_errors import MAX_PROBLEMS, Path, Problem, duplicate, forbidden, invalid, required
from probate.kinds.core.pods.volumes import network_disks, projections
from probate.kinds.core.pods.volumes.paths import check_backsteps, check_local_path
from probate.kinds.core.volumes.claim_validation import check_claim_template
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

_HOST_PATH_TYPES = ("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice")
_SPELT = {"gcePersistentDisk": "persistentDisk"}
_SPELT_IN_VAIN = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}


def check_volumes(spec: Value, path: Path) -> tuple[list[Problem], dict[str, Value]]:
    """What is wrong with the volumes of a Pod, and the good ones by name: only they can be mounted."""
    found: list[Problem] = []
    good: dict[str, Value] = {}
    for volume, at in each(spec, path, "volumes"):
        problems = [*check_source(volume, at, _SOURCES), *check_name(volume, at, "name", names.dns_label)]
        if text(volume, "name") in good:
            problems.append(duplicate(at / "name", text(volume, "name")))
        if not problems:
            good[text(volume, "name")] = volume
        found += problems
        if len(found) >= MAX_PROBLEMS:
            break
    return found, good


def check_volumes_of_pod(spec: Value, name: str, path: Path) -> Problems:
    """What is told by the Pod that is made, and not by a template: its name is part of the names of its claims."""
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
            yield from check_rule(f"{name}-{text(volume, 'name')}", at / "name", names.dns_subdomain)


def check_source(source: Value, path: Path, checks: Mapping[str, network_disks.Check]) -> Problems:
    """Exactly one source, complete in itself. Of several, the first in Kubernetes' order counts, and the others are too many.

    Some are reported under other names than they have.
    """
    given = [name for name, value in source.items() if value is not None and name in checks]
    if len(given) > 1:
        given.sort(key=list(checks).index)
    if not given:
        yield required(path, "must specify a volume type")
        return
    yield from checks[given[0]](source[given[0]], path / _SPELT.get(given[0], given[0]))
    detail = "may not specify more than 1 volume type"
    yield from (forbidden(path / _SPELT_IN_VAIN.get(name, name), detail) for name in given[1:])


def check_host_path(source: Value, path: Path) -> Problems:
    """A path of the node's file system."""
    if not text(source, "path"):
        yield required(path / "path")
        return
    yield from check_backsteps(text(source, "path"), path / "path")
    yield from check_choice(source, path, "type", _HOST_PATH_TYPES)


def _check_empty_dir(source: Value, path: Path) -> Problems:
    if quantities.value_of(source.get("sizeLimit")) < 0:
        yield forbidden(path / "sizeLimit", "SizeLimit field must be a valid resource quantity")


def _check_ephemeral(source: Value, path: Path) -> Problems:
    if source.get("volumeClaimTemplate") is None:
        yield required(path / "volumeClaimTemplate")
    else:
        yield from check_claim_template(source["volumeClaimTemplate"], path / "volumeClaimTemplate")


def _check_git(source: Value, path: Path) -> Problems:
    yield from check_given(source, path, "repository")
    yield from check_local_path(text(source, "directory"), path / "directory")


def _check_image(source: Value, path: Path) -> Problems:
    yield from check_choice(source, path, "pullPolicy", ("Always", "IfNotPresent", "Never"))


_SOURCES: Mapping[str, network_disks.Check] = {
    "emptyDir": _check_empty_dir,
    "hostPath": check_host_path,
    "gitRepo": _check_git,
    "gcePersistentDisk": network_disks.check_google_disk,
    "awsElasticBlockStore": network_disks.check_amazon_disk,
    "secret": projections.check_secret,
    "nfs": network_disks.check_nfs,
    "iscsi": network_disks.check_iscsi,
    "glusterfs": network_disks.needing("endpoints", "path"),
    "flocker": network_disks.check_flocker,
    "persistentVolumeClaim": network_disks.needing("claimName"),
    "rbd": network_disks.needing("monitors", "image"),
    "cinder": network_disks.check_cinder,
    "cephfs": network_disks.needing("monitors"),
    "quobyte": network_disks.check_quobyte,
    "downwardAPI": projections.check_downward,
    "fc": network_disks.check_fibre_channel,
    "flexVolume": network_disks.check_flex,
    "configMap": projections.check_config_map,
    "azureFile": network_disks.needing("secretName", "shareName"),
    "vsphereVolume": network_disks.needing("volumePath"),
    "photonPersistentDisk": network_disks.needing("pdID"),
    "portworxVolume": network_disks.needing("volumeID"),
    "azureDisk": network_disks.check_azure_disk,
    "storageos": network_disks.check_storage_os,
    "projected": projections.check_projected,
    "scaleIO": network_disks.needing("gateway", "system", "volumeName"),
    "csi": network_disks.check_csi,
    "ephemeral": _check_ephemeral,
    "image": _check_image,
}
