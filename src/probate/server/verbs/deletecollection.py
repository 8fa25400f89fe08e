"""`deletecollection`: every object that matches, one after the other; those that others delete meanwhile are no failure."""

from __future__ import annotations

from probate.core import errors
from probate.server import query
from probate.server.admission.attributes import Act
from probate.server.codec import delete_options, negotiation, responses, version_conversion
from probate.server.codec.negotiation import Form
from probate.server.context import Answer, Api
from probate.server.objects import damage_reports, list_snapshot, selector_filter
from probate.server.request import Request, Target
from probate.server.storage import storage_keys
from probate.server.verbs import delete
from probate.server.verbs import list as listing


async def deletecollection(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """Delete what the list options select, with the same delete options for each."""
    selected = query.list_options(request.query)
    media = negotiation.media_type(request.headers.get(b"content-type", b""))
    body = await request.read_body()
    options = await api.apart(len(body), lambda: delete_options.read(body, media, request.query))
    delete_options.check_suits_collections(options)
    prefix = storage_keys.within(at.resource, at.namespace)
    start = await list_snapshot.start(api.store, selected, prefix)
    wanted = await selector_filter.read(api, at, selected)
    found = await listing.collect(api, at.resource, prefix, wanted, start, selected.limit)
    act = Act(request.user, options)
    for record in found.records:
        _, namespace, name = record.key.rsplit("/", 2)
        one = at._replace(namespace="" if namespace == storage_keys.NO_NAMESPACE else namespace, name=name)
        try:
            await delete.delete_one(api, one, options, form, act, named="")
        except errors.NotFound:
            continue
    records = found.records if wanted.asks_shown else await version_conversion.shown(api, at.resource, found.records)
    answer = await api.apart(
        responses.weight(records, form), lambda: responses.many(api, records, at.resource, form, revision=found.revision)
    )
    left_out = damage_reports.warnings(found.damaged)
    return answer._replace(warnings=delete.warnings_of(at.resource, options) + act.warnings + left_out)
