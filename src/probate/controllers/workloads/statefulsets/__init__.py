"""StatefulSets: pods with an identity. Each pod has an ordinal, and keeps the name and storage that belong to it."""
