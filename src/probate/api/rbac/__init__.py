"""Kubernetes' RBAC: which users may do what. Pure: objects in, decisions out.

users              users, groups and service accounts
policy_rules       one policy rule of a role, and whether it allows a request
rule_resolver      all roles and bindings, indexed by subject
user_rules         the resolved rules of one user, with a cache of decisions
escalation         whether rules cover other rules: a user may not grant permissions that they do not have
aggregation        the rules of an aggregated ClusterRole
forbidden_message  the messages of denials, and the rule that would allow the request
cel_authorizer     what CEL expressions can ask the authorizer
bootstrap_roles    the roles and bindings that every server has
"""
