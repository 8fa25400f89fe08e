"""From the socket to a request: acceptor, protocol, header cache, memory limits, TLS."""
