"""The service: an HTTP API for workers in any language, and pages where people see a study."""
