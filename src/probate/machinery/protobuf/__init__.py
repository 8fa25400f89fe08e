"""Kubernetes' protobuf form of built-in kinds, which kubectl and client-go send: read here, never written.

decode      the envelope around every body: which kind is in it, and where its fields begin
messages    a message to the dict that JSON would have given, led by the kind's schema
special     the types whose JSON is not an object of their fields: times, quantities, schemas within schemas
numbers     which number each field has; the table is numbers.txt
wire        bytes to numbered fields
"""
