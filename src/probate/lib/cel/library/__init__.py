"""The standard functions of CEL and of its extensions."""
