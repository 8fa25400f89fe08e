"""The connections to etcd's members, with failover.

`call` is for requests that may be executed twice: it tries member after member until one answers or time is up. `call_once` is
for writes: it sends to one member, once. It waits for a connection first, so a failure has one of two meanings: `CallNotSent`,
there was no connection and etcd cannot have received the call, or `CallLost`, it may have.

All calls go to one member as long as it answers. Each call requires a member that has a leader, so a member that is partitioned
from the others refuses instead of letting callers wait, and ends its watches.

The first call that gets no answer in time abandons a member that stops answering without closing its connections (a paused process,
a network that drops packets). The watches on that member end with `CallLost` in the same step, so they continue elsewhere too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import grpc

from probate.core import errors
from probate.core.clock import Clock
from probate.store.etcd.rpc import rpc_failures
from probate.store.etcd.rpc import rpc_pb2 as rpc
from probate.store.etcd.rpc.address import EtcdAddress

Q = TypeVar("Q", rpc.RangeRequest, rpc.TxnRequest, rpc.DeleteRangeRequest, rpc.CompactionRequest)
A = TypeVar("A", rpc.RangeResponse, rpc.TxnResponse, rpc.DeleteRangeResponse, rpc.CompactionResponse)

MIN_BACKOFF_SECONDS = 0.05
MAX_BACKOFF_SECONDS = 1.0
_LEADER = (("hasleader", "true"),)
_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_retries", 0),  # this module decides what may be repeated
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),  # so that two stores of one process share no connection
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 2_000),  # also the time limit for one attempt to connect
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.keepalive_time_ms", 6_000),  # etcd closes connections that ping more often than every five seconds
    ("grpc.keepalive_timeout_ms", 4_000),
    ("grpc.http2.ping_timeout_ms", 4_000),  # without it a ping may stay unanswered for a minute, whatever keepalive_timeout_ms is
    ("grpc.http2.max_pings_without_data", 0),
)


class RpcMethod(NamedTuple, Generic[Q, A]):
    """A gRPC method of etcd."""

    path: str
    request: type[Q]
    answer: type[A]


RANGE = RpcMethod("/etcdserverpb.KV/Range", rpc.RangeRequest, rpc.RangeResponse)
TXN = RpcMethod("/etcdserverpb.KV/Txn", rpc.TxnRequest, rpc.TxnResponse)
DELETE = RpcMethod("/etcdserverpb.KV/DeleteRange", rpc.DeleteRangeRequest, rpc.DeleteRangeResponse)
COMPACT = RpcMethod("/etcdserverpb.KV/Compact", rpc.CompactionRequest, rpc.CompactionResponse)
_WATCH = "/etcdserverpb.Watch/Watch"
_Stream: TypeAlias = "grpc.aio.StreamStreamCall[Any, rpc.WatchResponse]"


def backoff_seconds() -> Iterator[float]:
    """Yields the seconds to wait before each further attempt: doubling, up to one second."""
    pause = MIN_BACKOFF_SECONDS
    while True:
        yield pause
        pause = min(pause * 2, MAX_BACKOFF_SECONDS)


class Members:
    """The members of one etcd cluster, of which one at a time is in use."""

    def __init__(self, address: EtcdAddress, clock: Clock) -> None:
        self.endpoints = address.endpoints
        self.clock = clock
        self._channels = _connect(address)
        self.newest_revision = 0  # that any answer has named
        self._current = 0
        self._is_closed = False
        self._watches: dict[_Stream, grpc.aio.Channel] = {}  # the watches in progress, and their channels

    async def call(self, method: RpcMethod[Q, A], request: Q, *, seconds: float, member_seconds: float | None = None) -> A:
        """Returns the answer of the first member that gives one. For calls that may be executed twice.

        Each member has `member_seconds` to answer, by default half of `seconds`.
        """
        deadline = self.clock.monotonic() + seconds
        reason = "no connection"
        for pause in backoff_seconds():
            try:
                return await self.call_once(method, request, deadline=deadline, member_seconds=member_seconds or seconds / 2)
            except rpc_failures.CallNotSent:
                break
            except rpc_failures.CallLost as lost:
                reason = str(lost)
            if self.clock.monotonic() + pause >= deadline:
                break
            await self.clock.sleep(pause)
        raise rpc_failures.unavailable(self.endpoints, reason)

    async def call_once(self, method: RpcMethod[Q, A], request: Q, *, deadline: float, member_seconds: float) -> A:
        """Sends the request to one member, once. Raises `CallNotSent`, `CallLost`, or the error that etcd's answer means."""
        channel = await self._connected_channel(deadline)
        seconds = min(member_seconds, deadline - self.clock.monotonic())
        if seconds <= 0:
            raise rpc_failures.CallNotSent
        call = channel.unary_unary(
            method.path, request_serializer=method.request.SerializeToString, response_deserializer=method.answer.FromString
        )
        try:
            answer: A = await call(request, timeout=seconds, metadata=_LEADER)
        except grpc.aio.AioRpcError as error:
            raise self._translate(error, channel) from error
        except asyncio.CancelledError:
            self._check_not_closed()
            raise
        self.newest_revision = max(self.newest_revision, answer.header.revision)
        return answer

    async def watch(self, request: rpc.WatchCreateRequest) -> AsyncGenerator[rpc.WatchResponse, None]:
        """Yields the responses of an etcd watch on one member. Ends only with `CallLost` or the error that etcd's answer means."""
        channel = await self._connected_channel(float("inf"))
        call = channel.stream_stream(
            _WATCH, request_serializer=rpc.WatchRequest.SerializeToString, response_deserializer=rpc.WatchResponse.FromString
        )(metadata=_LEADER)
        self._watches[call] = channel
        try:
            await _write(call, rpc.WatchRequest(create_request=request))
            while isinstance(response := await call.read(), rpc.WatchResponse):
                yield response
            raise rpc_failures.CallLost("etcd ended the watch")
        except grpc.aio.AioRpcError as error:
            raise self._translate(error, channel) from error
        except asyncio.InvalidStateError as error:  # the stream had broken before it was written to
            self.abandon(channel)
            raise rpc_failures.CallLost(str(error)) from error
        except asyncio.CancelledError:
            self._check_not_closed()
            if not _is_cancelled_itself():  # the call ended or `abandon` cancelled it; this task was not cancelled
                self.abandon(channel)
                raise rpc_failures.CallLost("its member does not answer any more") from None
            raise
        finally:
            self._watches.pop(call, None)
            call.cancel()

    def abandon(self, channel: grpc.aio.Channel) -> None:
        """Switches to another member if this one is in use. Watches on the member end with `CallLost`."""
        if self._channels[self._current] is channel:
            self._current = (self._current + 1) % len(self._channels)
        for call in [call for call, used in self._watches.items() if used is channel]:
            del self._watches[call]
            call.cancel()

    def abandon_watched(self) -> None:
        """Abandons the members on which watches run, because these watches do not deliver what they should."""
        for channel in dict.fromkeys(self._watches.values()):
            self.abandon(channel)

    async def close(self) -> None:
        """Closes the connections. Calls in progress raise `StoreUnavailable`."""
        self._is_closed = True
        for channel in self._channels:
            await channel.close()

    async def _connected_channel(self, deadline: float) -> grpc.aio.Channel:
        """Waits for a connection. Returns the channel in use if it is connected, otherwise the next one that is."""
        for pause in backoff_seconds():
            if self._is_closed:
                raise rpc_failures.closed()
            for step in range(len(self._channels)):
                position = (self._current + step) % len(self._channels)
                if self._channels[position].get_state(try_to_connect=True) is grpc.ChannelConnectivity.READY:
                    self._current = position
                    return self._channels[position]
            remaining = deadline - self.clock.monotonic()
            if remaining <= 0:
                raise rpc_failures.CallNotSent
            await self.clock.sleep(min(pause / 5, remaining))
        raise rpc_failures.CallNotSent

    def _translate(self, error: grpc.aio.AioRpcError, channel: grpc.aio.Channel) -> Exception:
        final = rpc_failures.final_error(error)
        if final is not None:
            return final
        self.abandon(channel)
        return rpc_failures.CallLost(f"{error.code().name}: {error.details()}")

    def _check_not_closed(self) -> None:
        """Raises `StoreUnavailable` if gRPC cancelled the call because its channel was closed, and not the task itself."""
        if self._is_closed and not _is_cancelled_itself():
            raise rpc_failures.closed()


async def _write(call: _Stream, request: rpc.WatchRequest) -> None:
    """Sends the first message of a stream. Ends when the call ends; gRPC's own `write` waits forever if the call ended before."""
    writing = asyncio.ensure_future(call.write(request))

    def end(_: object) -> None:
        writing.cancel()

    call.add_done_callback(end)
    await writing


def _is_cancelled_itself() -> bool:
    """Returns whether the running task was cancelled, and not only the call that it waits for."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _connect(address: EtcdAddress) -> list[grpc.aio.Channel]:
    if address.tls is None:
        return [grpc.aio.insecure_channel(name, options=_OPTIONS) for name in address.endpoints]
    try:
        ca, certificate, key = (None if file is None else file.read_bytes() for file in address.tls)
    except OSError as error:
        raise errors.CannotOpen(f"a file for the connection to etcd cannot be read: {error}") from error
    credentials = grpc.ssl_channel_credentials(root_certificates=ca, private_key=key, certificate_chain=certificate)
    return [grpc.aio.secure_channel(name, credentials, options=_OPTIONS) for name in address.endpoints]
