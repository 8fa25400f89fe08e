"""Sets the defaults of CustomResourceDefinitions and APIServices."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.shared.object_fields import below, child, ensure_child, fill, fill_zero, text

_HTTPS = 443


def default_custom_resource_definition(definition: Object) -> None:
    """Sets the defaults of a CustomResourceDefinition: the names that derive from its kind, and no conversion."""
    spec = ensure_child(definition, "spec")
    if spec is None:
        return
    if (names := ensure_child(spec, "names")) is not None and (kind := text(names, "kind")):
        fill_zero(names, singular=kind.lower(), listKind=f"{kind}List")
    if (conversion := ensure_child(spec, "conversion")) is not None:
        fill_zero(conversion, strategy="None")
        if (config := below(conversion, "webhook", "clientConfig")) is not None:
            default_client_config(config)


def default_api_service(service: Object) -> None:
    """Sets the defaults of an APIService."""
    spec = ensure_child(service, "spec")
    if spec is None:
        return
    if (reference := child(spec, "service")) is not None:
        fill(reference, port=_HTTPS)


def default_client_config(config: Object) -> None:
    """Sets the defaults of a webhook's client configuration."""
    if (service := child(config, "service")) is not None:
        fill(service, port=_HTTPS)
