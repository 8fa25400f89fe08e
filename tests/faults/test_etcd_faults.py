"""An etcd that stops, restarts, is full, requires certificates or was compacted: errors are correct, and the store recovers."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from probate.core import errors
from probate.store import contract
from probate.store.contract import Record, Revision
from probate.store.etcd.messages import LIMITS
from probate.store.etcd.rpc.address import TlsFiles
from probate.store.etcd.store import EtcdStore, Timeouts
from support.etcd_members import Member, find_binaries
from support.etcd_proxy import Proxy
from support.etcd_stores import collect_events, committed_revision, open_store
from support.loopback_ports import free_port

KEY = "objects/pods/default/web"
ENTRY = "owned/u1/default/objects/pods/default/web"

_roots = itertools.count()


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Member]:
    with Member(directory=tmp_path_factory.mktemp("etcd")) as member:
        yield member


@pytest.fixture
def own_member(tmp_path: Path) -> Iterator[Member]:
    with Member(directory=tmp_path / "etcd") as member:
        yield member


@pytest.fixture
def root() -> str:
    return f"faults-{next(_roots)}"


async def test_absent_etcd_is_named_when_opening() -> None:
    endpoint = f"127.0.0.1:{free_port()}"
    with pytest.raises(errors.CannotOpen, match=endpoint):
        async with open_store(endpoint, timeouts=Timeouts(connect=0.5)):
            pass


async def test_calls_fail_while_etcd_is_gone_and_work_when_it_is_back(own_member: Member) -> None:
    async with open_store(own_member.endpoint, timeouts=Timeouts(read=0.8, write=1.2)) as store:
        before = await committed_revision(store.commit(contract.create(KEY, b"1", add_entries=[ENTRY])))
        async with store.watch("objects/", after=before) as watch:
            await asyncio.to_thread(own_member.kill)
            with pytest.raises(errors.StoreUnavailable, match=own_member.endpoint):
                await store.read(KEY)
            with pytest.raises((errors.StoreUnavailable, errors.OutcomeUnknown)):
                await store.commit(contract.update(KEY, b"lost", revision=before))
            with pytest.raises(errors.StoreUnavailable):  # the store knows by now that there is no connection
                await store.commit(contract.update(KEY, b"lost", revision=before))
            await asyncio.to_thread(own_member.start)
            record = await store.read(KEY)
            assert record is not None
            assert record.value == b"1"
            after = await committed_revision(store.commit(contract.update(KEY, b"2", revision=before)))
            async with asyncio.timeout(60):
                assert [event.revision for event in await anext(aiter(watch))] == [after]


async def test_watch_goes_on_over_restarts_without_gap_or_repeat(own_member: Member) -> None:
    async with open_store(own_member.endpoint) as store:
        start = await store.revision()
        revisions: list[Revision] = []
        collector = None
        for number in range(4):
            if number == 1:
                collector = asyncio.create_task(_take(store, start, 40))
            revisions += [
                await committed_revision(store.commit(contract.create(f"objects/pods/a/{number}-{item}", b"x")))
                for item in range(10)
            ]
            await asyncio.to_thread(own_member.kill)
            await asyncio.to_thread(own_member.start)
        assert collector is not None
        assert await collector == revisions


async def test_watch_that_nobody_had_asked_before_the_damage_was_found_waited_for_ever(own_member: Member) -> None:
    async with open_store(own_member.endpoint) as store:
        for number in range(5):
            await committed_revision(store.commit(contract.create(f"objects/pods/a/{number}", b"x")))
        async with store.watch("objects/", after=await store.revision()) as watch:
            await asyncio.to_thread(own_member.kill)
            shutil.rmtree(own_member.directory / "data")
            await asyncio.to_thread(own_member.start)
            async with asyncio.timeout(60):
                while not await is_damaged(store):  # noqa: ASYNC110 the store only reports it to callers
                    await asyncio.sleep(0.01)
                with pytest.raises(errors.StoreDamaged):
                    await anext(aiter(watch))


async def is_damaged(store: EtcdStore) -> bool:
    try:
        await store.check()
    except errors.StoreDamaged:
        return True
    except errors.StoreUnavailable:
        pass
    return False


async def test_etcd_whose_data_was_replaced_by_older_data_is_not_used_any_more(own_member: Member) -> None:
    async with open_store(own_member.endpoint) as store:
        for number in range(5):
            await committed_revision(store.commit(contract.create(f"objects/pods/a/{number}", b"x")))
        async with store.watch("objects/", after=await store.revision()) as watch:
            await asyncio.to_thread(own_member.kill)
            shutil.rmtree(own_member.directory / "data")
            await asyncio.to_thread(own_member.start)
            with pytest.raises(errors.StoreDamaged):
                async with asyncio.timeout(60):
                    await anext(aiter(watch))
        with pytest.raises(errors.StoreDamaged):
            await store.read(KEY)


async def _take(store: EtcdStore, after: Revision, count: int) -> list[Revision]:
    found: list[Revision] = []
    async with asyncio.timeout(60), store.watch("objects/", after=after) as watch:
        async for events in watch:
            found += [event.revision for event in events]
            if len(found) >= count:
                break
    return found


async def test_gap_compacted_while_disconnected_ends_watches_with_gone(member: Member, root: str) -> None:
    async with (
        Proxy(member.endpoint) as proxy,
        open_store(proxy.endpoint, root=root) as cut_off,
        open_store(member.endpoint, root=root) as other,
    ):
        start = await cut_off.revision()
        async with cut_off.watch("objects/", after=start) as watch:
            waiting = asyncio.ensure_future(anext(aiter(watch)))
            proxy.hold_answers()
            created = await committed_revision(other.commit(contract.create(KEY, b"1")))
            updated = await committed_revision(other.commit(contract.update(KEY, b"2", revision=created)))
            await other.compact(updated)
            proxy.cut()
            with pytest.raises(errors.Gone):
                async with asyncio.timeout(60):
                    await waiting
        newest = await committed_revision(other.commit(contract.update(KEY, b"3", revision=updated)))
        seen = await collect_events(cut_off, after=updated, upto=newest)
        assert [(event.value, event.previous and event.previous.value) for event in seen] == [(b"3", b"2")]


@pytest.mark.parametrize("binary", find_binaries())
async def test_full_etcd_rejects_writes_until_space_is_freed(tmp_path: Path, binary: Path) -> None:
    quota = 16 * 1024 * 1024
    with Member(directory=tmp_path, binary=binary, flags=[f"--quota-backend-bytes={quota}"]) as member:
        async with open_store(member.endpoint, timeouts=Timeouts()) as store:
            last = await committed_revision(store.commit(contract.create(KEY, b"")))
            full = bytes(1_000_000)
            last = await _fill(store, full, last)
            assert await store.read(KEY) == Record(KEY, full, last)
            with pytest.raises(errors.StoreFull):
                await store.commit(contract.update(KEY, b"small", revision=last))
            assert await store.read_many([KEY, ENTRY]) == [Record(KEY, full, last), None]
            await store.compact(last)
            await asyncio.to_thread(_free_space, member)
            await committed_revision(store.commit(contract.update(KEY, b"small", revision=last)))


@pytest.mark.parametrize("binary", find_binaries())
async def test_writers_who_fill_etcd_together_are_each_told_the_truth(tmp_path: Path, binary: Path) -> None:
    """etcd also answers "space exceeded" to writes that it has applied: those that filled it."""
    with Member(directory=tmp_path, binary=binary, flags=[f"--quota-backend-bytes={16 * 1024 * 1024}"]) as member:
        async with open_store(member.endpoint, timeouts=Timeouts()) as store:
            for wave in range(10):
                keys = [f"objects/pods/default/{wave}-{number}" for number in range(64)]
                commits = (store.commit(contract.create(key, bytes(200_000))) for key in keys)
                told = await asyncio.gather(*commits, return_exceptions=True)
                found = [record and record.revision for record in await store.read_many(keys)]
                assert [None if isinstance(outcome, errors.StoreFull) else outcome for outcome in told] == found
            assert None in found


async def _fill(store: EtcdStore, value: bytes, last: Revision) -> Revision:
    """Writes the same value again and again until etcd is full. Returns the last acknowledged revision."""
    for _ in range(40):
        try:
            last = await committed_revision(store.commit(contract.update(KEY, value, revision=last)))
        except errors.StoreFull:
            return last
    raise AssertionError("etcd never got full")


def _free_space(member: Member) -> None:
    member.call("maintenance/defragment")
    for alarm in member.call("maintenance/alarm", action="GET")["alarms"]:
        member.call("maintenance/alarm", action="DEACTIVATE", **alarm)


async def test_largest_transaction_is_accepted_and_larger_ones_are_rejected_without_changes(member: Member, root: str) -> None:
    long = "x" * 100
    entries = [f"owned/{long}/{number}" for number in range(LIMITS.entries)]
    guards = [contract.Absent(f"closed/{long}/{number}") for number in range(LIMITS.guards)]
    async with open_store(member.endpoint, root=root) as store:
        largest = contract.create(KEY, bytes(LIMITS.value_bytes), add_entries=entries, guards=guards)
        last = await committed_revision(store.commit(largest))
        assert await store.count("owned/") == LIMITS.entries
        with pytest.raises(errors.TooLarge):
            await store.commit(contract.update(KEY, bytes(LIMITS.value_bytes + 1), revision=last))
        wide = [contract.Absent(f"closed/{'y' * 3000}/{number}") for number in range(LIMITS.guards)]
        with pytest.raises(errors.TooLarge):
            await store.commit(contract.update(KEY, bytes(LIMITS.value_bytes), revision=last, guards=wide))
        record = await store.read(KEY)
        assert record is not None
        assert record.revision == last


async def test_encrypted_connection_with_a_client_certificate(tmp_path: Path) -> None:
    tls = _make_certificates(tmp_path)
    flags = [f"--cert-file={tls.cert}", f"--key-file={tls.key}", f"--trusted-ca-file={tls.ca}", "--client-cert-auth"]
    with Member(directory=tmp_path / "etcd", flags=flags, scheme="https") as member:
        async with open_store(member.endpoint, tls=tls) as store:
            await committed_revision(store.commit(contract.create(KEY, b"1")))
        with pytest.raises(errors.CannotOpen):
            async with open_store(member.endpoint, tls=TlsFiles(tls.ca), timeouts=Timeouts(connect=1.0)):
                pass
        with pytest.raises(errors.CannotOpen):
            async with open_store(member.endpoint, timeouts=Timeouts(connect=1.0)):
                pass


def _make_certificates(directory: Path) -> TlsFiles:
    """Creates one self-signed certificate that serves as authority, server and client."""
    cert, key = directory / "cert.pem", directory / "key.pem"
    wanted = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=probate-test"
    extensions = ["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "extendedKeyUsage=serverAuth,clientAuth"]
    openssl = shutil.which("openssl") or "openssl"
    command = [openssl, *wanted.split(), *extensions, "-out", str(cert), "-keyout", str(key)]
    subprocess.run(command, check=True, capture_output=True)
    return TlsFiles(cert, cert, key)


async def test_missing_certificate_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.CannotOpen, match=r"no-such\.pem"):
        async with open_store("127.0.0.1:1", tls=TlsFiles(tmp_path / "no-such.pem")):
            pass
