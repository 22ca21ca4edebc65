"""A storage as a service: an HTTP API, a dashboard, and the storage itself for other machines."""
