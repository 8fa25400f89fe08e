"""Every failure that Probate reports to somebody, as one tree.

    ProbateError
    ├── ApiError                   can be the answer to a request: has an HTTP code and a Status reason
    │   ├── BadRequest             400  the request makes no sense, whatever the store holds
    │   │   └── BadKey             400  a store key or prefix that no store may hold
    │   ├── Unauthorized           401  who asks cannot be told
    │   ├── Forbidden              403  not allowed to anybody in this state, or not to this user
    │   ├── NotFound               404  there is no such object or resource
    │   │   └── NoSuchPath         404  nothing at all is served there
    │   ├── MethodNotAllowed       405  the resource does not have this verb
    │   ├── NotAcceptable          406  none of the forms asked for can be given
    │   ├── RequestTimeout         408  the client did not send its request in time
    │   ├── Conflict               409  the object is not as the request expects it
    │   ├── AlreadyExists          409  there is an object of this name
    │   ├── UrlTooLong             414  the URL is over its limit
    │   ├── UnsupportedMediaType   415  the body's form is not understood
    │   ├── Invalid                422  fields are wrong: each is named with its reason
    │   ├── TooManyRequests        429  come back a little later
    │   ├── HeadersTooLarge        431  the headers are over their limit
    │   ├── Gone                   410  that revision has been compacted; list again
    │   ├── TooLarge               413  a value or a transaction is over a stated limit
    │   ├── StoreUnavailable       503  the store does not answer; nothing was changed by this call
    │   ├── OutcomeUnknown         504  the connection broke and stayed broken: the write may or may not have happened
    │   ├── FutureRevision         504  a revision that the store has not reached
    │   ├── Denied                 4xx  a webhook or a policy says no, with a code and a reason of its own
    │   ├── StoreFull              507  no room: nothing was written, reads go on
    │   ├── DamagedObject          500  what is stored of one object is damaged; the others are fine
    │   └── StoreDamaged           500  the engine found its own data broken
    │       └── StoreFilesLost     500  a file of a running store was removed, replaced or truncated; nothing is written any more
    ├── TooSlow                    a watcher did not keep up and was cut off; resume after `.revision`
    ├── CannotOpen                 a store that must not be used as it is; the message says what to do
    └── InvariantViolation         a bug of ours, with the facts that show it

A message says what is wrong and what to do next. Unknown is never reported as absent: only an answer from the store means gone.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Protocol


class ProbateError(Exception):
    """The root of all errors that Probate raises on purpose."""


class Cause(Protocol):
    """One field that is wrong, and why. (`api.field_errors` makes them.)"""

    @property
    def reason(self) -> str: ...
    @property
    def field(self) -> str: ...
    @property
    def message(self) -> str: ...


class Details(NamedTuple):
    """What a failure is about, as far as it is known. `kind` is the kind or the plural name, as Kubernetes mixes them."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after_seconds: int = 0


class ApiError(ProbateError):
    """A failure that can be the answer to a request."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = "InternalError"

    def __init__(self, message: str, details: Details | None = None) -> None:
        super().__init__(message)
        self.details = details or Details()


class BadRequest(ApiError):
    """The request makes no sense, whatever the store holds."""

    code = 400
    reason = "BadRequest"


class BadKey(BadRequest):
    """A key or prefix that no store may hold."""


class Unauthorized(ApiError):
    """Who asks cannot be told. Why is nobody's business who is not known."""

    code = 401
    reason = "Unauthorized"

    def __init__(self, message: str = "Unauthorized", details: Details | None = None) -> None:
        super().__init__(message, details)


class Forbidden(ApiError):
    """Not allowed to anybody in this state, or not to this user."""

    code = 403
    reason = "Forbidden"


class NotFound(ApiError):
    """There is no such object or resource."""

    code = 404
    reason = "NotFound"


class NoSuchPath(NotFound):
    """Nothing at all is served here. Kubernetes gives no reason for it, so that clients can tell it from an absent object."""

    reason = ""


