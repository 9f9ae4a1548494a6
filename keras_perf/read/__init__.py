"""Reads event files back into frames."""
