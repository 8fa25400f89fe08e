"""What may be called what: the rules for names, label values and keys, and the making of names from `generateName`.

A rule takes a text and says what is wrong with it, a sentence each; nothing is wrong when it says nothing. Rules that Kubernetes
checks in several steps give several sentences, since each becomes a cause of its own in the answer.

    dns_subdomain("UPPER_case")              ["a lowercase RFC 1123 subdomain ..."]
    rule_of("", "Namespace")("team-a")       []
    generate("web-", random)                 "web-x7k2d"

Nothing here draws random numbers by itself: whoever makes a name brings the source.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")

Rule = Callable[[str], list[str]]

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels and no look-alikes: no words, no misreading
SUFFIX_LENGTH = 5
BASE_LENGTH = 63 - SUFFIX_LENGTH
MAX_KNOWN = 2_000
"""Labels that are remembered to be fine."""
MAX_KNOWN_LENGTH = 400
"""Characters of a label that could be fine at all."""

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_LABEL_1035 = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_QUALIFIED = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_ENV_VAR = re.compile(r"[ -<>-~]+")
_PORT = re.compile(r"[-a-z0-9]+")
_HTTP_HEADER = re.compile(r"[-A-Za-z0-9]+")
_SIGNER_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")


class Chooser(Protocol):
    """A source of random choices, such as `random.Random`."""

    def choice(self, seq: Sequence[T], /) -> T: ...


def generate(base: str, random: Chooser) -> str:
    """A name that begins with `base`, cut so that the whole is a label at most, and ends in five random characters."""
    return base[:BASE_LENGTH] + "".join(random.choice(ALPHABET) for _ in range(SUFFIX_LENGTH))


def dns_subdomain(text: str) -> list[str]:
    """Labels joined by dots, 253 characters at most: what most objects are called."""
    detail = "must be a lowercase RFC 1123 subdomain: letters a-z, digits, '-' and '.', beginning and ending with a letter or digit"
    return _check(_SUBDOMAIN, text, 253, detail)


def dns_label(text: str) -> list[str]:
    """One label of a host name, 63 characters at most: namespaces, containers, services."""
    detail = "must be a lowercase RFC 1123 label: letters a-z, digits and '-', beginning and ending with a letter or digit"
    return _check(_LABEL, text, 63, detail)


def dns_1035_label(text: str) -> list[str]:
    """A label that begins with a letter."""
    detail = "must be a DNS-1035 label: letters a-z, digits and '-', beginning with a letter and ending with a letter or digit"
    return _check(_LABEL_1035, text, 63, detail)


def path_segment(text: str) -> list[str]:
    """Whatever can stand between two slashes of a URL: roles and the like."""
    if text in {".", ".."}:
        return [f"may not be '{text}'"]
    return path_segment_prefix(text)


def path_segment_prefix(text: str) -> list[str]:
    """The beginning of a path segment."""
    return [f"may not contain '{character}'" for character in "/%" if character in text]


def qualified_name(text: str) -> list[str]:
    """A label key: a name of 63 characters at most, with a DNS subdomain and a slash before it if wanted."""
    if "/" not in text:
        return [f"name part {problem}" for problem in _filled(text, _qualified_part)]
    prefix, _, name = text.rpartition("/")
    if "/" in prefix:
        return ["must be a name, with a DNS subdomain and one '/' before it if wanted (e.g. 'example.com/MyName')"]
    found = [f"prefix part {problem}" for problem in _filled(prefix, dns_subdomain)]
    return [*found, *(f"name part {problem}" for problem in _filled(name, _qualified_part))]


def label_value(text: str) -> list[str]:
    """The value of a label: empty, or like the name part of its key."""
    return _qualified_part(text) if text else []


@functools.lru_cache(maxsize=MAX_KNOWN)
def is_label(key: str, value: str) -> bool:
    """Whether both are fine. Most labels come again and again."""
    return not qualified_name(key) and not label_value(value)


@functools.lru_cache(maxsize=MAX_KNOWN)
def is_dns_label(text: str) -> bool:
    """Whether it is one label of a host name. There are few namespaces, and many objects in them."""
    return not dns_label(text)


def config_key(text: str) -> list[str]:
    """A key in a ConfigMap or a Secret, which becomes a file's name."""
    found = _check(_CONFIG_KEY, text, 253, "must consist of letters, digits, '-', '_' and '.'")
    if not text.startswith("."):
        return found
    if text in {".", ".."}:
        found.append(f"must not be '{text}'")
    elif text.startswith(".."):
        found.append("must not start with '..'")
    return found


