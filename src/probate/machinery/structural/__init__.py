"""Structural schemas: what a CustomResourceDefinition says of its objects, and what follows from it.

parse      openAPIV3Schema as written → Schema
structure  is it structural: is every field's type stated outside of the value validations
keywords   is it well-formed: which words may stand where
check      both, and the defaults in it: all problems of a schema with their paths
prune      drop what the schema does not know
defaults   put in what the schema knows better
validate   is a value as the schema wants it
"""
