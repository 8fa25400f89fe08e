"""ViewedWrite: a write as plugins of another view see it. What they replace there is replaced in the write itself.

It stays the same as long as the write does, from one round of mutating plugins to the next, so that they can tell whether
anything has changed since.
"""

from __future__ import annotations

from probate.api.objects import Object
from probate.core import errors
from probate.server.admission.admission_attributes import Attributes, Reinvocation, WriteRequest
from probate.server.request import Target
from probate.tenants.admission import unchanged_fields
from probate.tenants.admission.other_view import OtherView
from probate.tenants.admission.unchanged_fields import Change


class ViewedWrite(Reinvocation):
    """A write, and the same write to `at` in the other view."""

    __slots__ = ("_known", "_view", "source", "write")

    def __init__(self, source: Attributes, view: OtherView, at: Target) -> None:
        super().__init__()
        self.source = source
        self._view = view
        self.write = Attributes(
            source.operation,
            at,
            _viewed_request(source.request, view),
            object_=self._shown(source.object, at),
            old=self._shown(source.old, at),
            name=view.name(source.at, source.name),
            convert=self._take_back,
            size=source.size,
        )
        self._known = source.object  # what `write.object` shows

    def _shown(self, object_: Object | None, at: Target) -> Object | None:
        return None if object_ is None else self._view.shown(self.source.at, at, object_)

    def refresh(self) -> None:
        """Shows the object as other plugins have left it."""
        if self.source.object is not self._known:
            self.write.object, self._known = self._shown(self.source.object, self.write.at), self.source.object

    def _take_back(self, changed: Object) -> Object:
        """Replaces the object of the write. Returns it as the other view shows it.

        If this takes long it is restarted on a thread, so it changes nothing until its end.
        """
        at, other, before, shown = self.source.at, self.write.at, self._known, self.write.object
        converted = self._view.taken_back(at, other, changed)
        decoded = self.source.decoded(unchanged_fields.merge(Change(before, shown, changed, converted)))
        result = self._view.shown(at, other, decoded)
        self.source.object = self._known = decoded
        return result

    def pass_warnings(self) -> None:
        """Passes on what the plugins have to say to the client. (Annotations are passed on as they are added.)"""
        self.source.request.warn(*self.write.request.warnings)

    def denial(self, error: errors.ApiError) -> errors.ApiError:
        """Returns the error of a plugin, in which the object has the name that it has for the client. Other text stays as it is."""
        own, other = (_Subject(write) for write in (self.source, self.write))
        if own == other:
            return error
        message, details = str(error), error.details
        if message.startswith(other.title):
            message = own.title + message.removeprefix(other.title)
        if (details.name, details.group, details.kind) == (other.name, other.group, other.plural):
            details = details._replace(name=own.name, group=own.group)
        error.args, error.details = (message,), details
        return error


class _Subject:
    """What an error says about the object of a write."""

    def __init__(self, write: Attributes) -> None:
        resource = write.at.resource
        meta = (write.object or write.old or {}).get("metadata") or {}
        self.name = write.name or str(meta.get("name") or meta.get("generateName") or "")
        self.group, self.plural = resource.group, resource.plural
        self.title = f'{resource.group_resource} "{self.name}" is forbidden: '

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Subject) and self.title == other.title

    def __hash__(self) -> int:
        return hash(self.title)


def _viewed_request(request: WriteRequest, view: OtherView) -> WriteRequest:
    viewed = WriteRequest(view.user(request.user), request.options)
    viewed.annotations = request.annotations
    return viewed
