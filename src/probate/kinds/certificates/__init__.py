"""The kinds of certificates.k8s.io: CertificateSigningRequests, their signers, trust bundles."""
