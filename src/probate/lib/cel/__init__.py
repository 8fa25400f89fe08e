"""CEL, the language of Kubernetes' rules and policies.

    lexer, parser, macros, tree      a source → what it says           unparse: and back
    types, checker                   what type each part has, and where that does not fit
    compiler, fields, folds          what it says → Python functions
    programs                         all of it in one call
    meter, estimate                  what an evaluation costs; what it may cost at most, judging by the schema
    declared                         the types and values of objects, by their schemas
    values, numbers, moments         what expressions are about
    library/                         the functions they may call

Expressions are given by users, so nothing about them is trusted: reading is limited by size and depth, evaluating by cost.
"""
