"""The meaning of a failed call to etcd.

The one question that matters for a write is whether etcd may have applied it, or may still apply it. `final_error` returns an error
for answers that rule this out, and for those that no repetition changes. Every other failure is `CallLost`: a broken connection, a
deadline, a member without a leader, an unknown status. A lost read is sent again to another member; what happened to a lost write
is determined by a fence (see `write_slots`).

One answer is misleading. A member says "database space exceeded" before it evaluates a write, but also after it has applied the
very write that filled the quota. So `StoreFull` is final for reads and says nothing about a write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import grpc

from probate.core import errors


class CallLost(Exception):
    """No answer, or none that is final. Whether etcd has executed the call is unknown."""


class CallNotSent(Exception):
    """No member could be reached, so nothing was sent."""


def final_error(error: grpc.aio.AioRpcError) -> errors.ProbateError | None:
    """Returns the error for the caller if the answer is final; None if the call was lost."""
    translate = _TRANSLATIONS.get(error.code())
    return None if translate is None else translate(error.details() or "")


def _out_of_range(details: str) -> errors.ProbateError | None:
    if "compacted" in details:
        return errors.Gone("that revision is too old: its history has been compacted. List again and continue from there")
    if "future revision" in details:
        return errors.FutureRevision("that revision is ahead of this store")
    return None


def _exhausted(details: str) -> errors.ProbateError | None:
    if "database space exceeded" in details:
        return errors.StoreFull(
            "etcd is full: nothing was written, and reads continue. Raise --quota-backend-bytes, or compact and defragment; "
            "then run `etcdctl alarm disarm`"
        )
    if "larger than max" in details:
        return too_large(details)
    return None


def _invalid(details: str) -> errors.ProbateError:
    if "too large" in details or "too many operations" in details:
        return too_large(details)
    return errors.InvariantViolation("etcd calls a request invalid", said=details)


def _denied(details: str) -> errors.ProbateError:
    return errors.StoreUnavailable(f"etcd refuses this server: {details}. Give the server a certificate that etcd accepts")


def _damaged(details: str) -> errors.ProbateError:
    return errors.StoreDamaged(f"etcd says that its members differ: {details}. Compare them with `etcdctl endpoint hashkv`")


def _unimplemented(details: str) -> errors.ProbateError:
    return errors.StoreUnavailable(f"the server at this address is not etcd 3.4 or newer: {details}")


_TRANSLATIONS: dict[grpc.StatusCode, Callable[[str], errors.ProbateError | None]] = {
    grpc.StatusCode.OUT_OF_RANGE: _out_of_range,
    grpc.StatusCode.RESOURCE_EXHAUSTED: _exhausted,
    grpc.StatusCode.INVALID_ARGUMENT: _invalid,
    grpc.StatusCode.PERMISSION_DENIED: _denied,
    grpc.StatusCode.UNAUTHENTICATED: _denied,
    grpc.StatusCode.DATA_LOSS: _damaged,
    grpc.StatusCode.UNIMPLEMENTED: _unimplemented,
}


def too_large(reason: str) -> errors.TooLarge:
    """Returns the error for a transaction that as a whole exceeds etcd's limits."""
    return errors.TooLarge(
        f"etcd cannot take this change as a whole: {reason}. Use a smaller object, fewer entries or fewer guards"
    )


def unavailable(endpoints: Sequence[str], reason: str) -> errors.StoreUnavailable:
    """Returns the error for a call that no member answered in time."""
    return errors.StoreUnavailable(
        f"etcd does not answer at {', '.join(endpoints)} ({reason}). Check that most of its members run and are reachable"
    )


def outcome_unknown(reason: str) -> errors.OutcomeUnknown:
    """Returns the error for a write that was sent and whose outcome cannot be determined."""
    return errors.OutcomeUnknown(f"the connection to etcd broke while writing ({reason}): read to see whether the change was made")


def closed() -> errors.StoreUnavailable:
    """Returns the error of a closed store."""
    return errors.StoreUnavailable("the store is closed: the server is shutting down")
