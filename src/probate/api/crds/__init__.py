"""CustomResourceDefinitions: what one must be like, what becomes of it, and which resources it brings. Pure.

layout        a definition as Kubernetes looks at it: what all versions share stands at the top
preparation   what is filled in before a definition is looked at
validation    is it right, alone and after what it replaces
schemas, versions, conversion, approval   the parts of validation
names         which names it gets among the others
conditions    what its status says
resources     the resources it serves
"""
