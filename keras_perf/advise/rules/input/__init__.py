"""Advice on the input pipeline."""
