"""Server-side apply: which field manager owns which fields of an object, and what a write does to them. Pure; one step per module.

field_sets             sets of fields, in the form that `managedFields` stores
field_set_order        field sets in the order in which Kubernetes writes them
schema_shapes          what a schema says about ownership: which values are atomic, which have parts, what identifies a list item
extraction             the fields that a document sets
comparison             the fields that differ between two objects
apply_merge            merges an applied document into the live object
removal                removes fields from an object
ownable_part           the fields that can be owned through one path of an object
managed_fields         `metadata.managedFields`: parsing, creating, sorting and capping entries
field_managers         all of it together: what an update and an apply do to the entries and to the object
conflicts              the message about conflicting field managers
client_side_migration  fields that `kubectl apply` owned before it applied server-side

The rules are those of Kubernetes' structured-merge-diff.
"""
