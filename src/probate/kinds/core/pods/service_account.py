"""Applies the service account of a new pod, and checks which secrets the account lets the pod use.

The pod gets the account's name, its image pull secrets if the pod has none, and a volume with a token, the server's CA certificate
and the namespace, mounted into every container at the usual path, unless the pod, or else its account, disables the token. An
account can also restrict its pods to the secrets that it lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from probate.api.objects import Object
from probate.kinds.shared.object_fields import below, child, items, text

DEFAULT_ACCOUNT = "default"
MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
"""The annotation of mirror pods: the kubelet runs them from local files, and the API only shows them."""
ENFORCE_ANNOTATION = "kubernetes.io/enforce-mountable-secrets"
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
VOLUME_PREFIX = "kube-api-access-"
TOKEN_SECONDS = 3607
"""The lifetime of the token. Kubernetes uses this unusual number to recognise tokens that were injected into pods."""
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_LISTS = {"initContainers": "init container", "containers": "container", "ephemeralContainers": "ephemeral container"}


class _Use(NamedTuple):
    """A container's use of a secret."""

    container: str
    how: str
    secret: str


def account_name(pod: Object) -> str:
    """Returns the name of the service account that the pod runs as."""
    return text(child(pod, "spec") or {}, "serviceAccountName") or DEFAULT_ACCOUNT


def is_mirror(pod: Object) -> bool:
    """Reports whether the pod is a mirror pod."""
    return MIRROR_ANNOTATION in (below(pod, "metadata", "annotations") or {})


def apply_account(pod: Object, account: Object, new_name: Callable[[str], str]) -> None:
    """Applies the service account to a new pod. `new_name` returns a unique name with the given prefix."""
    spec = pod["spec"]
    spec["serviceAccountName"] = account_name(pod)
    automount = spec.get("automountServiceAccountToken")
    if automount is None:
        automount = account.get("automountServiceAccountToken")
    if automount is not False:
        _mount_token(spec, new_name)
    if not spec.get("imagePullSecrets") and (pull_secrets := items(account, "imagePullSecrets")):
        spec["imagePullSecrets"] = [{"name": text(one, "name")} for one in pull_secrets]


def secret_rejection(pod: Object, account: Object, *names: str) -> str:
    """Returns why the pod may not use a secret that it uses; empty if it may use all of them.

    Checks the containers of the named lists, and the parts of the pod outside containers.
    """
    annotations = below(account, "metadata", "annotations") or {}
    if annotations.get(ENFORCE_ANNOTATION) not in _TRUE:
        return ""
    name, allowed = text(account["metadata"], "name"), {text(one, "name") for one in items(account, "secrets")}
    not_allowed = f"is not allowed because service account {name} does not reference that"
    if "containers" in names:
        for volume in items(pod["spec"], "volumes"):
            secret = below(volume, "secret")
            if secret is not None and text(secret, "secretName") not in allowed:
                return f'volume with secret.secretName="{text(secret, "secretName")}" {not_allowed} secret'
    for use in _secret_uses(pod["spec"], names):
        if use.secret not in allowed:
            return f'{use.container} with {use.how} referencing secret.secretName="{use.secret}" {not_allowed} secret'
    pull_secrets = {text(one, "name") for one in items(account, "imagePullSecrets")}
    for index, one in enumerate(items(pod["spec"], "imagePullSecrets") if "containers" in names else ()):
        if text(one, "name") not in pull_secrets:
            return f'imagePullSecrets[{index}].name="{text(one, "name")}" {not_allowed} imagePullSecret'
    return ""


def mirror_pod_rejection(pod: Object) -> str:
    """Returns why a mirror pod is rejected: it cannot refer to API objects such as service accounts and secrets."""
    spec = child(pod, "spec") or {}
    if spec.get("serviceAccountName"):
        return "a mirror pod may not reference service accounts"
    volumes = items(spec, "volumes")
    if spec.get("imagePullSecrets") or any(_secret_uses(spec, tuple(_LISTS))) or any(_has_secret(one) for one in volumes):
        return "a mirror pod may not reference secrets"
    projected = [source for volume in volumes for source in items(below(volume, "projected"), "sources")]
    if any("serviceAccountToken" in one for one in projected):
        return "a mirror pod may not use ServiceAccountToken volume projections"
    return ""


def _mount_token(spec: Object, new_name: Callable[[str], str]) -> None:
    named = [text(one, "name") for one in items(spec, "volumes") if text(one, "name").startswith(VOLUME_PREFIX)]
    name = named[0] if named else new_name(VOLUME_PREFIX)
    is_needed = False
    for container in (*items(spec, "initContainers"), *items(spec, "containers")):
        mounts = items(container, "volumeMounts")
        if not any(one.get("mountPath") == MOUNT_PATH for one in mounts):
            container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}]
            is_needed = True
    if is_needed and not named:
        spec["volumes"] = [*items(spec, "volumes"), {"name": name, "projected": _sources()}]


def _sources() -> Object:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "defaultMode": 0o644,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
    }


def _secret_uses(spec: Object, names: tuple[str, ...]) -> Iterator[_Use]:
    for name in names:
        for container in items(spec, name):
            called = f"{_LISTS[name]} {text(container, 'name')}"
            for variable in items(container, "env"):
                if (reference := below(variable, "valueFrom", "secretKeyRef")) is not None:
                    yield _Use(called, f"envVar {text(variable, 'name')}", text(reference, "name"))
            for source in items(container, "envFrom"):
                if (reference := child(source, "secretRef")) is not None:
                    yield _Use(called, "envFrom", text(reference, "name"))


def _has_secret(volume: Object) -> bool:
    """Reports whether the volume requires a secret."""
    if any("secret" in source for source in items(child(volume, "projected"), "sources")):
        return True
    sources = [source for source in volume.values() if isinstance(source, dict)]
    is_named = any("secretRef" in one or "nodePublishSecretRef" in one or "secretName" in one for one in sources)
    return "secret" in volume or is_named
