"""Garbage collection: `collector` (the loop), `decide` (pure rules), `release`, `cycles`, and the backends that objects live in."""
