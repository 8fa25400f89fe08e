"""Parses a transcript of a kubectl session: the commands, and the output that each must have.

    ## a section: a test of its own, in a namespace of its own, for each version of kubectl
    $ get deploy -o name                       a command; `$!` marks one that must fail
    deployment.apps/web                        its whole output: stdout, then stderr
    $ EDITOR='sed -i s/a/b/' edit cm c         environment variables may come first
    [1.24-1.30] $ alpha events                 only with these versions of kubectl, both included; either may be omitted
    [-1.30] pod "p" deleted
    [1.34-] pod "p" deleted from NS namespace
    [cluster] componentstatuses                only in the cluster of the administrator; [tenant]: only in that of a tenant
    ...                                        any number of lines

NS is the namespace; files are in `files`. Values that differ on every run are replaced before the comparison: AGE, TIME, UID, URL
and so on. Their length affects column widths, so several spaces inside a line count as two.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_CONDITION = re.compile(r"\[(\d+\.\d+)?-(\d+\.\d+)?\] ?(.*)")
_VIEW = re.compile(r"\[(cluster|tenant)\] ?(.*)")
_REPLACEMENTS = (
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"https?://127\.0\.0\.1:\d+"), "URL"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}"), "DATE"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UID"),
    (re.compile(r'(resourceVersion"?: ?)"\d+"'), r'\1"REVISION"'),
    (re.compile(r"(Resource Version: +)\d+"), r"\1REVISION"),
    (re.compile(r"\S*/(LIVE|MERGED)-\d+/"), r"\1/"),
    (re.compile(r"(?<![\w.])(\d+[smhdy]){1,2}(?=\s|\)|$)", re.MULTILINE), "AGE"),
    (re.compile(r"\b10\.\d+\.\d+\.\d+\b"), "ADDRESS"),
    (re.compile(r"(?<=\S) {2,}"), "  "),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


class Step(NamedTuple):
    """A command and its expected output. `variables` are added to its environment."""

    line: str
    words: tuple[str, ...]
    variables: dict[str, str]
    fails: bool
    expected: list[str]


def sections(path: Path) -> list[str]:
    """Returns the titles of all sections."""
    return re.findall(r"^## (.+)$", path.read_text(), re.MULTILINE)


def steps(path: Path, section: str, version: str, *, view: str = "cluster") -> Iterator[Step]:
    """Returns the steps of a section that apply to this version of kubectl, in the cluster of the administrator or of a tenant."""
    result: list[Step] = []
    is_skipped = True
    for line in _lines(path, section, view):
        applies, text = _parse_condition(line, version)
        if text.startswith(("$ ", "$! ")):
            is_skipped = not applies
            if applies:
                result.append(_step(text))
        elif applies and not is_skipped:
            result[-1].expected.append(text)
    return iter(result)


def normalize(text: str, namespace: str) -> str:
    """Returns the output with values that differ on every run replaced by placeholders."""
    text = text.replace(namespace, "NS")
    for pattern, replacement in _REPLACEMENTS:
        text = pattern.sub(replacement, text)
    return text.strip("\n")


def matches(expected: str, output: str) -> bool:
    """Returns whether the output matches the expected one."""
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line + "\n") for line in expected.split("\n"))
    return re.fullmatch(pattern, output + "\n") is not None


def _lines(path: Path, section: str, view: str) -> Iterator[str]:
    _, _, rest = path.read_text().partition(f"## {section}\n")
    for line in rest.partition("\n## ")[0].splitlines():
        condition = _VIEW.fullmatch(line)
        if not line.startswith("# ") and (condition is None or condition[1] == view):
            yield line if condition is None else condition[2]


def _parse_condition(line: str, version: str) -> tuple[bool, str]:
    condition = _CONDITION.fullmatch(line)
    if condition is None:
        return True, line
    lowest, highest, text = condition.groups()
    return _version_tuple(lowest or "0.0") <= _version_tuple(version) <= _version_tuple(highest or "99.0"), text


def _version_tuple(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _step(text: str) -> Step:
    mark, _, line = text.partition(" ")
    words = shlex.split(line)
    variables = {}
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    return Step(line, tuple(words), variables, mark == "$!", [])
