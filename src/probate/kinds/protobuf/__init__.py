"""Kubernetes' protobuf form of built-in kinds, which kubectl and client-go send and like to be answered in.

decode             the envelope around every body: which kind is in it, and where its fields begin
encode             the same, written; the events of watches
messages           a message to the dict that JSON would have given, led by the kind's schema
writers            such a dict to a message
special            the types whose JSON is not an object of their fields: times, quantities, schemas within schemas
special_writers    the same, written
numbers            which number each field has; the table is field_numbers.txt
wire               bytes to numbered fields, and back
"""
