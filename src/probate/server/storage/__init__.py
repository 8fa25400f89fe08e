"""How objects lie in the store: keys and index entries."""
