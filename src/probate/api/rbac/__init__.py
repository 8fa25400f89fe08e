"""Who may do what, as Kubernetes' RBAC says it. Pure: objects in, decisions out.

users         who asks
rules         one rule of a role, and whether it allows what is asked
grants        all roles and bindings at hand, found by whom they are for
rights        what one user may do, worked out once and remembered
covering      whether rules allow everything that other rules allow (nobody hands on what they do not have)
aggregation   the rules of a role that is put together from others
missing       how a refusal is told, and which rule would have helped
bootstrap     the roles and bindings that every server has
"""
