"""What `kubectl get` shows: objects as rows of a meta.k8s.io Table.

table       the entry: the printer of a resource, rows, and the Table document
columns     what a table is made of: columns and printers
kinds/      one module a theme: the columns of built-in resources and how their cells are filled
custom      the same for custom resources, from additionalPrinterColumns
jsonpath    the paths that such columns are written in
ages        durations as people read them: 5s, 3m2s, 47h, 12d
fields      reading an object's fields without trusting their shape
notation    several values in one cell
"""
