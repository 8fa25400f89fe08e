"""Objects that tests make through the door."""

from __future__ import annotations

from typing import Any

import httpx


def made(http: httpx.Client, path: str, name: str, **fields: Any) -> dict[str, Any]:
    """The object as it was created."""
    meta = {"name": name, **fields.pop("metadata", {})}
    answer = http.post(path, json={"metadata": meta, **fields})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())
