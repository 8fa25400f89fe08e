"""What is particular to kinds: how their objects are read, prepared, checked and shown. One sort of kind a file."""
