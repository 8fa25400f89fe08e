"""The connections to etcd's members, and one way to ask and one way to send.

`ask` is for what may be done twice: it goes from member to member until one answers or time is up. `send` is for writes: it
goes to one member, once. It waits for a connection first, so that a failure has one of two meanings: `Unsent`, there was no
connection and etcd cannot know of the call, or `Lost`, it may.

All calls go to one member as long as it answers. Each call says that it wants a member that has a leader, so a member that
was cut off from the others refuses instead of letting callers wait, and ends its watches.

A member that stops answering without closing its connections (a paused process, a network that drops packets) is left by the
first call that gets no answer in time. The watches that run on it end with `Lost` in the same step, so they go on elsewhere too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import grpc

from probate.core import errors
from probate.core.clock import Clock
from probate.store.etcd.rpc import failures
from probate.store.etcd.rpc import rpc_pb2 as rpc
from probate.store.etcd.rpc.address import Address

Q = TypeVar("Q", rpc.RangeRequest, rpc.TxnRequest, rpc.DeleteRangeRequest, rpc.CompactionRequest)
A = TypeVar("A", rpc.RangeResponse, rpc.TxnResponse, rpc.DeleteRangeResponse, rpc.CompactionResponse)

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0
_LEADER = (("hasleader", "true"),)
_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_retries", 0),  # what may be repeated is decided here
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),  # two stores of one process share no connection
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 2_000),  # also how long one attempt to connect may take
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.keepalive_time_ms", 6_000),  # etcd hangs up on those who ask more often than every five seconds
    ("grpc.keepalive_timeout_ms", 4_000),
    ("grpc.http2.ping_timeout_ms", 4_000),  # without it a ping may stay unanswered for a minute, whatever the line above says
    ("grpc.http2.max_pings_without_data", 0),
)


class Method(NamedTuple, Generic[Q, A]):
    """A call that etcd knows."""

    path: str
    request: type[Q]
    answer: type[A]


RANGE = Method("/etcdserverpb.KV/Range", rpc.RangeRequest, rpc.RangeResponse)
TXN = Method("/etcdserverpb.KV/Txn", rpc.TxnRequest, rpc.TxnResponse)
DELETE = Method("/etcdserverpb.KV/DeleteRange", rpc.DeleteRangeRequest, rpc.DeleteRangeResponse)
COMPACT = Method("/etcdserverpb.KV/Compact", rpc.CompactionRequest, rpc.CompactionResponse)
_WATCH = "/etcdserverpb.Watch/Watch"
_Stream: TypeAlias = "grpc.aio.StreamStreamCall[Any, rpc.WatchResponse]"


def pauses() -> Iterator[float]:
    """How long to wait before each further try: longer and longer, up to a second."""
    pause = FIRST_PAUSE
    while True:
        yield pause
        pause = min(pause * 2, LONGEST_PAUSE)


class Endpoints:
    """The members of one etcd cluster."""

    def __init__(self, address: Address, clock: Clock) -> None:
        self.names = address.endpoints
        self.clock = clock
        self._channels = _connect(address)
        self.reached = 0  # the newest revision that any of them has spoken of
        self._current = 0
        self._is_closed = False
        self._watches: dict[_Stream, grpc.aio.Channel] = {}  # those under way, and where

    async def ask(self, method: Method[Q, A], request: Q, *, seconds: float, patience: float | None = None) -> A:
        """The answer of whichever member gives one. For calls that may be carried out twice.

        Each member has `patience` seconds to answer, half of all the time unless it is given.
        """
        deadline = self.clock.monotonic() + seconds
        why = "no connection"
        for pause in pauses():
            try:
                return await self.send(method, request, deadline=deadline, patience=patience or seconds / 2)
            except failures.Unsent:
                break
            except failures.Lost as lost:
                why = str(lost)
            if self.clock.monotonic() + pause >= deadline:
                break
            await self.clock.sleep(pause)
        raise failures.unavailable(self.names, why)

    async def send(self, method: Method[Q, A], request: Q, *, deadline: float, patience: float) -> A:
        """The answer of one member that was asked once. Raises `Unsent`, `Lost`, or what etcd's answer means."""
        channel = await self._connected(deadline)
        seconds = min(patience, deadline - self.clock.monotonic())
        if seconds <= 0:
            raise failures.Unsent
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
        self.reached = max(self.reached, answer.header.revision)
        return answer

    async def watch(self, request: rpc.WatchCreateRequest) -> AsyncGenerator[rpc.WatchResponse, None]:
        """What one member says about a range from now on. Never ends but with `Lost`, or with what etcd's answer means."""
        channel = await self._connected(float("inf"))
        call = channel.stream_stream(
            _WATCH, request_serializer=rpc.WatchRequest.SerializeToString, response_deserializer=rpc.WatchResponse.FromString
        )(metadata=_LEADER)
        self._watches[call] = channel
        try:
            await _written(call, rpc.WatchRequest(create_request=request))
            while isinstance(response := await call.read(), rpc.WatchResponse):
                yield response
            raise failures.Lost("etcd ended the watch")
        except grpc.aio.AioRpcError as error:
            raise self._translate(error, channel) from error
        except asyncio.InvalidStateError as error:  # the stream had broken before it was written to
            self.leave(channel)
            raise failures.Lost(str(error)) from error
        except asyncio.CancelledError:
            self._check_not_closed()
            if not _is_cancelled_itself():  # the call ended, or `leave` cancelled it, but nobody this task
                self.leave(channel)
                raise failures.Lost("its member does not answer any more") from None
            raise
        finally:
            self._watches.pop(call, None)
            call.cancel()

    def leave(self, channel: grpc.aio.Channel) -> None:
        """Use another member from now on, if this is the one in use. The watches that run on it end with `Lost`."""
        if self._channels[self._current] is channel:
            self._current = (self._current + 1) % len(self._channels)
        for call in [call for call, where in self._watches.items() if where is channel]:
            del self._watches[call]
            call.cancel()

    def leave_watched(self) -> None:
        """Use other members than those on which watches run: these do not show what they should."""
        for channel in dict.fromkeys(self._watches.values()):
            self.leave(channel)

    async def close(self) -> None:
        """Hang up. Calls under way raise `StoreUnavailable`."""
        self._is_closed = True
        for channel in self._channels:
            await channel.close()

    async def _connected(self, deadline: float) -> grpc.aio.Channel:
        """The channel in use, or the next one that has a connection."""
        for pause in pauses():
            if self._is_closed:
                raise failures.closed()
            for step in range(len(self._channels)):
                position = (self._current + step) % len(self._channels)
                if self._channels[position].get_state(try_to_connect=True) is grpc.ChannelConnectivity.READY:
                    self._current = position
                    return self._channels[position]
            left = deadline - self.clock.monotonic()
            if left <= 0:
                raise failures.Unsent
            await self.clock.sleep(min(pause / 5, left))
        raise failures.Unsent

    def _translate(self, error: grpc.aio.AioRpcError, channel: grpc.aio.Channel) -> Exception:
        settled = failures.final(error)
        if settled is not None:
            return settled
        self.leave(channel)
        return failures.Lost(f"{error.code().name}: {error.details()}")

    def _check_not_closed(self) -> None:
        """gRPC cancels what is under way when a channel is closed: that is not the caller's task being cancelled."""
        if self._is_closed and not _is_cancelled_itself():
            raise failures.closed()


async def _written(call: _Stream, request: rpc.WatchRequest) -> None:
    """Send the first message of a stream. Ends when the call ends: gRPC's own `write` waits for ever if that comes before."""
    writing = asyncio.ensure_future(call.write(request))

    def end(_: object) -> None:
        writing.cancel()

    call.add_done_callback(end)
    await writing


def _is_cancelled_itself() -> bool:
    """Whether somebody cancelled the running task, and not only the call that it waits for."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _connect(address: Address) -> list[grpc.aio.Channel]:
    if address.tls is None:
        return [grpc.aio.insecure_channel(name, options=_OPTIONS) for name in address.endpoints]
    try:
        ca, certificate, key = (None if file is None else file.read_bytes() for file in address.tls)
    except OSError as error:
        raise errors.CannotOpen(f"a file for the connection to etcd cannot be read: {error}") from error
    credentials = grpc.ssl_channel_credentials(root_certificates=ca, private_key=key, certificate_chain=certificate)
    return [grpc.aio.secure_channel(name, credentials, options=_OPTIONS) for name in address.endpoints]
