"""Log lines in the formats text and json."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import orjson
import pytest

from probate.core import logs
from probate.core.logs import facts

log = logging.getLogger("probate.test")


@pytest.fixture
def _restored_logging() -> Iterator[None]:
    root, own = logging.getLogger(), logging.getLogger("probate")
    before = root.handlers[:], root.level, own.level
    yield
    root.handlers[:], root.level = before[0], before[1]
    own.setLevel(before[2])


def configure(level: str, format_: str) -> io.StringIO:
    stream = io.StringIO()
    logs.configure(level, format_, stream)
    return stream


pytestmark = pytest.mark.usefixtures("_restored_logging")


def test_text_line_has_time_message_and_facts() -> None:
    stream = configure("info", "text")
    log.info("deleted", extra=facts(what="pods", name="web", policy="", because='owner "x" is gone\n'))
    time, rest = stream.getvalue().split(" ", 1)
    assert len(time) == len("2026-01-01T00:00:00.000Z")
    assert rest == 'INFO probate.test: deleted what=pods name=web because="owner \\"x\\" is gone\\n"\n'


def test_json_line_is_one_object_whose_standard_fields_win_over_facts() -> None:
    stream = configure("info", "json")
    log.info("%s happened", "it", extra=facts(what="pods", message="another", number=3))
    line = orjson.loads(stream.getvalue())
    assert list(line) == ["time", "level", "logger", "message", "what", "number"]
    assert (line["message"], line["level"], line["number"]) == ("it happened", "INFO", 3)


@pytest.mark.parametrize("format_", logs.FORMATS)
def test_exception_is_logged_with_its_traceback(format_: str) -> None:
    stream = configure("warning", format_)
    try:
        int("three")
    except ValueError:
        log.exception("it broke")
    assert "ValueError: invalid literal" in stream.getvalue()
    assert "Traceback" in stream.getvalue()
    assert format_ == "text" or len(stream.getvalue().splitlines()) == 1


def test_level_applies_to_probate_and_not_to_libraries() -> None:
    stream = configure("debug", "text")
    log.debug("ours")
    logging.getLogger("a.library").info("theirs")
    logging.getLogger("a.library").warning("their worry")
    assert [line.rsplit(": ", 1)[1] for line in stream.getvalue().splitlines()] == ["ours", "their worry"]
    stream = configure("error", "text")
    log.warning("ours")
    logging.getLogger("a.library").warning("theirs")
    assert stream.getvalue() == ""
