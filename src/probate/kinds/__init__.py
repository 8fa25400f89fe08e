"""The rules for built-in kinds: defaults, strategies, validation, warnings, table columns and conversions.

`registry` finds the row of a kind. `defaults`, `strategy`, `validation`, `warnings`, `tables` and `conversion` apply the rules of
any kind. A folder per API group holds the rules themselves. Checks are generators of problems, so a check reads as the list of its
rules. They receive objects whose types are right and whose defaults are set; a field that is absent all the same is read as its
default, if it has one. Field paths and reasons are those of Kubernetes, including its inconsistencies, because clients compare
them.
"""
