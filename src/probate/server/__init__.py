"""The HTTP door: filters, one verb per file, subresources, authn, authz, admission, crds, discovery, openapi."""
