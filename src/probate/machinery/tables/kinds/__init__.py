"""The tables of built-in resources, one module a theme: each names its `PRINTERS` by group and plural.

All versions of a resource share a printer. Where the versions spell a field differently, the cells' function knows both.
"""
