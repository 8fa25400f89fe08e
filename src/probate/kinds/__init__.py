"""What keeps nonsense out of the store: the rules for built-in kinds, one module for each theme.

`table` is the door: it knows which checks a kind has. All others are generators of problems, so a check reads as the list of its
rules. They get objects whose types are right and whose defaults are filled in; what is absent all the same is read as its default
where there is one. Field paths and reasons are Kubernetes', its oddities included, because clients compare them.
"""
