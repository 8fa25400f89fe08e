"""The functions that expressions may call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from probate.api.cel.library import STANDARD
from probate.api.rbac.cel_authorizer import Attributes, AuthorizationDecision
from support.cel_expressions import failure, value

SELF = {"s": "héllo", "l": [3, 1, 2]}

VALUES: list[tuple[str, Any]] = [
    # conversions
    ("int('-12') + int(3.9) + int(4u)", -5),
    ("int(timestamp('1970-01-01T00:01:00Z'))", 60),
    ("uint('7') == uint(7) && uint(7.9) == 7u", True),
    ("double('1.5') + double(1)", 2.5),
    ("string(1) + string(2u) + string(1.5) + string(true) + string(b'x')", "121.5truex"),
    ("string(timestamp('2024-02-29T12:00:00.5+02:00'))", "2024-02-29T10:00:00.5Z"),
    ("string(duration('1h1m1.5s'))", "3661.5s"),
    (
        "[0.0, 100.0, 123456.5, 1234567.0, 0.0001, 0.00001, -1e21, 1e-7].map(x, string(x)).join(' ')",
        "0 100 123456.5 1.234567e+06 0.0001 1e-05 -1e+21 1e-07",
    ),
    ("bool('true') && !bool('F')", True),
    ("bytes('é') == b'\\xc3\\xa9'", True),
    ("size(self.s) + size(bytes(self.s)) + size([1]) + {'a': 1}.size()", 13),
    ("base64.decode(base64.encode(b'abc')) == b'abc'", True),
    # texts
    ("'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c')", True),
    ("self.s.charAt(1) + self.s.charAt(5)", "é"),
    ("self.s.indexOf('l') + self.s.lastIndexOf('l')", 5),
    ("'abab'.indexOf('b', 2)", 3),
    ("'abab'.lastIndexOf('b', 2)", 1),
    ("'ABCé'.lowerAscii() + 'abcé'.upperAscii()", "abcéABCé"),
    ("'abc'.replace('b', 'xx') + 'aaa'.replace('a', 'b', 2)", "axxcbba"),
    ("'a,b,c'.split(',') == ['a', 'b', 'c']", True),
    ("'a,b,c'.split(',', 2)", ["a", "b,c"]),
    ("'abc'.split('')", ["a", "b", "c"]),
    ("'hello'.substring(1, 3) + 'hello'.substring(4)", "elo"),
    ("'  a '.trim() + 'abc'.reverse()", "acba"),
    ("['a', 'b'].join('-') + ['a', 'b'].join()", "a-bab"),
    ("strings.quote('a\"b\\n')", '"a\\"b\\n"'),
    ("'%s|%d|%.2f|%e|%x|%X|%b|%o|%%'.format(['a', 5, 1.5, 1.0, 255, 'hi', 5, 8])", "a|5|1.50|1.000000e+00|ff|6869|101|10|%"),
    ("'%s %s %s'.format([[1, dyn('a')], {'k': null}, duration('1s')])", "[1, a] {k: null} 1s"),
    # patterns
    ("'abc'.matches('^a.c$') && matches('xabcx', 'b')", True),
    ("'a1b22'.find('[0-9]+') + 'abc'.find('[0-9]')", "1"),
    ("'a1b22'.findAll('[0-9]+')", ["1", "22"]),
    ("'a1b22'.findAll('[0-9]+', 1)", ["1"]),
    ("'aaa'.find('a+?') + 'aab'.find('a|ab') + 'aab'.find('(?U)a+')", "aaa"),
    ("'abc'.findAll('x*')", ["", "", "", ""]),
    # moments
    ("timestamp('2024-02-29T13:14:15.016Z').getFullYear()", 2024),
    ("timestamp('2024-02-29T13:14:15.016Z').getMonth()", 1),
    ("timestamp('2024-02-29T13:14:15.016Z').getDate() - timestamp('2024-02-29T13:14:15.016Z').getDayOfMonth()", 1),
    ("timestamp('2024-02-29T13:14:15.016Z').getDayOfWeek()", 4),
    ("timestamp('2024-02-29T13:14:15.016Z').getDayOfYear()", 59),
    ("timestamp('2024-02-29T13:14:15.016Z').getHours('-02:00')", 11),
    ("timestamp('2024-02-29T13:14:15.016Z').getMinutes() * 100 + timestamp('2024-02-29T13:14:15.016Z').getSeconds()", 1415),
    ("timestamp('2024-02-29T13:14:15.016Z').getMilliseconds()", 16),
    ("duration('-90m').getHours()", -1),
    ("duration('1.5s').getMilliseconds() + duration('2m').getSeconds()", 1620),
    ("timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00Z') == duration('24h')", True),
    # lists and sets
    ("[1, 2, 2].isSorted() && !self.l.isSorted() && ['a', 'b'].isSorted()", True),
    ("[1, 2].sum() + [].sum()", 3),
    ("[1.5, 2.5].sum()", 4.0),
    ("[duration('1s'), duration('2s')].sum() == duration('3s')", True),
    ("self.l.min() * 10 + self.l.max()", 13),
    ("['a', 'b', 'a'].indexOf('a') + ['a', 'b', 'a'].lastIndexOf('a') + [1].indexOf(2)", 1),
    ("[3, 1, 2].sort() == [1, 2, 3] && [1, 2].reverse() == [2, 1]", True),
    ("[[1], [2, 3]].flatten() == [1, 2, 3] && [1, 1, 2].distinct() == [1, 2]", True),
    ("[1, 2, 3].slice(1, 3) == [2, 3] && lists.range(3) == [0, 1, 2]", True),
    ("[1, 2].first().value() + [1, 2].last().value() + size([].first().optMap(x, [x]).orValue([]))", 3),
    ("sets.contains([1, 2], [2]) && sets.equivalent([1, 2], [2, 1, 1]) && sets.intersects([1], [2, 1])", True),
    ("sets.contains([1], [2]) || sets.equivalent([1], [1, 2]) || sets.intersects([1], [])", False),
    # numbers
    ("math.greatest(1, 5, 3) + math.least([4, 2])", 7),
    ("math.abs(-3) + math.sign(-9)", 2),
    ("math.ceil(1.2) + math.floor(1.8) + math.round(2.5) + math.trunc(-1.9)", 5.0),
    ("math.sqrt(16)", 4.0),
    ("math.isNaN(0.0 / 0.0) && math.isInf(1.0 / 0.0) && math.isFinite(1.0)", True),
    ("math.bitAnd(12, 10) + math.bitOr(12, 10) + math.bitXor(12, 10)", 28),
    ("math.bitNot(0) + math.bitShiftLeft(1, 4) + math.bitShiftRight(-1, 63)", 16),
    # quantities
    ("quantity('1.5Gi').isGreaterThan(quantity('1500M')) && quantity('100m').isLessThan(quantity('1'))", True),
    ("quantity('1k').asInteger() + quantity('2Ki').asInteger()", 3048),
    ("quantity('1').add(quantity('500m')).asApproximateFloat()", 1.5),
    ("quantity('1k').sub(1).compareTo(quantity('999'))", 0),
    ("quantity('1000m') == quantity('1') && quantity('-1').sign() == -1 && !quantity('1m').isInteger()", True),
    ("isQuantity('12e3') && isQuantity('.5') && !isQuantity('1 Gi') && !isQuantity('') && !isQuantity('1KI')", True),
    # addresses
    ("url('https://u:p@example.com:8080/a%20b?x=1&x=2&y=').getHost()", "example.com:8080"),
    ("url('https://example.com:8080/').getHostname() + url('https://example.com:8080/').getPort()", "example.com8080"),
    ("url('https://[::1]:80/').getHostname() + url('/path').getScheme()", "::1"),
    ("url('https://example.com/a b'.replace(' ', '%20')).getEscapedPath()", "/a%20b"),
    ("url('https://e.com/?x=1&x=2').getQuery()", {"x": ["1", "2"]}),
    ("isURL('https://example.com') && isURL('/p') && !isURL('example.com') && !isURL('../a') && !isURL('http://a b')", True),
    ("ip('10.0.0.1').family() + ip('::1').family()", 10),
    ("isIP('::1') && !isIP('1.2.3') && !isIP('fe80::1%eth0') && !isIP('01.2.3.4') && !isIP('::ffff:1.2.3.4')", True),
    ("ip.isCanonical('::1') && !ip.isCanonical('0:0::1')", True),
    ("ip('127.0.0.1').isLoopback() && ip('0.0.0.0').isUnspecified() && ip('8.8.8.8').isGlobalUnicast()", True),
    (
        "ip('224.0.0.1').isLinkLocalMulticast() && ip('169.254.1.1').isLinkLocalUnicast() && ip('ff02::1').isLinkLocalMulticast()",
        True,
    ),
    ("string(ip('10.0.0.1')) + string(cidr('10.0.0.0/8'))", "10.0.0.110.0.0.0/8"),
    ("cidr('10.1.2.3/8').containsIP('10.9.9.9') && cidr('10.0.0.0/8').containsIP(ip('10.1.1.1'))", True),
    ("cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.0.0.0/8').containsCIDR(cidr('11.0.0.0/16'))", True),
    ("cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.1.2.3/8').ip() == ip('10.1.2.3')", True),
    ("cidr('::/64').prefixLength()", 64),
    ("isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0') && !isCIDR('10.0.0.0/08') && !isCIDR('10.0.0.0/33')", True),
    # formats
    ("format.dns1123Label().validate('abc').hasValue()", False),
    ("format.dns1123Label().validate('Abc').hasValue() && format.dns1123Subdomain().validate('a..b').hasValue()", True),
    ("format.named('uuid').value().validate('not').value()", ["does not match the UUID format"]),
    ("format.named('nope').hasValue()", False),
    ("format.labelValue().validate('a_b').hasValue() || format.qualifiedName().validate('a.b/c').hasValue()", False),
    ("format.date().validate('2024-13-01').hasValue() && format.datetime().validate('x').hasValue()", True),
    ("format.byte().validate('!').hasValue() && format.uri().validate('x y').hasValue()", True),
    ("format.dns1035LabelPrefix().validate('abc-').hasValue()", False),
    # versions
    ("semver('1.2.3').major() + semver('1.2.3').minor() + semver('1.2.3').patch()", 6),
    ("semver('1.0.0-rc.2').isLessThan(semver('1.0.0-rc.10')) && semver('1.0.0-rc.10').isLessThan(semver('1.0.0'))", True),
    ("semver('1.0.0+a').compareTo(semver('1.0.0+b'))", 0),
    ("semver('v1.2', true) == semver('1.2.0') && isSemver('1.2.3') && !isSemver('1.2') && !isSemver('01.2.3')", True),
]


@pytest.mark.parametrize(("source", "wanted"), VALUES, ids=[source for source, _ in VALUES])
def test_value(source: str, wanted: Any) -> None:
    assert value(source, SELF) == wanted


FAILURES = [
    ("int('a')", "type conversion error from 'string' to 'int': a"),
    ("int(1e30)", "integer overflow"),
    ("uint(-1)", "unsigned integer overflow"),
    ("string(b'\\xff')", "invalid UTF-8 in bytes, cannot convert to string"),
    ("bool('yes')", "type conversion error from 'string' to 'bool': yes"),
    ("timestamp('2024-13-01T00:00:00Z')", 'cannot parse "2024-13-01T00:00:00Z" as a timestamp: month must be in 1..12'),
    ("duration('1')", 'cannot parse "1" as a duration'),
    ("timestamp(0).getHours('Nowhere/Land')", "unknown time zone Nowhere/Land"),
    ("'abc'.charAt(4)", "index out of range: 4"),
    ("'abc'.substring(2, 1)", "invalid substring range. start: 2, end: 1"),
    ("'a'.matches('(')", "error parsing regexp: missing closing ): `(`"),
    ("'%d'.format(['a'])", "error during formatting: decimal clause can only be used on numbers, was given string"),
    ("'%s %s'.format(['a'])", "index 1 out of range"),
    ("'%q'.format(['a'])", 'could not parse formatting clause: unrecognized formatting clause "q"'),
    ("[].min()", "min called on empty list"),
    ("[{}].min()", "no such overload: _<_"),
    ("['a'].sum()", "no such overload: sum"),
    ("quantity('abc')", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    ("quantity('1m').asInteger()", "cannot convert value to integer"),
    ("url('nope')", 'URL parse error during conversion from string: parse "nope": invalid URI for request'),
    ("ip('nope')", 'IP Address "nope" parse error during conversion from string'),
    ("cidr('nope')", 'network address parse error during conversion from string: "nope"'),
    ("semver('1')", "invalid semantic version: 1"),
    ("math.abs(-9223372036854775808)", "integer overflow"),
    ("math.bitShiftLeft(1, -1)", "math.bitShift() negative offset: -1"),
    ("lists.range(1000000)", "lists.range() must be called with a number from 0 to 100000"),
]


@pytest.mark.parametrize(("source", "wanted"), FAILURES, ids=[source for source, _ in FAILURES])
def test_no_value(source: str, wanted: str) -> None:
    assert failure(source, SELF) == wanted


class _OnlyPods:
    """Allows to read pods, and says what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Attributes] = []

    def decide(self, attributes: Attributes) -> AuthorizationDecision:
        self.asked.append(attributes)
        return AuthorizationDecision(attributes.resource == "pods" and attributes.verb == "get", "because")


