"""Kinds that bring kinds: custom resource definitions and aggregated API services."""

from __future__ import annotations

from probate.kinds.shared.object_fields import Object, below, child, fill, fill_zero, made, text

_HTTPS = 443


def default_custom_resource_definition(definition: Object) -> None:
    """Fill a CustomResourceDefinition: the names that follow from its kind, and no conversion."""
    spec = made(definition, "spec")
    if spec is None:
        return
    if (names := made(spec, "names")) is not None and (kind := text(names, "kind")):
        fill_zero(names, singular=kind.lower(), listKind=f"{kind}List")
    if (conversion := made(spec, "conversion")) is not None:
        fill_zero(conversion, strategy="None")
        if (config := below(conversion, "webhook", "clientConfig")) is not None:
            default_client_config(config)


def default_api_service(service: Object) -> None:
    """Fill an APIService."""
    spec = made(service, "spec")
    if spec is None:
        return
    if (reference := child(spec, "service")) is not None:
        fill(reference, port=_HTTPS)


def default_client_config(config: Object) -> None:
    """Fill how a webhook is called."""
    if (service := child(config, "service")) is not None:
        fill(service, port=_HTTPS)
