"""The kinds of networking.k8s.io: Ingress, IngressClass, NetworkPolicy, ServiceCIDR, IPAddress."""
