"""The type of a Kubernetes object: a JSON object with apiVersion, kind and metadata."""

from __future__ import annotations

from typing import Any, TypeAlias

Object: TypeAlias = dict[str, Any]
