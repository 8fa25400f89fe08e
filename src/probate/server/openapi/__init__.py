"""The OpenAPI documents, v2 and v3: how clients learn the fields of every kind, and what may be asked of every path."""
