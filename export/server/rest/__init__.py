"""The REST API: HTTP, paths, and JSON to arrays and back."""
