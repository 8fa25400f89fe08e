"""AppArmor profiles of new pods: what used to be an annotation for each container becomes its field.

A field that is given counts. What the annotation says is copied only if it can be understood, and if the pod as a whole does not
say the same.
"""

from __future__ import annotations

from probate.kinds.shared.object_fields import Object, below, items, made

PREFIX = "container.apparmor.security.beta.kubernetes.io/"
_LISTS = ("initContainers", "containers", "ephemeralContainers")
_LOCAL = "localhost/"
_MAX_LOCAL = 4095


def copy_annotations(spec: Object, annotations: Object) -> None:
    """Give the containers of a new pod the profiles that its annotations name."""
    if not any(isinstance(key, str) and key.startswith(PREFIX) for key in annotations):
        return
    if (below(spec, "os") or {}).get("name") == "windows":
        return
    of_all = below(spec, "securityContext", "appArmorProfile")
    for container in (one for name in _LISTS for one in items(spec, name)):
        profile = _profile(annotations.get(f"{PREFIX}{container.get('name')}"))
        if profile is None or profile == of_all or below(container, "securityContext", "appArmorProfile") is not None:
            continue
        if (context := made(container, "securityContext")) is not None:
            context["appArmorProfile"] = profile


def _profile(said: object) -> Object | None:
    if said == "runtime/default":
        return {"type": "RuntimeDefault"}
    if said == "unconfined":
        return {"type": "Unconfined"}
    if not isinstance(said, str) or not said.startswith(_LOCAL):
        return None
    name = said.removeprefix(_LOCAL)
    is_good = name == name.strip() and 0 < len(name) <= _MAX_LOCAL
    return {"type": "Localhost", "localhostProfile": name} if is_good else None
