"""Parts of objects that have a path, rules and sometimes a kind of their own. One part a file."""
