"""What a server creates in an empty store before it serves: namespaces, roles, default objects."""
