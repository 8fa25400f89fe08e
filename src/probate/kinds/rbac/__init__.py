"""The kinds of rbac.authorization.k8s.io. (`api.rbac` decides by them.)"""
