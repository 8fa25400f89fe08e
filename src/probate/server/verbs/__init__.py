"""One verb a file: parse, prepare, check, commit, answer."""
