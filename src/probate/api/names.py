"""Name rules: which names, label keys and label values are valid, and how `generateName` becomes a name.

A rule takes a text and returns one message for each violation, or an empty list. Rules that Kubernetes checks in several
steps return several messages, since each becomes a cause of its own in the response.

    validate_dns_subdomain("UPPER_case")         ["a lowercase RFC 1123 subdomain ..."]
    name_rule("", "Namespace")("team-a")         []
    generate_name("web-", random)                "web-x7k2d"

This module draws no random numbers: callers pass the random source.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")

NameRule = Callable[[str], list[str]]

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # without vowels and look-alikes, so suffixes form no words and are not misread
SUFFIX_LENGTH = 5
BASE_LENGTH = 63 - SUFFIX_LENGTH
VALIDITY_CACHE_SIZE = 2_000
"""Number of valid labels, and of valid DNS labels, that the caches hold."""
MAX_CACHED_LENGTH = 400
"""Longest label key or value, in characters, that is looked up in the caches. No longer one is valid."""

TENANT_ID_LENGTH = 6
_PLATFORM_IDS, _PLATFORM_PREFIX = frozenset({"system"}), "kube-"
_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_LABEL_1035 = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_QUALIFIED = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_ENV_VAR = re.compile(r"[ -<>-~]+")
_PORT = re.compile(r"[-a-z0-9]+")
_HTTP_HEADER = re.compile(r"[-A-Za-z0-9]+")
_TENANT_ID = re.compile(r"[a-z0-9][-a-z0-9]*")
_SIGNER_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")


class Chooser(Protocol):
    """A source of random choices, such as `random.Random`."""

    def choice(self, seq: Sequence[T], /) -> T: ...


def generate_name(base: str, random: Chooser) -> str:
    """Returns a name for `generateName`: `base` and five random characters.

    Truncates `base` so that the name is at most as long as a label.
    """
    return base[:BASE_LENGTH] + "".join(random.choice(ALPHABET) for _ in range(SUFFIX_LENGTH))


def validate_dns_subdomain(text: str) -> list[str]:
    """Checks labels joined by dots, at most 253 characters: the rule for the names of most objects."""
    detail = "must be a lowercase RFC 1123 subdomain: letters a-z, digits, '-' and '.', beginning and ending with a letter or digit"
    return _validate_pattern(_SUBDOMAIN, text, limit=253, detail=detail)


def validate_dns_label(text: str) -> list[str]:
    """Checks one label of a host name, at most 63 characters: the rule for namespaces, containers and services."""
    detail = "must be a lowercase RFC 1123 label: letters a-z, digits and '-', beginning and ending with a letter or digit"
    return _validate_pattern(_LABEL, text, limit=63, detail=detail)


def validate_dns_1035_label(text: str) -> list[str]:
    """Checks a DNS label that begins with a letter."""
    detail = "must be a DNS-1035 label: letters a-z, digits and '-', beginning with a letter and ending with a letter or digit"
    return _validate_pattern(_LABEL_1035, text, limit=63, detail=detail)


def validate_path_segment(text: str) -> list[str]:
    """Checks that the text can stand between two slashes of a URL: the rule for roles and a few other kinds."""
    if text in {".", ".."}:
        return [f"may not be '{text}'"]
    return validate_path_segment_prefix(text)


def validate_path_segment_prefix(text: str) -> list[str]:
    """Checks the beginning of a path segment."""
    return [f"may not contain '{character}'" for character in "/%" if character in text]


def validate_qualified_name(text: str) -> list[str]:
    """Checks a label key: a name of at most 63 characters, optionally after a DNS subdomain and a slash."""
    if "/" not in text:
        return [f"name part {message}" for message in _validate_non_empty(text, _validate_qualified_part)]
    prefix, _, name = text.rpartition("/")
    if "/" in prefix:
        return ["must be a name, optionally after a DNS subdomain and one '/' (e.g. 'example.com/MyName')"]
    messages = [f"prefix part {message}" for message in _validate_non_empty(prefix, validate_dns_subdomain)]
    return [*messages, *(f"name part {message}" for message in _validate_non_empty(name, _validate_qualified_part))]


def validate_label_value(text: str) -> list[str]:
    """Checks the value of a label: empty, or valid as the name part of a label key."""
    return _validate_qualified_part(text) if text else []


@functools.lru_cache(maxsize=VALIDITY_CACHE_SIZE)
def is_valid_label(key: str, value: str) -> bool:
    """Returns whether key and value of a label are valid. Fast path: cached, since most labels repeat."""
    return not validate_qualified_name(key) and not validate_label_value(value)


@functools.lru_cache(maxsize=VALIDITY_CACHE_SIZE)
def is_valid_dns_label(text: str) -> bool:
    """Returns whether the text is a valid DNS label. Fast path: cached, since many objects share few namespaces."""
    return not validate_dns_label(text)


def validate_config_key(text: str) -> list[str]:
    """Checks a key of a ConfigMap or a Secret, which becomes a file name."""
    messages = _validate_pattern(_CONFIG_KEY, text, limit=253, detail="must consist of letters, digits, '-', '_' and '.'")
    if not text.startswith("."):
        return messages
    if text in {".", ".."}:
        messages.append(f"must not be '{text}'")
    elif text.startswith(".."):
        messages.append("must not start with '..'")
    return messages


def validate_env_var(text: str) -> list[str]:
    """Checks the name of an environment variable: printable ASCII characters other than `=`."""
    return _validate_match(_ENV_VAR, text, "must consist of printable ASCII characters other than '='")


def validate_port_name(text: str) -> list[str]:
    """Checks an IANA port name: at most 15 characters, at least one letter."""
    messages = _validate_length(text, 15)
    if _PORT.fullmatch(text) is None:
        messages.append("must contain only letters a-z, digits and '-'")
    if re.search(r"[a-z]", text) is None:
        messages.append("must contain at least one letter")
    if "--" in text:
        messages.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        messages.append("must not begin or end with a hyphen")
    return messages


def validate_http_header(text: str) -> list[str]:
    """Checks the name of an HTTP header."""
    return _validate_match(_HTTP_HEADER, text, "must consist of letters, digits and '-'")


def validate_wildcard_subdomain(text: str) -> list[str]:
    """Checks a DNS subdomain whose first label is `*`."""
    if not text.startswith("*."):
        return ["must begin with '*.'"]
    return validate_dns_subdomain(text[2:])


def validate_domain_path(text: str) -> list[str]:
    """Checks a DNS subdomain, a slash and a path: the name of a class's controller or of a certificate signer."""
    domain, slash, path = text.partition("/")
    if not slash or not domain or not path:
        return ["must be a domain and a path joined by '/' (e.g. 'example.com/controller')"]
    return [*validate_dns_subdomain(domain), *_validate_match(_SIGNER_PATH, path, "the path must be a valid HTTP path")]


