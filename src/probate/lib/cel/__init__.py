"""CEL (Common Expression Language), the language of Kubernetes' validation rules and policies.

    syntax/                          lexer, parser, macros and syntax tree
    types, checker                   infers the type of each node and reports type errors
    compiler, field_access, comprehensions
                                     compile the tree into Python functions
    programs                         combines all of this in one call
    cost_meter, cost_estimate        meter the cost of an evaluation; estimate the maximum cost from the schema
    values, numbers, timestamps      the runtime values
    library/                         the functions that expressions can call

The types of objects come from their schemas: see `probate.api.cel.schema_types`. Expressions come from users and are untrusted:
size and depth limit the parsing, and cost limits the evaluation.
"""
