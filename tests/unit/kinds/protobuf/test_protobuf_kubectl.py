"""Bodies that kubectl 1.37 sent, against the JSON that it prints for the same command.

`--from=cronjob/full` and `certificate approve full` were answered with objects in which every field is set, so that kubectl wrote
every field of a pod's template and of metadata.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from probate.api.gvk import GroupVersion
from probate.api.schema.node import Schema
from probate.core import errors
from probate.kinds.builtin import catalog
from probate.kinds.protobuf import decode

RECORDED = json.loads((Path(__file__).parents[3] / "data" / "protobuf" / "kubectl-1.37.json").read_bytes())


def resolve(api_version: str, kind: str) -> Schema | None:
    return catalog.schema(*GroupVersion.parse(api_version), kind)


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: row["command"].removeprefix("kubectl "))
def test_a_body_of_kubectl_is_the_object_that_its_json_is(row: dict[str, Any]) -> None:
    unknown: list[str] = []
    found = decode.decode(base64.b64decode(row["body"]), resolve, on_unknown=unknown.append)
    assert found == row["object"]
    assert unknown == []


def test_explicit_zero_stays() -> None:
    row = next(row for row in RECORDED if "--replicas=0" in row["command"])
    assert decode.decode(base64.b64decode(row["body"]), resolve)["spec"]["replicas"] == 0


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: row["command"].removeprefix("kubectl "))
def test_a_body_that_is_cut_off_is_refused(row: dict[str, Any]) -> None:
    body = base64.b64decode(row["body"])
    raw = decode.parse_envelope(body).raw
    begin = body.index(raw)
    for size in range(begin, begin + len(raw), max(1, len(raw) // 50)):
        with pytest.raises(errors.BadRequest, match="extends beyond the end"):
            decode.decode(body[:size], resolve)
