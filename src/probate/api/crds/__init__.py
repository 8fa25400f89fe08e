"""CustomResourceDefinitions: validation, defaults, status conditions, and the resources that they serve. Pure.

layout               a CRD in Kubernetes' internal layout: what all versions share is at the top level
strategy             defaults and status handling before validation
crd_validation       validates a CRD, on create and on update
versions, version_schemas, conversion_strategy, approval   the parts of validation
name_acceptance      which names a CRD gets among the other CRDs
crd_conditions       the conditions in its status
resources            the resources it serves
"""
