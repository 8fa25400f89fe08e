"""CEL as Kubernetes uses it: types from schemas, and Kubernetes' own function libraries."""
