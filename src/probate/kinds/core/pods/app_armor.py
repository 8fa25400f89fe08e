"""Copies AppArmor annotations of new pods into the `appArmorProfile` field of their containers.

An existing field takes precedence. The annotation is copied only if it is valid, and only if the pod-level profile differs from it.
"""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.shared.object_fields import below, ensure_child, items

PREFIX = "container.apparmor.security.beta.kubernetes.io/"
_LISTS = ("initContainers", "containers", "ephemeralContainers")
_LOCAL = "localhost/"
_MAX_LOCAL = 4095


def copy_annotations(spec: Object, annotations: Object) -> None:
    """Sets the AppArmor profiles of a new pod's containers from the pod's annotations."""
    if not any(isinstance(key, str) and key.startswith(PREFIX) for key in annotations):
        return
    if (below(spec, "os") or {}).get("name") == "windows":
        return
    pod_profile = below(spec, "securityContext", "appArmorProfile")
    for container in (one for name in _LISTS for one in items(spec, name)):
        profile = _profile(annotations.get(f"{PREFIX}{container.get('name')}"))
        if profile is None or profile == pod_profile or below(container, "securityContext", "appArmorProfile") is not None:
            continue
        if (context := ensure_child(container, "securityContext")) is not None:
            context["appArmorProfile"] = profile


def _profile(annotation: object) -> Object | None:
    if annotation == "runtime/default":
        return {"type": "RuntimeDefault"}
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if not isinstance(annotation, str) or not annotation.startswith(_LOCAL):
        return None
    name = annotation.removeprefix(_LOCAL)
    is_valid = name == name.strip() and 0 < len(name) <= _MAX_LOCAL
    return {"type": "Localhost", "localhostProfile": name} if is_valid else None