def validate_csi_driver(text: str) -> list[str]:
    """Checks the name of a CSI driver: a DNS subdomain of at most 63 characters, in upper or lower case."""
    return [*_validate_length(text, 63), *validate_dns_subdomain(text.lower())]


def validate_ip_address(text: str) -> list[str]:
    """Checks that the text is an IP address in canonical form: the rule for the names of IPAddress objects."""
    try:
        canonical = str(ipaddress.ip_address(text))
    except ValueError:
        return ["must be a valid IP address"]
    return [] if canonical == text else [f"must be in canonical form ('{canonical}')"]


def validate_tenant_id(text: str) -> list[str]:
    """Checks the ID of a tenant, with which all its names begin. Names of the platform must not look like a tenant's."""
    if len(text) != TENANT_ID_LENGTH:
        return [f"tenant ID must be exactly {TENANT_ID_LENGTH} characters"]
    if _TENANT_ID.fullmatch(text) is None:
        return ["tenant ID must contain only alphanumeric characters or -, and must not start with a -"]
    if text.endswith("-"):
        return ["tenant ID must not end with a -"]
    if text in _PLATFORM_IDS or text.startswith(_PLATFORM_PREFIX):
        return [f"tenant ID must not be system or start with {_PLATFORM_PREFIX}: names of the platform begin like this"]
    return []


def mask_trailing_dash(prefix: str) -> str:
    """Returns a `generateName` as its rule checks it: a trailing dash is replaced, since the suffix follows it."""
    return prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def validate_prefix(rule: NameRule, prefix: str) -> list[str]:
    """Checks `prefix` as the beginning of a name under `rule`."""
    return validate_path_segment_prefix(prefix) if rule is validate_path_segment else rule(mask_trailing_dash(prefix))


def name_rule(group: str, kind: str) -> NameRule:
    """Returns the rule for the names of a built-in or custom kind."""
    if group in {"rbac.authorization.k8s.io", "authentication.k8s.io", "authorization.k8s.io"}:
        return validate_path_segment
    return _RULES.get((group, kind), validate_dns_subdomain)


_RULES: dict[tuple[str, str], NameRule] = {
    ("", "Namespace"): validate_dns_label,
    ("", "Service"): validate_dns_label,
    ("", "Event"): validate_path_segment,
    ("", "Binding"): validate_path_segment,
    ("apiregistration.k8s.io", "APIService"): validate_path_segment,
    ("apps", "StatefulSet"): validate_dns_label,
    ("certificates.k8s.io", "CertificateSigningRequest"): validate_path_segment,
    ("networking.k8s.io", "IPAddress"): validate_ip_address,
    ("policy", "PodDisruptionBudget"): validate_path_segment,
    ("tenant.kubezoo.io", "Tenant"): validate_tenant_id,
}


def _validate_qualified_part(text: str) -> list[str]:
    detail = "must consist of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
    return _validate_pattern(_QUALIFIED, text, limit=63, detail=detail)


def _validate_pattern(pattern: re.Pattern[str], text: str, *, limit: int, detail: str) -> list[str]:
    """Checks a text of at most `limit` characters against a pattern. All patterns match ASCII only."""
    if len(text) <= limit and pattern.fullmatch(text):
        return []
    return [*_validate_length(text, limit), *_validate_match(pattern, text[:1000], detail)]


def _validate_non_empty(text: str, rule: NameRule) -> list[str]:
    return rule(text) if text else ["must be non-empty"]


def _validate_length(text: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} characters"] if len(text.encode(errors="replace")) > limit else []


def _validate_match(pattern: re.Pattern[str], text: str, detail: str) -> list[str]:
    return [] if pattern.fullmatch(text) else [detail]
