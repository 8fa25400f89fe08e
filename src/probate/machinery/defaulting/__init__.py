"""What Kubernetes adds to an object of a built-in kind when it reads it: defaults, and the one way to write each value.

It happens on every read of an object from outside: create, update, the result of a patch; also to templates inside other objects.
What happens once, when an object is created or changed, is `preparation`. `table.apply` is the door, with one module per theme
behind it.
"""
