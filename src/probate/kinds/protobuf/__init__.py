"""Converts built-in kinds to and from Kubernetes' protobuf encoding, which kubectl and client-go send and accept.

decode                  parses the envelope around every body: the kind, and the start of its fields
encode                  writes the envelope, and watch events
messages                converts a message to the dict that JSON would have given, using the kind's schema
message_writers         converts such a dict to a message
special_types           types whose JSON is not an object of their fields: times, quantities, schemas within schemas
special_type_writers    writes those types
field_numbers           the number of each field; the table is field_numbers.txt
lib.protobuf            converts bytes to numbered fields, and back
"""
