"""What a new pod gets from the service account that it runs as, and what that keeps it from.

It gets the account's name, the secrets to pull images with if it brings none, and a volume with a token, the server's certificate
and the namespace, where every container looks for them: unless the pod, or else its account, does not want that. An account can
also say that its pods may use no secrets but those that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from probate.kinds.shared.object_fields import Object, below, child, items, text

USUAL = "default"
MIRROR = "kubernetes.io/config.mirror"
"""The annotation of pods that a kubelet runs without having been asked: the API only shows them."""
ENFORCED = "kubernetes.io/enforce-mountable-secrets"
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
VOLUME = "kube-api-access-"
SECONDS = 3607
"""For how long the token is. A number that nobody else asks for: who sees it knows where the token comes from."""
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_LISTS = {"initContainers": "init container", "containers": "container", "ephemeralContainers": "ephemeral container"}


class _Use(NamedTuple):
    """A container's use of a secret."""

    container: str
    how: str
    secret: str


def account_of(pod: Object) -> str:
    """The name of the account that the pod runs as."""
    return text(child(pod, "spec") or {}, "serviceAccountName") or USUAL


def is_mirror(pod: Object) -> bool:
    """Whether the pod only mirrors one that runs anyway."""
    return MIRROR in (below(pod, "metadata", "annotations") or {})


def give(pod: Object, account: Object, new_name: Callable[[str], str]) -> None:
    """Give a new pod what its account has. `new_name` makes a name that begins as it is told."""
    spec = pod["spec"]
    spec["serviceAccountName"] = account_of(pod)
    wanted = spec.get("automountServiceAccountToken")
    if wanted is None:
        wanted = account.get("automountServiceAccountToken")
    if wanted is not False:
        _mount(spec, new_name)
    if not spec.get("imagePullSecrets") and (pulling := items(account, "imagePullSecrets")):
        spec["imagePullSecrets"] = [{"name": text(one, "name")} for one in pulling]


def objection(pod: Object, account: Object, *names: str) -> str:
    """Why the pod may not use a secret that it uses, in containers of these lists and beside them; nothing if it may use all."""
    noted = below(account, "metadata", "annotations") or {}
    if noted.get(ENFORCED) not in _TRUE:
        return ""
    name, allowed = text(account["metadata"], "name"), {text(one, "name") for one in items(account, "secrets")}
    unsaid = f"is not allowed because service account {name} does not reference that"
    if "containers" in names:
        for volume in items(pod["spec"], "volumes"):
            secret = below(volume, "secret")
            if secret is not None and text(secret, "secretName") not in allowed:
                return f'volume with secret.secretName="{text(secret, "secretName")}" {unsaid} secret'
    for use in _uses(pod["spec"], names):
        if use.secret not in allowed:
            return f'{use.container} with {use.how} referencing secret.secretName="{use.secret}" {unsaid} secret'
    pulling = {text(one, "name") for one in items(account, "imagePullSecrets")}
    for index, one in enumerate(items(pod["spec"], "imagePullSecrets") if "containers" in names else ()):
        if text(one, "name") not in pulling:
            return f'imagePullSecrets[{index}].name="{text(one, "name")}" {unsaid} imagePullSecret'
    return ""


def objection_to_mirror(pod: Object) -> str:
    """Why a pod that mirrors another may not be: it can have nothing that the API would have to give it."""
    spec = child(pod, "spec") or {}
    if spec.get("serviceAccountName"):
        return "a mirror pod may not reference service accounts"
    volumes = items(spec, "volumes")
    if spec.get("imagePullSecrets") or any(_uses(spec, tuple(_LISTS))) or any(_has_secret(one) for one in volumes):
        return "a mirror pod may not reference secrets"
    projected = [source for volume in volumes for source in items(below(volume, "projected"), "sources")]
    if any("serviceAccountToken" in one for one in projected):
        return "a mirror pod may not use ServiceAccountToken volume projections"
    return ""


def _mount(spec: Object, new_name: Callable[[str], str]) -> None:
    named = [text(one, "name") for one in items(spec, "volumes") if text(one, "name").startswith(VOLUME)]
    name = named[0] if named else new_name(VOLUME)
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
            {"serviceAccountToken": {"expirationSeconds": SECONDS, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
    }


def _uses(spec: Object, names: tuple[str, ...]) -> Iterator[_Use]:
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
    """Whether some secret is needed to have the volume."""
    if any("secret" in source for source in items(child(volume, "projected"), "sources")):
        return True
    sources = [source for source in volume.values() if isinstance(source, dict)]
    is_named = any("secretRef" in one or "nodePublishSecretRef" in one or "secretName" in one for one in sources)
    return "secret" in volume or is_named
