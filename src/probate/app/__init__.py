"""Assembles a server process from its settings: the only package that imports all others."""
