"""Who asks: by a certificate, or by a token that a file, this server or an issuer of OpenID Connect vouches for.

recognition   a request's credentials, one after the other
peers         client certificates
listed        tokens of a file
jwt           signed tokens: how they are written and read
accounts      tokens of service accounts
oidc          tokens of an issuer elsewhere
failures      who tries too often waits
"""
