"""Server-side apply: who owns which fields of an object, and what follows from it. Pure; one step a module.

fieldsets   sets of fields, as `managedFields` spells them
shapes      what a schema says about owning: what is one piece, what has parts, how the items of a list are told apart
extract     which fields a document sets
compare     which fields differ between two objects
merge       an applied document put into the live object
remove      fields taken out of an object
entries     `metadata.managedFields`: read, written, kept short
managers    all of it together: what an update and an apply do to the entries, and to the object
conflicts   what is said to who wants what somebody else owns
handover    fields that `kubectl apply` owned before it was server-side

The rules are those of Kubernetes' structured-merge-diff.
"""
