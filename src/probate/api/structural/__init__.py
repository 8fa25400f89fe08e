"""Structural schemas: what the schema of a CustomResourceDefinition means for its objects.

parse                         parses an openAPIV3Schema into a Schema
schema_check                  reports all errors of an openAPIV3Schema, using
  structure                   whether each field has a type outside of value validations
  keywords, list_keywords, rule_shape
                              which keywords are allowed where
prune                         drops fields that the schema does not specify
defaults                      applies defaults
nulls                         reports nulls that the schema does not allow
validate                      validates a value against the schema, using
  value_checks, formats       the checks of a single value
  list_values, embedded_resources
                              lists that are sets or maps, and embedded objects
rules/                        x-kubernetes-validations

Nothing here supports recursive schemas: schemas of custom resources cannot be recursive.
"""
