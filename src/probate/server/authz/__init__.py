"""Authorization of requests and of the server's own controllers. The RBAC rules themselves are in `api.rbac`."""
