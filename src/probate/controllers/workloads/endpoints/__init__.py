"""The network addresses of a Service's pods: EndpointSlices, and Endpoints for older clients."""
