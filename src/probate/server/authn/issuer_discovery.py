"""Publishes the issuer of service account tokens for OpenID Connect discovery, so that others can verify the tokens themselves.

Reading both documents takes the role `system:service-account-issuer-discovery`, which all service accounts have. If the issuer is
not an https URL, both paths answer 404: a verifier could not find them by the issuer.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import orjson

from probate.server import api_errors
from probate.server.authn.service_accounts import JWKS_PATH, TokenIssuer
from probate.server.codec import negotiation
from probate.server.response import Response

CONFIGURATION_PATH = "/.well-known/openid-configuration"
JWKS_MEDIA_TYPE = "application/jwk-set+json"
_HOUR = (("cache-control", "public, max-age=3600"),)


async def openid_configuration(issuer: TokenIssuer) -> Response:
    """Returns the OpenID provider configuration: the issuer, and where its keys are."""
    jwks = _keys(issuer, CONFIGURATION_PATH)
    document = {
        "issuer": issuer.issuer,
        "jwks_uri": issuer.jwks_uri,
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": sorted({key["alg"] for key in jwks}),
    }
    return Response(200, orjson.dumps(document), negotiation.JSON, headers=_HOUR)


async def json_web_key_set(issuer: TokenIssuer) -> Response:
    """Returns the public keys that verify tokens."""
    return Response(200, orjson.dumps({"keys": _keys(issuer, JWKS_PATH)}), JWKS_MEDIA_TYPE, headers=_HOUR)


def _keys(issuer: TokenIssuer, path: str) -> list[dict[str, Any]]:
    if not _is_discoverable(issuer.issuer):
        raise api_errors.path_not_found(path)
    return issuer.keys()  # on the event loop, like all signing and verifying: two threads could create two keys


def _is_discoverable(issuer: str) -> bool:
    try:
        url = urlsplit(issuer)
    except ValueError:
        return False
    return url.scheme == "https" and not url.query and not url.fragment
