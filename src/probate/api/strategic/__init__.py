"""Strategic merge patch: a merge patch that knows which lists are merged, and by which key.

The kind's schema decides. Custom kinds have no strategies in theirs: the server answers them 415 before it comes here.

    a Pod's containers, merged by name     [{"name": "a", "image": "i:1"}, {"name": "b", "image": "i:1"}]
    patched with                           [{"name": "c", "image": "i:3"}, {"name": "b", "image": "i:2"}]
    are                                    [{"name": "c", "image": "i:3"},     new: before all that it did not stand beside
                                            {"name": "a", "image": "i:1"},     not in the patch: it stood before b and still does
                                            {"name": "b", "image": "i:2"}]

1. Objects are merged field by field; null deletes a field; any other value replaces. Neither nulls nor directives are left over.
2. A list whose strategies have `merge` is merged. Items of the patch change the first item with the same merge key, or are new.
   Primitives become a union. Any other list is replaced.
3. Order of a merged list: the patch's items as the patch has them, the others as they were. Where both stood in the list before,
   they keep their order; otherwise the patch's item comes first. So a new item is put before the old ones.
4. Directives, beside the fields they are about:

    $patch: delete | replace | merge     of an object: empties it; takes the patch's fields only; merges, as without it
                                         of a list's item: deletes all items with its key; an item {"$patch": "replace"} makes
                                         the list's other items the whole list
    $retainKeys: [...]                   fields not named are dropped; the patch must name all that it sets
    $deleteFromPrimitiveList/f: [...]    these values leave the list f, after it was merged
    $setElementOrder/f: [...]            instead of the patch's order in rule 3: items by merge key, or primitives;
                                         of a list that is replaced it says nothing

A patch that makes no sense (an item without its merge key, an unknown directive, an order that leaves out an item) is a
`BadRequest` that says where.
"""

from __future__ import annotations

from typing import Any

from probate.api.field_errors import Path
from probate.api.schema.node import Schema
from probate.api.strategic.merge import merge_object
from probate.core import errors


def apply(document: dict[str, Any], patch: Any, schema: Schema) -> dict[str, Any]:
    """The object with the patch merged in as its schema says. The document is never changed; what is left alone is shared."""
    if not isinstance(patch, dict):
        raise errors.BadRequest('a strategic merge patch is an object with the fields to change, such as {"data": {"a": "1"}}')
    return merge_object(document, patch, schema, Path())
