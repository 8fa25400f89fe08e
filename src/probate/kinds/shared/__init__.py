"""Shared by kinds of several API groups: field checks, generations, selectors, warnings."""
