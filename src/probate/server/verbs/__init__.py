"""The verbs, one module each: parse, prepare, admit, validate, commit, respond."""
