"""The kinds of apiextensions.k8s.io. (`api.crds` holds what follows from a CustomResourceDefinition.)"""
