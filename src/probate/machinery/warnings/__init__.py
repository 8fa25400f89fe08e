"""What is allowed and questionable all the same: words for who writes it, one module for each theme.

`table` is the door: it knows which kinds have any. All others are generators of texts, `<field>: <what about it>`, about objects
that have passed `validation`, with their defaults. Fields, and since when something is deprecated and what to use instead, are as
Kubernetes tells them, because clients look for that; the rest is our own words.
"""
