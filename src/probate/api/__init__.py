"""The object model: names, metadata, owner references, selectors, schemas, patch types, printer columns. Pure functions."""
