"""Tables of `kubectl get`: objects as rows of a meta.k8s.io Table.

columns         columns, and the printers that fill them
custom_columns  the printers of custom resources, from additionalPrinterColumns
object_fields   reads an object's fields without trusting their types
cell_text       several values in one cell
ages            durations in kubectl's format: 5s, 3m2s, 47h, 12d

`kinds` has the columns of built-in kinds.
"""
