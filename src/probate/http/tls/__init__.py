"""TLS: the certificates that the server issues for itself, and how it serves with them.

authority             issues certificates
certificate_folder    stores them in files, and renews them before they expire
certificate_checks    checks that certificates, keys and CAs match
server_context        the server's side of a handshake; uses new certificates without a restart
transport             TLS on a plain transport, with back pressure
client_certificates   the identity in a client's certificate
csr_signer            signs CertificateSigningRequests for client certificates
trust                 TLS contexts for connections to other servers
"""
