"""Keys of objects: what is built can be taken apart, and nothing else is taken for a key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.api import object_keys
from probate.api.gvk import GroupResource
from probate.api.object_keys import ObjectKey

names = st.text(st.characters(codec="ascii", exclude_characters="/\x7f", min_codepoint=33), min_size=1, max_size=8)


@given(
    st.sampled_from((GroupResource("", "pods"), GroupResource("apps", "deployments"), GroupResource("a.example.com", "x"))),
    st.just("") | names.filter(lambda name: name != "-"),
    names,
)
def test_key_is_taken_apart_as_it_was_built(resource: GroupResource, namespace: str, name: str) -> None:
    key = object_keys.object_key(resource, namespace, name)
    assert object_keys.parse(key) == ObjectKey(str(resource), namespace, name)
    assert object_keys.parse(key).group_resource == resource
    assert object_keys.name_in(key) == name
    assert object_keys.resource_in(key) == str(resource)
    assert key.startswith(object_keys.namespace_range(resource, namespace))
    assert key.startswith(object_keys.resource_range(resource))


@pytest.mark.parametrize("key", ["owned/u/default/pods", "objects/pods/default", "objects/pods/default/a/b", ""])
def test_other_keys_are_refused(key: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        object_keys.parse(key)
