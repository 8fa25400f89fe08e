"""Schemas: schema nodes, the OpenAPI definitions of built-in kinds, and typed reading of values."""
