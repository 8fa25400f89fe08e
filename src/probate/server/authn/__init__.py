"""Authentication: who sends a request, by client certificate or by a bearer token.

authenticator            tries a request's credentials one after the other
failure_limit            answers repeated failures with 429
token_file               static tokens, listed in a file
service_accounts         issues and verifies service account tokens
service_account_tokens   the authenticator for service account tokens
tenant_users             which users belong to a tenant
tenant_credentials       what credentials of tenants' users are made from
oidc                     verifies tokens of an OpenID Connect issuer
oidc_tokens              the authenticator for OpenID Connect tokens
verified_tokens          what the token authenticators share
issuer_discovery         publishes the keys that verify service account tokens
jwt                      parses, verifies and signs JSON Web Tokens
"""
