"""Reading and writing objects: what the verbs share."""
