"""Creates objects over HTTP."""

from __future__ import annotations

from typing import Any

import httpx


def create_object(http: httpx.Client, path: str, name: str, **fields: Any) -> dict[str, Any]:
    """Creates an object and returns it as the server did."""
    meta = {"name": name, **fields.pop("metadata", {})}
    response = http.post(path, json={"metadata": meta, **fields})
    assert response.status_code == 201, response.text
    return dict(response.json())
