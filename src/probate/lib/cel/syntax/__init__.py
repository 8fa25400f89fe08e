"""From the source of an expression to its tree, and back."""
