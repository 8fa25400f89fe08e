"""One protocol to act through, in process or over HTTP; informers."""
