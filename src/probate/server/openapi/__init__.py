"""The OpenAPI documents, v2 and v3: they describe the fields of each kind and the operations of each path."""
