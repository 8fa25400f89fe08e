"""Ends of lifetimes that no owner decides: one policy a file."""
