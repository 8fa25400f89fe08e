"""What a failed call to etcd means.

The one question that matters for a write is whether etcd may have done it, or may still do it. `final` gives an error for
the answers that say no for certain, and for those that no repetition changes. Everything else is `Lost`: a broken
connection, a deadline, a member without a leader, an answer nobody has heard of. A read that was lost is asked again
elsewhere; a write that was lost is found out about (see `slots`).

One answer is not what it seems. A member says "database space exceeded" before it looks at a write, but also after it
has carried out the very write that filled the quota. So `StoreFull` is final for reads and says nothing about a write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import grpc

from probate.core import errors


class Lost(Exception):
    """No answer, or none that settles anything. Whether the call was carried out is not known."""


class Unsent(Exception):
    """No member could be reached, so nothing was sent."""


def final(error: grpc.aio.AioRpcError) -> errors.ProbateError | None:
    """What the caller is to be told, if the answer settles it; None if the call was lost."""
    read = _READINGS.get(error.code())
    return None if read is None else read(error.details() or "")


def _out_of_range(said: str) -> errors.ProbateError | None:
    if "compacted" in said:
        return errors.Gone("that revision is too old: its history has been compacted. List again and go on from there")
    if "future revision" in said:
        return errors.FutureRevision("that revision is ahead of this store")
    return None


def _exhausted(said: str) -> errors.ProbateError | None:
    if "database space exceeded" in said:
        return errors.StoreFull(
            "etcd is full: nothing was written, reads go on. Raise --quota-backend-bytes, or compact and defragment; "
            "then run `etcdctl alarm disarm`"
        )
    if "larger than max" in said:
        return too_large(said)
    return None


def _invalid(said: str) -> errors.ProbateError:
    if "too large" in said or "too many operations" in said:
        return too_large(said)
    return errors.InvariantViolation("etcd calls a request invalid", said=said)


def _denied(said: str) -> errors.ProbateError:
    return errors.StoreUnavailable(f"etcd does not let this server in: {said}. Give it a certificate that etcd accepts")


def _damaged(said: str) -> errors.ProbateError:
    return errors.StoreDamaged(f"etcd says that its members differ: {said}. Compare them with `etcdctl endpoint hashkv`")


def _unimplemented(said: str) -> errors.ProbateError:
    return errors.StoreUnavailable(f"what answers is not etcd 3.4 or newer: {said}")


_READINGS: dict[grpc.StatusCode, Callable[[str], errors.ProbateError | None]] = {
    grpc.StatusCode.OUT_OF_RANGE: _out_of_range,
    grpc.StatusCode.RESOURCE_EXHAUSTED: _exhausted,
    grpc.StatusCode.INVALID_ARGUMENT: _invalid,
    grpc.StatusCode.PERMISSION_DENIED: _denied,
    grpc.StatusCode.UNAUTHENTICATED: _denied,
    grpc.StatusCode.DATA_LOSS: _damaged,
    grpc.StatusCode.UNIMPLEMENTED: _unimplemented,
}


def too_large(why: str) -> errors.TooLarge:
    """The transaction as a whole is over what etcd takes."""
    return errors.TooLarge(f"etcd cannot take this change as a whole: {why}. Use a smaller object, fewer entries or fewer guards")


def unavailable(endpoints: Sequence[str], why: str) -> errors.StoreUnavailable:
    """Nobody answers in time."""
    return errors.StoreUnavailable(
        f"etcd does not answer at {', '.join(endpoints)} ({why}). See that most of its members run and can be reached from here"
    )


def unknown(why: str) -> errors.OutcomeUnknown:
    """A write was sent, and what became of it cannot be found out."""
    return errors.OutcomeUnknown(f"the connection to etcd broke while writing ({why}): read to see whether the change was made")


def closed() -> errors.StoreUnavailable:
    """The store was closed."""
    return errors.StoreUnavailable("the store is closed: the server is shutting down")
