"""Discovery of the issuer of service accounts' tokens, as OpenID Connect has it: who takes such tokens can verify them alone.

Both documents are for who may read these paths: `system:service-account-issuer-discovery`, which all service accounts have. There
is nothing of this where the issuer is no https URL: nobody could look for it there.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import orjson

from probate.server import api_errors
from probate.server.authn.service_accounts import KEYS
from probate.server.codec import negotiation
from probate.server.context import Answer, Api

PATH = "/.well-known/openid-configuration"
KEY_SET = "application/jwk-set+json"
_HOUR = (("cache-control", "public, max-age=3600"),)


async def configuration(api: Api) -> Answer:
    """Who signs tokens, and where the keys to verify them with are."""
    keys = _keys(api, PATH)
    told = {
        "issuer": api.accounts.issuer,
        "jwks_uri": api.accounts.keys_at,
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": sorted({key["alg"] for key in keys}),
    }
    return Answer(200, orjson.dumps(told), negotiation.JSON, headers=_HOUR)


async def keys(api: Api) -> Answer:
    """These keys."""
    return Answer(200, orjson.dumps({"keys": _keys(api, KEYS)}), KEY_SET, headers=_HOUR)


def _keys(api: Api, path: str) -> list[dict[str, Any]]:
    if not _can_be_found(api.accounts.issuer):
        raise api_errors.no_such_path(path)
    return api.accounts.keys()  # here, as all who sign and verify: on two threads two keys could be made


def _can_be_found(issuer: str) -> bool:
    try:
        url = urlsplit(issuer)
    except ValueError:
        return False
    return url.scheme == "https" and not url.query and not url.fragment
