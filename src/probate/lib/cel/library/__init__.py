"""The functions of CEL itself and of its extensions."""
