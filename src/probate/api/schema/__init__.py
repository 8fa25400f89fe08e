"""The shape of values: schema nodes, OpenAPI definitions of built-in kinds, typed reading."""
