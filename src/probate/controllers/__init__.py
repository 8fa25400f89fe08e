"""The controllers: one table of them (`registry`), their shared runtime, and one package for each area."""