def env_var(text: str) -> list[str]:
    """The name of an environment variable: any printable ASCII characters but '='."""
    return _mismatch(_ENV_VAR, text, "must consist of printable ASCII characters other than '='")


def port_name(text: str) -> list[str]:
    """The name of a port, as IANA gives them: 15 characters at most, a letter among them."""
    found = _too_long(text, 15)
    if _PORT.fullmatch(text) is None:
        found.append("must contain only letters a-z, digits and '-'")
    if re.search(r"[a-z]", text) is None:
        found.append("must contain at least one letter")
    if "--" in text:
        found.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return found


def http_header(text: str) -> list[str]:
    """The name of an HTTP header."""
    return _mismatch(_HTTP_HEADER, text, "must consist of letters, digits and '-'")


def wildcard_subdomain(text: str) -> list[str]:
    """A DNS subdomain with `*` as its first label."""
    if not text.startswith("*."):
        return ["must begin with '*.'"]
    return dns_subdomain(text[2:])


def domain_path(text: str) -> list[str]:
    """A DNS subdomain, a slash and a path: which controller implements a class, who signs a certificate."""
    domain, slash, path = text.partition("/")
    if not slash or not domain or not path:
        return ["must be a domain and a path joined by '/' (e.g. 'example.com/controller')"]
    return [*dns_subdomain(domain), *_mismatch(_SIGNER_PATH, path, "the path must be a valid HTTP path")]


def csi_driver(text: str) -> list[str]:
    """The name of a CSI driver: a DNS subdomain of 63 characters at most, in either case."""
    return [*_too_long(text, 63), *dns_subdomain(text.lower())]


def ip_address(text: str) -> list[str]:
    """An IP address in its only canonical form: what IPAddress objects are called."""
    try:
        canonical = str(ipaddress.ip_address(text))
    except ValueError:
        return ["must be a valid IP address"]
    return [] if canonical == text else [f"must be in canonical form ('{canonical}')"]


def mask_trailing_dash(prefix: str) -> str:
    """A `generateName` as its rule should see it: the dash at its end will be followed by the suffix."""
    return prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def check_prefix(rule: Rule, prefix: str) -> list[str]:
    """What is wrong with `prefix` as the beginning of a name under `rule`."""
    return path_segment_prefix(prefix) if rule is path_segment else rule(mask_trailing_dash(prefix))


def rule_of(group: str, kind: str) -> Rule:
    """The rule that names of this built-in or custom kind follow."""
    if group in {"rbac.authorization.k8s.io", "authentication.k8s.io", "authorization.k8s.io"}:
        return path_segment
    return _RULES.get((group, kind), dns_subdomain)


_RULES: dict[tuple[str, str], Rule] = {
    ("", "Namespace"): dns_label,
    ("", "Service"): dns_label,
    ("", "Event"): path_segment,
    ("", "Binding"): path_segment,
    ("apiregistration.k8s.io", "APIService"): path_segment,
    ("apps", "StatefulSet"): dns_label,
    ("certificates.k8s.io", "CertificateSigningRequest"): path_segment,
    ("networking.k8s.io", "IPAddress"): ip_address,
    ("policy", "PodDisruptionBudget"): path_segment,
}


def _qualified_part(text: str) -> list[str]:
    detail = "must consist of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
    return _check(_QUALIFIED, text, 63, detail)


def _check(pattern: re.Pattern[str], text: str, limit: int, detail: str) -> list[str]:
    """A text of ASCII, as all patterns are, with so many characters at most."""
    if len(text) <= limit and pattern.fullmatch(text):
        return []
    return [*_too_long(text, limit), *_mismatch(pattern, text[:1000], detail)]


def _filled(text: str, rule: Rule) -> list[str]:
    return rule(text) if text else ["must be non-empty"]


def _too_long(text: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} characters"] if len(text.encode(errors="replace")) > limit else []


def _mismatch(pattern: re.Pattern[str], text: str, detail: str) -> list[str]:
    return [] if pattern.fullmatch(text) else [detail]
