"""Traces are read: a row a step."""
