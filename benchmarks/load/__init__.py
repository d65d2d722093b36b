"""Clients of a server under load."""
