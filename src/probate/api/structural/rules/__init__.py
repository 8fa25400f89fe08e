"""x-kubernetes-validations: CEL rules at any level of a schema.

compiled_rules   compiles the rules of each schema level
rule_check       checks the rules of a CustomResourceDefinition: whether they compile and what they can cost
field_path       resolves the field at which a failure is reported
evaluation       evaluates the rules for an object
"""
