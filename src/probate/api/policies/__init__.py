"""CEL admission policies, evaluated for one write. Pure: `server.admission.policies` reads the policies and applies the results.

environment         the variables and types that expressions can use
compiled_policy     compiles a policy's expressions
policy_evaluation   evaluates a ValidatingAdmissionPolicy
mutation            evaluates a MutatingAdmissionPolicy
expression_check    type-checks the expressions of a policy
"""
