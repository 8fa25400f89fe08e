"""Where the pods of a Service can be reached: EndpointSlices, and for old clients Endpoints."""
