"""Controllers that delete objects for other reasons than their owners: one policy a file."""
