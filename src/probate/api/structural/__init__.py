"""Structural schemas: what a CustomResourceDefinition says of its objects, and what follows from it.

parse                        openAPIV3Schema as written → Schema
check                        all that is wrong with a schema as written, from
  structure                  is every field's type stated outside of what restricts values
  keywords, lists, rules     which words may stand where
prune                        drop what the schema does not know
defaults                     put in what the schema knows better
validate                     is a value as the schema wants it, by
  values, formats, regexp    what is asked of one value
  listtypes, embedded        what is asked of lists that are sets or maps, and of objects within objects

Nothing here is for schemas that contain themselves: those of custom resources cannot.
"""