def test_authorizer_is_asked_what_the_expression_says() -> None:
    decider = _OnlyPods()
    check = "authorizer.group('').resource('pods').namespace('a').name('b').subresource('log')"
    assert value(f"{check}.check('get').allowed()", decider=decider) is True
    assert value(f"{check}.check('delete').allowed()", decider=decider) is False
    assert value("authorizer.path('/healthz').check('get').reason()", decider=decider) == "because"
    assert (
        value("authorizer.serviceAccount('n', 'sa').group('apps').resource('x').check('get').errored()", decider=decider) is False
    )
    assert decider.asked[0] == Attributes("get", "", "pods", "log", "a", "b")
    assert decider.asked[2] == Attributes("get", path="/healthz")
    assert decider.asked[3] == Attributes("get", "apps", "x", service_account=("n", "sa"))


def test_without_an_authorizer_all_is_allowed() -> None:
    assert value("authorizer.group('apps').resource('deployments').check('delete').allowed()") is True


def test_every_function_is_documented() -> None:
    text = (Path(__file__).parents[4] / "docs" / "cel.md").read_text()
    named = [one.name for one in STANDARD if one.name[0].isalpha()]
    assert [name for name in named if f"`{name}" not in text and f".{name}(" not in text and f"{name}(" not in text] == []
