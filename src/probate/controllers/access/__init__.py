"""Controllers of credentials and access: service accounts, tokens, certificates, aggregated ClusterRoles."""
