"""CEL as Kubernetes uses it: types from schemas, and the function libraries of Kubernetes."""
