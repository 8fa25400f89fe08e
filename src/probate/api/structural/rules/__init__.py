"""x-kubernetes-validations: rules in CEL, at any level of a schema.

compiling    the rules of one level, ready to be evaluated
checking     what is wrong with the rules of a definition: they do not compile, or could cost too much
places       the field that a rule's failure is reported at
running      what is wrong with an object by its rules
"""
