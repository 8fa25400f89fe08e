"""How objects are laid out in the store: keys and index entries."""
