"""Every failure that Probate reports, as one tree of exceptions.

    ProbateError
    ├── ApiError                   a possible response to a request: has an HTTP code and a Status reason
    │   ├── BadRequest             400  the request is malformed, whatever the store holds
    │   │   └── InvalidKey         400  a store key or prefix that no store can hold
    │   ├── Unauthorized           401  the user cannot be authenticated
    │   ├── Forbidden              403  not allowed for this user, or for any user in this state
    │   ├── NotFound               404  the object or resource does not exist
    │   │   └── PathNotFound       404  nothing is served at this path
    │   ├── MethodNotAllowed       405  the resource does not support this verb
    │   ├── NotAcceptable          406  the server supports none of the accepted media types
    │   ├── RequestTimeout         408  the client did not send its request in time
    │   ├── Conflict               409  the object is not in the state that the request expects
    │   ├── AlreadyExists          409  an object of this name exists
    │   ├── Gone                   410  the revision has been compacted: list again
    │   ├── TooLarge               413  a value or a transaction is over its limit
    │   ├── UrlTooLong             414  the URL is over its limit
    │   ├── UnsupportedMediaType   415  the server does not support the body's media type
    │   ├── Invalid                422  fields are invalid: each is listed with its reason
    │   ├── TooManyRequests        429  a limit is reached: try again later
    │   ├── HeadersTooLarge        431  the headers are over their limit
    │   ├── Denied                 4xx  a webhook or a policy denies the request, with a code and a reason of its own
    │   ├── DamagedObject          500  the stored data of one object is damaged; the other objects are fine
    │   ├── StoreDamaged           500  the store engine found its own data damaged
    │   │   └── StoreFilesLost     500  a file of a running store was removed, replaced or truncated; nothing is written any more
    │   ├── StoreUnavailable       503  the store does not answer; this call changed nothing
    │   ├── OutcomeUnknown         504  the connection broke and stayed broken: the write may or may not have happened
    │   ├── FutureRevision         504  a revision that the store has not reached
    │   └── StoreFull              507  no space left: nothing was written, reads continue
    ├── TooSlow                    a watcher did not keep up and was disconnected; resume after `.revision`
    ├── CannotOpen                 a store, file, folder, address or setting that cannot be used; the message says what to do
    └── InvariantViolation         a bug in Probate, with the facts that show it

A message says what is wrong and what to do next. Unknown is never reported as absent: only an answer from the store means that an
object is gone.
"""

from __future__ import annotations

from typing import ClassVar

from probate.core.error_details import Cause, Details

__all__ = ["Cause", "Details"]
"""Re-exported, besides the errors of this module."""


class ProbateError(Exception):
    """The base class of all errors that Probate raises on purpose."""


class ApiError(ProbateError):
    """A failure that can be the response to a request."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = "InternalError"

    def __init__(self, message: str, details: Details | None = None) -> None:
        super().__init__(message)
        self.details = details or Details()


class BadRequest(ApiError):
    """The request is malformed, whatever the store holds."""

    code, reason = 400, "BadRequest"


class InvalidKey(BadRequest):
    """A store key or prefix that no store can hold."""


class Unauthorized(ApiError):
    """The user cannot be authenticated. The message does not say why: an unknown client must not learn it."""

    code, reason = 401, "Unauthorized"

    def __init__(self, message: str = "Unauthorized", details: Details | None = None) -> None:
        super().__init__(message, details)


class Forbidden(ApiError):
    """Not allowed for this user, or for any user in this state."""

    code, reason = 403, "Forbidden"


class NotFound(ApiError):
    """The object or resource does not exist."""

    code, reason = 404, "NotFound"


class PathNotFound(NotFound):
    """Nothing is served at this path. Kubernetes gives no reason here, so that clients can tell it from an absent object."""

    reason = ""


class MethodNotAllowed(ApiError):
    """The resource does not support this verb."""

    code, reason = 405, "MethodNotAllowed"


class NotAcceptable(ApiError):
    """The server supports none of the accepted media types."""

    code, reason = 406, "NotAcceptable"


class RequestTimeout(ApiError):
    """The client did not send its request in time. The request was not processed."""

    code, reason = 408, "Timeout"


class Conflict(ApiError):
    """The object is not in the state that the request expects. Read it again and try again."""

    code, reason = 409, "Conflict"


class AlreadyExists(ApiError):
    """An object of this name exists."""

    code, reason = 409, "AlreadyExists"


class UrlTooLong(ApiError):
    """The URL is over its limit."""

    code, reason = 414, "RequestURITooLong"


class UnsupportedMediaType(ApiError):
    """The server does not support the body's media type."""

    code, reason = 415, "UnsupportedMediaType"


class Invalid(ApiError):
    """Fields are invalid: each is listed with its reason."""

    code, reason = 422, "Invalid"


class TooManyRequests(ApiError):
    """A limit is reached. Try again later."""

    code, reason = 429, "TooManyRequests"


class HeadersTooLarge(ApiError):
    """The headers are over their limit."""

    code, reason = 431, "RequestHeaderFieldsTooLarge"


class Gone(ApiError):
    """The requested revision has been compacted. List again and resume from there, or with the token `continue_` if it is set."""

    code, reason = 410, "Expired"

    def __init__(self, message: str, details: Details | None = None, *, continue_: str = "") -> None:
        super().__init__(message, details)
        self.continue_ = continue_


class TooLarge(ApiError):
    """A value or a transaction is over its limit."""

    code, reason = 413, "RequestEntityTooLarge"


class StoreUnavailable(ApiError):
    """The store does not answer. This call changed nothing and will change nothing."""

    code, reason = 503, "ServiceUnavailable"


class OutcomeUnknown(ApiError):
    """The connection broke after sending and stayed broken: only a later read shows whether the write happened."""

    code, reason = 504, "Timeout"


class FutureRevision(ApiError):
    """A revision that the store has not reached (yet)."""

    code, reason = 504, "Timeout"


class StoreFull(ApiError):
    """No space is left. Nothing was written; reads continue, and so do writes once there is space."""

    code, reason = 507, "InsufficientStorage"


class Denied(ApiError):
    """A webhook or a policy denies the request, with a code and a reason of its own."""

    def __init__(self, message: str, details: Details | None = None, *, code: int, reason: str) -> None:
        super().__init__(message, details)
        self.code = code  # type: ignore[misc]
        self.reason = reason  # type: ignore[misc]


class DamagedObject(ApiError):
    """The stored data of one object is not what was written. The object exists as of `revision`; its content is unknown."""

    code, reason = 500, "StorageReadError"

    def __init__(self, message: str, details: Details | None = None, *, key: str = "", revision: int = 0) -> None:
        super().__init__(message, details)
        self.key = key
        self.revision = revision


class StoreDamaged(ApiError):
    """The store engine found its own data damaged."""


class StoreFilesLost(StoreDamaged):
    """A file of a running store was removed, replaced, truncated or could not be synced. Nothing is written any more."""


class TooSlow(ProbateError):
    """A watcher did not keep up and was disconnected. It has received everything up to `revision`: resume after it."""

    def __init__(self, message: str, *, revision: int) -> None:
        super().__init__(message)
        self.revision = revision


class CannotOpen(ProbateError):
    """A store, file, folder, address or setting that cannot be used. The message says what to do."""


class InvariantViolation(ProbateError):
    """A bug in Probate: an invariant does not hold. `facts` are for the bug report."""

    def __init__(self, invariant: str, **facts: object) -> None:
        super().__init__(f"{invariant} ({', '.join(f'{name}={fact!r}' for name, fact in facts.items())})")
        self.facts = facts