class MethodNotAllowed(ApiError):
    """The resource does not have this verb."""

    code = 405
    reason = "MethodNotAllowed"


class NotAcceptable(ApiError):
    """None of the forms asked for can be given."""

    code = 406
    reason = "NotAcceptable"


class RequestTimeout(ApiError):
    """The client did not send its request in time. Nothing was done."""

    code = 408
    reason = "Timeout"


class Conflict(ApiError):
    """The object is not as the request expects it. Read it again and try again."""

    code = 409
    reason = "Conflict"


class AlreadyExists(ApiError):
    """There is an object of this name."""

    code = 409
    reason = "AlreadyExists"


class UrlTooLong(ApiError):
    """The URL is over its limit."""

    code = 414
    reason = "RequestURITooLong"


class UnsupportedMediaType(ApiError):
    """The body's form is not understood."""

    code = 415
    reason = "UnsupportedMediaType"


class Invalid(ApiError):
    """Fields are wrong: each is named with its reason."""

    code = 422
    reason = "Invalid"


class TooManyRequests(ApiError):
    """Come back a little later."""

    code = 429
    reason = "TooManyRequests"


class HeadersTooLarge(ApiError):
    """The headers are over their limit."""

    code = 431
    reason = "RequestHeaderFieldsTooLarge"


class Gone(ApiError):
    """The history asked for has been compacted. List again and go on from there; or with `continue_`, if it is given."""

    code = 410
    reason = "Expired"

    def __init__(self, message: str, details: Details | None = None, *, continue_: str = "") -> None:
        super().__init__(message, details)
        self.continue_ = continue_


class TooLarge(ApiError):
    """A value or a transaction is over a stated limit."""

    code = 413
    reason = "RequestEntityTooLarge"


class StoreUnavailable(ApiError):
    """The store does not answer. What this call wanted did not happen and will not."""

    code = 503
    reason = "ServiceUnavailable"


class OutcomeUnknown(ApiError):
    """The connection broke after sending and stayed broken: only a later read can tell whether the write happened."""

    code = 504
    reason = "Timeout"


class FutureRevision(ApiError):
    """A revision that this store has not reached (yet)."""

    code = 504
    reason = "Timeout"


class StoreFull(ApiError):
    """There is no room left. Nothing was written; reads go on, and so do writes once there is room."""

    code = 507
    reason = "InsufficientStorage"


class Denied(ApiError):
    """A webhook or a policy says no, with a code and a reason of its own."""

    def __init__(self, message: str, details: Details | None = None, *, code: int, reason: str) -> None:
        super().__init__(message, details)
        self.code = code  # type: ignore[misc]
        self.reason = reason  # type: ignore[misc]


class DamagedObject(ApiError):
    """What is stored of one object is not what was written. It is there, as of `revision`, and nobody knows what it was."""

    code = 500
    reason = "StorageReadError"

    def __init__(self, message: str, details: Details | None = None, *, key: str = "", revision: int = 0) -> None:
        super().__init__(message, details)
        self.key = key
        self.revision = revision


class StoreDamaged(ApiError):
    """The engine found its own data broken."""


class StoreFilesLost(StoreDamaged):
    """A file of a running store was removed, replaced, truncated or could not be synced. Nothing is written any more."""


class TooSlow(ProbateError):
    """A watcher did not keep up and was cut off. Everything up to `revision` was handed out; a new watch can go on after it."""

    def __init__(self, message: str, *, revision: int) -> None:
        super().__init__(message)
        self.revision = revision


class CannotOpen(ProbateError):
    """A store that must not be used as it is. The message says what to do."""


class InvariantViolation(ProbateError):
    """Something that cannot be, was. A bug of ours: the fields are for the report."""

    def __init__(self, what: str, **facts: object) -> None:
        super().__init__(f"{what} ({', '.join(f'{name}={fact!r}' for name, fact in facts.items())})")
        self.facts = facts
