"""Admission policies in CEL, evaluated for one write. Pure: `server.admission.policies` reads the policies and applies the result.

environment        the variables and types that expressions can use
compiled_policy    a policy's expressions, compiled
validation         evaluates a ValidatingAdmissionPolicy
mutation           evaluates a MutatingAdmissionPolicy
expression_check   type checks the expressions of a policy
"""
