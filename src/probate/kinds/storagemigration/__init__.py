"""The API group storagemigration.k8s.io."""
