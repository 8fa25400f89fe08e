"""Converts between the source of an expression and its syntax tree."""
