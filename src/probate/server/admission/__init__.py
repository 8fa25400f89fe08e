"""Whether a write may be, and as what: everything that has a say in it before it is stored. One mechanism a file."""
