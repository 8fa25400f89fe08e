"""The audit log's file: rotated when full, created again when gone, never with a partial line. Events that cannot be written are
kept, counted, logged, and finally reported as missing."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from probate.core import errors
from probate.core.clock import FakeClock
from probate.server.audit import log_file
from probate.server.audit import setup as auditing
from probate.server.audit.log_file import RotatingFile, RotationLimits, Stdout
from probate.server.audit.log_writer import Gap, LogWriter
from probate.settings import Settings
from support.audit_logs import METADATA, with_audit_log
from support.in_process_server import InProcessServer, running

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
async def server() -> AsyncGenerator[InProcessServer, None]:
    async with running(collects=False) as server:
        yield server


def day(number: int) -> float:
    return datetime(2026, 1, number, tzinfo=UTC).timestamp()


def test_full_file_is_rotated_with_a_timestamp(quick_path: Path) -> None:
    kept = RotatingFile(quick_path / "a" / "audit.log", RotationLimits(size=10), FakeClock(day(1) + 0.5))
    for line in (b"one\n", b"two\n", b"three\n", b"much longer than a file\n", b"four\n"):
        kept.write(line)
    kept.close()
    response = {path.name: path.read_text() for path in (quick_path / "a").iterdir()}
    assert response == {
        "audit.log": "four\n",
        "audit-2026-01-01T00-00-00.500.log": "one\ntwo\n",
        "audit-2026-01-01T00-00-00.501.log": "three\n",
        "audit-2026-01-01T00-00-00.502.log": "much longer than a file\n",
    }
    assert (quick_path / "a" / "audit.log").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        (RotationLimits(1, backups=2), {3, 4}),
        (RotationLimits(1, backups=0, days=2), {2, 3, 4}),
        (RotationLimits(1, backups=0), {1, 2, 3, 4}),
    ],
)
def test_rotated_files_are_deleted_by_number_and_age(quick_path: Path, limits: RotationLimits, left: set[int]) -> None:
    other = quick_path / "audit-mine.log"
    other.write_text("kept")
    for number in range(1, 6):
        kept = RotatingFile(quick_path / "audit.log", limits, FakeClock(day(number)))
        kept.write(b"%d\n" % number)
        kept.close()
    assert {int(path.read_text()) for path in quick_path.glob("audit-2026*")} == left
    assert other.exists()


def test_moved_file_is_created_again(quick_path: Path) -> None:
    path = quick_path / "audit.log"
    kept = RotatingFile(path, RotationLimits(), FakeClock())
    kept.write(b"one\n")
    path.rename(quick_path / "moved")
    kept.write(b"two\n")
    path.unlink()
    kept.write(b"three\n")
    assert ((quick_path / "moved").read_text(), path.read_text()) == ("one\n", "three\n")


def test_existing_file_is_appended_to(quick_path: Path) -> None:
    path = quick_path / "audit.log"
    path.write_text("before\n")
    kept = RotatingFile(path, RotationLimits(size=12), FakeClock(day(1)))
    kept.write(b"one\n")
    kept.write(b"two\n")
    assert path.read_text() == "two\n"
    assert (quick_path / "audit-2026-01-01T00-00-00.000.log").read_text() == "before\none\n"


def test_full_disk_leaves_no_partial_line(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    kept = RotatingFile(path, RotationLimits(), FakeClock())
    kept.write(b"one\n")
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))  # limits the file size, so that a write is cut off in the middle
    try:
        with pytest.raises(OSError, match="File too large"):
            kept.write(b"a line that does not fit\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert path.read_text() == "one\n"
    kept.write(b"two\n")
    assert path.read_text() == "one\ntwo\n"


def test_file_that_cannot_be_rotated_grows(
    quick_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("not in this folder")

    kept = RotatingFile(quick_path / "audit.log", RotationLimits(size=4), FakeClock(day(1)))
    kept.write(b"one\n")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refuse)
        kept.write(b"two\n")
        kept.write(b"three\n")
    assert (quick_path / "audit.log").read_text() == "one\ntwo\nthree\n"
    assert caplog.text.count("cannot rotate full audit log") == 1
    kept.write(b"four\n")
    assert (quick_path / "audit.log").read_text() == "four\n"


def test_standard_output_receives_whole_lines() -> None:
    reading, writing = os.pipe()
    out = Stdout(writing)
    out.write(b"one\ntwo\n")
    out.close()
    os.close(writing)
    with os.fdopen(reading, "rb") as reader:
        assert reader.read() == b"one\ntwo\n"
    assert isinstance(log_file.open_sink("-", RotationLimits(), FakeClock()), Stdout)


async def test_events_are_kept_while_writing_fails(
    server: InProcessServer, quick_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with with_audit_log(server, quick_path / "logs", retry=0.001) as log:
        await server.request("GET", MAPS)
        assert len(await log.events()) == 1
        log.path.rename(quick_path / "aside")
        log.path.mkdir()  # a folder at its path makes writes fail
        await server.request("GET", MAPS)
        await _until(lambda: log.audit.writer.write_error is not None)
        assert (await server.request("GET", MAPS)).code == 200  # requests do not wait for the log
        assert "cannot write audit log, retrying each second" in caplog.text
        assert log.audit.writer.queued_events == 2
        log.path.rmdir()
        assert len(await log.events()) == 2
        assert log.audit.writer.write_error is None
        assert "audit log is writable again" in caplog.text
        assert log.audit.writer.lost_events == 0


async def test_lost_events_are_counted_logged_and_marked_as_missing(
    server: InProcessServer, quick_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with with_audit_log(server, quick_path, retry=0.001, max_events=3) as log:
        log.path.unlink()
        log.path.mkdir()
        for _ in range(10):
            assert (await server.request("GET", MAPS)).code == 200
        assert log.audit.writer.lost_events == 7
        assert "audit events are lost" in caplog.text
        figures = (await server.request("GET", "/metrics")).body.decode()
        assert 'probate_audit_events_lost_total{cause="room"} 7' in figures
        assert "probate_audit_queue_length 3" in figures
        log.path.rmdir()
        await log.audit.writer.flush()
        await server.request("GET", MAPS)
        *_, gap, last = await log.events()
        assert (gap["annotations"]["probate.dev/lost"], gap["verb"]) == ("8", "lost")
        assert last["verb"] == "list"
        [recovered] = [record for record in caplog.records if record.getMessage() == "audit events are recorded again"]
        assert vars(recovered)["facts"] == {"lost": 8}


async def test_strict_log_refuses_requests_it_cannot_record(server: InProcessServer, quick_path: Path) -> None:
    policy = METADATA.replace("rules: [", "rules: [{level: None, verbs: [get]}, ")
    async with with_audit_log(server, quick_path, policy, retry=0.001, max_events=2, is_strict=True) as log:
        log.path.unlink()
        log.path.mkdir()
        for name in ("a", "b"):
            assert (await server.request("POST", MAPS, {"metadata": {"name": name}})).code == 201
        response = await server.request("POST", MAPS, {"metadata": {"name": "c"}})
        assert (response.code, response.json["reason"]) == (503, "ServiceUnavailable")
        assert "cannot be audited" in response.json["message"]
        assert log.audit.refusal_reason is not None
        assert (
            await server.request("GET", f"{MAPS}/c")
        ).code == 404  # nothing was written; requests that are not audited still succeed
        log.path.rmdir()
        await log.audit.writer.flush()
        assert (await server.request("POST", MAPS, {"metadata": {"name": "c"}})).code == 201
        assert log.audit.writer.lost_events == 0
        assert [item["objectRef"]["name"] for item in await log.events()] == ["a", "b", "c"]


async def test_close_writes_the_remaining_events(server: InProcessServer, quick_path: Path) -> None:
    async with with_audit_log(server, quick_path) as log:
        for _ in range(50):
            await server.request("GET", MAPS)
    assert len(log.path.read_text().splitlines()) == 50


async def test_entry_that_cannot_be_encoded_is_counted_and_skipped(quick_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Line:
        events, size = 1, 10

        def __init__(self, text: bytes | None) -> None:
            self._text = text

        def lines(self) -> list[bytes]:
            if self._text is None:
                raise ValueError
            return [self._text]

    def no_gap(_: Gap) -> Line:
        raise AssertionError

    caplog.set_level(logging.CRITICAL)
    path = quick_path / "audit.log"
    writer = LogWriter(RotatingFile(path, RotationLimits(), FakeClock()), lambda: 0.0, no_gap)
    for text in (b"one", None, b"two"):
        writer.put(Line(text))
    await writer.flush()
    assert (path.read_text(), writer.encoding_failures, writer.queued_events) == ("one\ntwo\n", 1, 0)
    await writer.close()


WRONG: list[tuple[dict[str, str], str]] = [
    ({"audit_policy_file": "{folder}/policy"}, "needs --audit-log-path"),
    ({"audit_log_path": "{folder}"}, "--audit-log-path {folder} cannot be written"),
    ({"audit_log_path": "/dev/null"}, "/dev/null is not a regular file"),
    ({"audit_log_path": "{folder}/log", "audit_policy_file": "{folder}/none"}, "--audit-policy-file {folder}/none cannot be read"),
    ({"audit_log_path": "{folder}/log", "audit_policy_file": "{folder}/policy"}, "rules[0].level: must be one of None"),
]


def opened(settings: Settings, server: InProcessServer) -> AbstractAsyncContextManager[None]:
    api = server.api
    return auditing.open_audit_log(
        settings, api.audit, api.clock, metrics=api.metrics.registry, readiness_checks=api.readiness_checks
    )


@pytest.mark.parametrize(("given", "message"), WRONG)
async def test_invalid_audit_settings_fail_at_startup(
    server: InProcessServer, quick_path: Path, given: dict[str, str], message: str
) -> None:
    (quick_path / "policy").write_text("{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: All}]}")
    settings = Settings(**{name: value.format(folder=quick_path) for name, value in given.items()})  # type: ignore[arg-type]
    with pytest.raises(errors.CannotOpen) as raised:
        async with opened(settings, server):
            pass
    assert message.format(folder=quick_path) in str(raised.value)


async def test_settings_configure_rotation(server: InProcessServer, quick_path: Path) -> None:
    settings = Settings(audit_log_path=str(quick_path / "log"), audit_log_maxsize=1, audit_log_maxbackup=1)
    async with opened(settings, server):
        audit = server.api.audit.log
        assert audit is not None
        for number in range(60):
            await server.request("GET", f"{MAPS}/{'y' * 50_000}", query={"number": number})
            await audit.writer.flush()
    names = sorted(path.name for path in quick_path.iterdir())
    assert (len(names), names[0]) == (2, "log")
    for path in quick_path.iterdir():
        assert all(orjson.loads(line)["kind"] == "Event" for line in path.read_bytes().splitlines())
        assert path.stat().st_size <= 1024 * 1024


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 a thread makes it so
        await asyncio.sleep(0.001)
