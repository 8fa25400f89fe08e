"""The catalog of built-in kinds, loaded from a file made at build time."""
