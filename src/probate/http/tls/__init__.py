"""TLS: the certificates that the server makes for itself, and how it serves with them.

authority   makes certificates
folder      keeps them in files, for as long as they are good
serving     the server's side of a handshake, which takes new certificates without a restart
"""
