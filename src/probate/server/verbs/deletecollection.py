"""`deletecollection`: deletes every object that matches, one after the other. Objects that are deleted concurrently are skipped."""

from __future__ import annotations

from probate.api import object_keys
from probate.core import errors
from probate.server import query
from probate.server.admission.admission_attributes import WriteRequest
from probate.server.codec import delete_options, negotiation, responses
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.objects import damage_reports, list_snapshot, selector_filter
from probate.server.request import Request, Target
from probate.server.response import Response
from probate.server.storage import storage_keys
from probate.server.verbs import delete
from probate.server.verbs import list as listing


async def deletecollection(context: ServerContext, request: Request, target: Target, *, form: Form) -> Response:
    """Deletes the objects that the list options select, each with the same delete options."""
    selected = query.list_options(request.query)
    media = negotiation.media_type(request.headers.get(b"content-type", b""))
    body = await request.read_body()
    options = await context.offloader.offload_if_large(len(body), lambda: delete_options.read(body, media, request.query))
    delete_options.check_suits_collections(options)
    prefix = storage_keys.namespace_range(target.resource, target.namespace)
    start = await list_snapshot.resolve_start(context.store, selected, prefix)
    selector = await selector_filter.parse_filter(
        target, selected, rules=context.kinds.rules(target.resource), offloader=context.offloader
    )
    page = await listing.collect_list(context, target.resource, prefix, selector=selector, start=start, limit=selected.limit)
    act = WriteRequest(request.user, options)
    for record in page.records:
        key = object_keys.parse(record.key)
        object_target = target._replace(namespace=key.namespace, name=key.name)
        try:
            await delete.delete_object(context, object_target, options, form=form, act=act, request_name="")
        except errors.NotFound:
            continue
    records = (
        page.records if selector.needs_served_version else await context.version_converter.shown(target.resource, page.records)
    )
    response = await context.offloader.offload_if_large(
        responses.weight(records, form), lambda: context.responses.many(records, target.resource, form, revision=page.revision)
    )
    damage_warnings = damage_reports.warnings(page.damaged)
    return response._replace(warnings=delete.default_policy_warnings(target.resource, options) + act.warnings + damage_warnings)
