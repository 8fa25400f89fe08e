"""JSONPath: what each form finds, and which are refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.lib import jsonpath

OBJECT: dict[str, Any] = {
    "metadata": {"name": "web", "labels": {"app.kubernetes.io/name": "shop", "tier": "web"}},
    "spec": {
        "replicas": 3,
        "hosts": ["a", "b", "c"],
        "containers": [{"name": "one", "image": "x:1", "port": 80}, {"name": "two", "image": "y:2", "port": 443}],
        "isOn": True,
    },
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "it's [fine], (really)"},
            {"type": "Synced", "status": "False"},
        ]
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.replicas", [3]),
        ("$.spec.replicas", [3]),
        (".spec.isOn", [True]),
        (".spec.nothing", []),
        (".spec.replicas.deeper", []),
        (".spec.hosts", [["a", "b", "c"]]),
        (".spec.hosts.name", []),
        (".spec.hosts[0]", ["a"]),
        (".spec.hosts[-1]", ["c"]),
        (".spec.hosts[7]", []),
        (".spec.hosts[-4]", []),
        (".spec.hosts[1:]", ["b", "c"]),
        (".spec.hosts[:2]", ["a", "b"]),
        (".spec.hosts[0:3:2]", ["a", "c"]),
        (".spec.hosts[*]", ["a", "b", "c"]),
        (".spec.hosts[0,2]", ["a", "c"]),
        (".metadata[*]", []),
        (".metadata.labels.*", ["shop", "web"]),
        (".metadata.labels.app\\.kubernetes\\.io/name", ["shop"]),
        (".metadata.labels['app.kubernetes.io/name']", ["shop"]),
        (".metadata.labels['app.kubernetes.io/name','tier']", ["shop", "web"]),
        (".spec.containers[*].image", ["x:1", "y:2"]),
        ("..image", ["x:1", "y:2"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Synced')].status", ["False"]),
        ('.status.conditions[?(@.type == "Other")].status', []),
        ('.status.conditions[?(@.type!="Ready")].type', ["Synced"]),
        ('.status.conditions[?("Ready"==@.type)].status', ["True"]),
        (".status.conditions[?(@.reason)].type", ["Ready"]),
        ('.status.conditions[?(@.reason=="it\'s [fine], (really)")].type', ["Ready"]),
        (".spec.containers[?(@.port>80)].name", ["two"]),
        (".spec.containers[?(@.port<=80)].name", ["one"]),
        ('.spec.containers[?(@.port=="80")].name', []),
        (".metadata[?(@.name)]", []),
    ],
)
def test_a_path_finds_what_is_there(path: str, found: list[Any]) -> None:
    assert jsonpath.parse(path).find(OBJECT) == found


def test_a_dot_alone_is_the_whole() -> None:
    assert jsonpath.parse(".").find(OBJECT) == [OBJECT]


@pytest.mark.parametrize(
    "path",
    ["spec", ".spec[", ".spec[]", ".spec[name]", ".spec[-]", ".a[0:2:0]", ".a[?@.b]", '.a[?(@.b=~"x")]', ".a]", ".a[?(b==1)]"],
)
def test_a_path_that_makes_no_sense_is_refused(path: str) -> None:
    with pytest.raises(jsonpath.BadPath):
        jsonpath.parse(path)


@pytest.mark.parametrize("path", ["..a" * 4, ".a[0" + ",0" * 13 + "]", ".a" + "[?(@.b" * 2000 + ")]" * 2000])
def test_a_path_of_unbounded_cost_is_refused(path: str) -> None:
    with pytest.raises(jsonpath.BadPath, match="times"):
        jsonpath.parse(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=12,
)


@given(st.text(alphabet=".ab[]'\"?@()*:,=<0-1\\ ", max_size=16), JSON)
def test_any_text_is_either_refused_or_finds_a_list(text: str, value: Any) -> None:
    try:
        path = jsonpath.parse(text)
    except jsonpath.BadPath:
        return
    assert isinstance(path.find(value), list)
