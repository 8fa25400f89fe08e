"""Strategic merge patch: a merge patch that merges lists by key, as the kind's schema says.

Schemas of custom kinds have no patch strategies: the server responds 415 before it calls this package.

    a Pod's containers, merged by name     [{"name": "a", "image": "i:1"}, {"name": "b", "image": "i:1"}]
    patched with                           [{"name": "c", "image": "i:3"}, {"name": "b", "image": "i:2"}]
    are                                    [{"name": "c", "image": "i:3"},     new: comes first, since no order relates it to a
                                            {"name": "a", "image": "i:1"},     not in the patch: it was before b, and still is
                                            {"name": "b", "image": "i:2"}]

1. Objects are merged field by field; null deletes a field; any other value replaces. The result holds no nulls or directives of
   the patch.
2. A list whose strategies include `merge` is merged. An item of the patch changes the first item with the same merge key, or is
   added. Lists of primitives become a union. Any other list is replaced.
3. Order of a merged list: the patch's items in the patch's order, the others in their old order. Two items that were both in the
   list before keep their order; otherwise the patch's item comes first. So a new item comes before the old ones.
4. Directives, beside the fields they apply to:

    $patch: delete | replace | merge     of an object: empties it; uses only the patch's fields; merges, which is the default
                                         of a list item: deletes all items with its key; an item {"$patch": "replace"} makes
                                         the patch's other items the whole list
    $retainKeys: [...]                   drops all fields not listed; the patch must list all fields that it sets
    $deleteFromPrimitiveList/f: [...]    removes these values from the list f, after the merge
    $setElementOrder/f: [...]            replaces the patch's order in rule 3: items by merge key, or primitives;
                                         has no effect on a list that is replaced

An invalid patch (an item without its merge key, an unknown directive, an order that omits an item) raises `BadRequest` with the
path.
"""

from __future__ import annotations

from typing import Any

from probate.api.field_errors import FieldPath
from probate.api.schema.node import Schema
from probate.api.strategic.strategic_merge import merge_object
from probate.core import errors


def apply(document: dict[str, Any], patch: Any, schema: Schema) -> dict[str, Any]:
    """Returns the object with the patch merged in as its schema says. Shares unchanged parts with the document."""
    if not isinstance(patch, dict):
        raise errors.BadRequest('a strategic merge patch is an object with the fields to change, such as {"data": {"a": "1"}}')
    return merge_object(document, patch, schema, path=FieldPath())
